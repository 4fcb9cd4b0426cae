//! One connection: HTTP/1.1 or HTTP/2, with a timeout for each thing that its client may be slow at.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::Watcher;
use tokio::net::TcpStream;

use super::mounts::Mounts;
use super::respond::UnreadBody;
use super::timeout_stream::TimeoutStream;
use super::timeouts::Timeouts;

/// Serves a connection until it closes. The watcher has it end after the request that runs, once the server stops.
pub(super) async fn serve_connection(stream: TcpStream, mounts: Arc<Mounts>, timeouts: Timeouts, watcher: Watcher) {
    let _ = stream.set_nodelay(true);
    let unread = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(TimeoutStream::new(stream, timeouts.write, Arc::clone(&unread)));
    let service = {
        let begun = Arc::clone(&begun);
        service_fn(move |request| {
            begun.store(true, Ordering::Relaxed);
            let (mounts, unread) = (Arc::clone(&mounts), Arc::clone(&unread));
            async move {
                let response = mounts.respond(request).await;
                unread.store(response.extensions().get::<UnreadBody>().is_some(), Ordering::Relaxed);
                Ok::<_, Infallible>(response)
            }
        })
    };
    let connection = protocols(timeouts.header).serve_connection(io, service).into_owned();
    tokio::select! {
        served = watcher.watch(connection) => {
            if let Err(error) = served {
                tracing::debug!(error = &*error, "a connection ended with an error");
            }
        }
        () = no_request_within(timeouts.header, &begun) => {
            tracing::debug!("a connection was closed: no request came in time");
        }
    }
}

/// Both protocols, within the limits for what is read before a request has its permit.
fn protocols(header_timeout: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(header_timeout).max_buf_size(HEAD_BYTES as usize);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(header_timeout).max_header_list_size(HEAD_BYTES);
    builder.http2().initial_connection_window_size(HTTP2_WINDOW).initial_stream_window_size(HTTP2_WINDOW);
    builder
}

/// Ends if no request has begun by then. Hyper's own timeouts begin with a protocol, and a client that sends nothing has
/// not said which one it speaks.
async fn no_request_within(timeout: Duration, begun: &AtomicBool) {
    tokio::time::sleep(timeout).await;
    if begun.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

/// The size of a head.
pub(super) const HEAD_BYTES: u32 = 64 << 10;

/// How much of all bodies on a connection of HTTP/2 may come before any of it is read.
pub(super) const HTTP2_WINDOW: u32 = 256 << 10;
