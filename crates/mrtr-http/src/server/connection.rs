//! One connection: HTTP/1.1 or HTTP/2, with a timeout for each thing that its client may be slow at.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::Watcher;

use super::accept::Accepted;
use super::link::Link;
use super::mounts::Mounts;
use super::peer::Peer;
use super::pieces::{PIECE, Pieces};
use super::reader::Reader;
use super::respond::UnreadBody;
use super::stream_executor::StreamExecutor;
use super::timeout_stream::TimeoutStream;
use super::timeouts::Timeouts;

/// Serves a connection until it closes. The watcher has it end after the request that runs, once the server stops.
pub(super) async fn serve_connection(
    Accepted { stream, address, place }: Accepted,
    mounts: Arc<Mounts>,
    timeouts: Timeouts,
    watcher: Watcher,
) {
    let _ = stream.set_nodelay(true);
    let link = Arc::new(Link::new(place));
    let io = TokioIo::new(TimeoutStream::new(stream, timeouts.write, Arc::clone(&link)));
    let service = {
        let link = Arc::clone(&link);
        service_fn(move |request| {
            let answering = link.begin();
            let (mounts, link) = (Arc::clone(&mounts), Arc::clone(&link));
            async move {
                let response = mounts.respond(request, Peer { address: Some(address), link: Some(&link) }).await;
                link.set_unread_body(response.extensions().get::<UnreadBody>().is_some());
                Ok::<_, Infallible>(response.map(|body| Pieces::new(body, Reader::current(), answering)))
            }
        })
    };
    let streams = StreamExecutor::new(Arc::clone(&link), timeouts.write);
    let connection = protocols(timeouts.header, streams).serve_connection(io, service).into_owned();
    tokio::select! {
        served = watcher.watch(connection) => {
            if let Err(error) = served {
                tracing::debug!(error = &*error, "a connection ended with an error");
            }
        }
        () = no_request_within(timeouts.header, &link) => {
            tracing::debug!("a connection was closed: no request came in time");
        }
        () = link.closed(timeouts.write) => {
            tracing::debug!("a connection was closed: its client does not read, or it made way for another");
        }
        () = link.make_way_while_idle() => {}
    }
    link.leave();
}

/// Both protocols, within the limits for what is read before a request has its permit, and for what is not read of a
/// reply.
fn protocols(header_timeout: Duration, streams: StreamExecutor) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(streams);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(header_timeout).max_buf_size(HEAD_BYTES as usize);
    builder.http1().max_headers(MAX_HEADERS);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(header_timeout).max_header_list_size(HEAD_BYTES);
    builder.http2().initial_connection_window_size(HTTP2_WINDOW).initial_stream_window_size(HTTP2_WINDOW);
    builder.http2().max_send_buf_size(PIECE);
    builder
}

/// Ends if no request has begun by then. Hyper's own timeouts begin with a protocol, and a client that sends nothing has
/// not said which one it speaks.
async fn no_request_within(timeout: Duration, link: &Link) {
    tokio::time::sleep(timeout).await;
    if link.has_begun() {
        std::future::pending::<()>().await;
    }
}

/// How many headers a request may have.
pub(super) const MAX_HEADERS: usize = 100;

/// The size of a head.
pub(super) const HEAD_BYTES: u32 = 64 << 10;

/// How much of all bodies on a connection of HTTP/2 may come before any of it is read.
pub(super) const HTTP2_WINDOW: u32 = 256 << 10;
