//! A connection that waits for a slow client for so long, and no longer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::link::Link;

/// A connection whose client must read what it is sent, and is heard out when the connection closes.
pub(super) struct TimeoutStream {
    stream: TcpStream,
    /// How long a write may make no progress.
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    link: Arc<Link>,
    lingering: Option<Pin<Box<Sleep>>>,
}

/// How long a client is heard out after the last response. If its bytes met a closed socket, the answer to them would
/// be a reset, which may overtake the response.
const LINGER: Duration = Duration::from_secs(2);

impl TimeoutStream {
    pub(super) fn new(stream: TcpStream, limit: Duration, link: Arc<Link>) -> Self {
        Self { stream, limit, stalled: None, link, lingering: None }
    }

    /// Writes, unless nothing could be written for too long.
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

    /// Reads on, and forgets what it reads, until the client closes too or has had its time.
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

/// Each connection keeps a buffer for its next read, which grows for as long as reads fill it. If none is larger than
/// this, the buffer stays within twice as much.
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
