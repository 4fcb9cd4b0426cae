//! One connection: HTTP/1.1 or HTTP/2, with a timeout for each thing that its client may be slow at.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BufMut;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::accept::Accepted;
use super::http2_streams::{PIECE, Pieces, Reader, StreamExecutor};
use super::link::{Link, Peer};
use super::respond::UnreadBody;
use super::router::Mounts;

/// Serves a connection until it closes. Once the server stops, the watcher ends the connection after the running
/// request.
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

/// Both protocols, with the limits for bytes that the server reads before a request has its permit, and for bytes of a
/// reply that the client does not read.
fn protocols(header_timeout: Duration, streams: StreamExecutor) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(streams);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(header_timeout).max_buf_size(HEAD_BYTES as usize);
    builder.http1().max_headers(MAX_HEADERS);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(header_timeout).max_header_list_size(HEAD_BYTES);
    // Bytes that come while the server still checks the head of a request have no permit: this window bounds them, for
    // each connection.
    builder.http2().initial_connection_window_size(HTTP2_WINDOW).initial_stream_window_size(HTTP2_WINDOW);
    // Hyper keeps the bytes that it was given until the client makes room for them.
    builder.http2().max_send_buf_size(PIECE);
    builder
}

/// Completes after this time if no request has begun. Hyper's own timeouts begin with a protocol, and a client that
/// sends nothing has not said which one it speaks.
async fn no_request_within(timeout: Duration, link: &Link) {
    sleep(timeout).await;
    if link.has_begun() {
        std::future::pending::<()>().await;
    }
}

/// A connection whose client must read what it is sent. When the connection closes, the server still reads what the
/// client sends.
struct TimeoutStream {
    stream: TcpStream,
    /// The longest time that a write may make no progress.
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    link: Arc<Link>,
    lingering: Option<Pin<Box<Sleep>>>,
}

/// The longest time that the server reads on after the last response. If the client's bytes met a closed socket, the
/// answer to them would be a reset, which may overtake the response.
const LINGER: Duration = Duration::from_secs(2);

impl TimeoutStream {
    pub(super) fn new(stream: TcpStream, limit: Duration, link: Arc<Link>) -> Self {
        Self { stream, limit, stalled: None, link, lingering: None }
    }

    /// Writes, or fails if it could write nothing for too long.
    fn poll_within_limit<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = write(Pin::new(&mut self.stream), cx) {
            self.stalled = None;
            return Poll::Ready(written);
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read what it is sent")))
    }

    /// Reads on, and drops what it reads, until the client closes too or the time is over.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 4096];
        let lingering = self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        loop {
            if lingering.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
    }
}

impl AsyncRead for TimeoutStream {
    /// Reads no more at once than the reader's buffer is to hold.
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buffer.remaining() <= READ_AT_ONCE {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read_buf(&mut buffer.limit(READ_AT_ONCE)) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// The most bytes of one read. Each connection keeps a buffer for its next read, which grows for as long as reads fill
/// it. With this limit, the buffer stays within twice as much.
const READ_AT_ONCE: usize = 8 << 10;

impl AsyncWrite for TimeoutStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_within_limit(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_within_limit(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_within_limit(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.link.has_unread_body() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

/// The times that a server waits for its clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// The time for the head of a request, on a new connection or one that is kept.
    pub(super) header: Duration,
    /// The time for a client to read some of what it is sent.
    pub(super) write: Duration,
    /// The time between the end's beginning and the first connection that is refused.
    pub(super) notice: Duration,
    /// The time for all of the end.
    pub(super) shutdown: Duration,
}

/// The most headers that a request may have.
pub(super) const MAX_HEADERS: usize = 100;

/// The most bytes of a request's head.
pub(super) const HEAD_BYTES: u32 = 64 << 10;

/// The most bytes of all bodies on a connection of HTTP/2 that may come before the server reads any of them.
pub(super) const HTTP2_WINDOW: u32 = 256 << 10;
