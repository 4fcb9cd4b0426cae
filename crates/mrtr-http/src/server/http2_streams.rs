//! The streams of a connection of HTTP/2, each a task: a response goes out in pieces, and ends if its client does not
//! read it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use tokio::time::{Sleep, sleep};

use super::accounts::Withdrawal;
use super::link::{Answering, Link};
use super::response_body::ResponseBody;

/// The body of a response on a connection. On HTTP/2 it comes in pieces: the connection keeps all bytes that it was
/// given until the client makes room for them, and these must not be many.
pub(super) struct Pieces {
    body: ResponseBody,
    /// The part of the last frame that the connection has not been given yet.
    rest: Bytes,
    reader: Option<Arc<Reader>>,
    _answering: Answering,
}

impl Pieces {
    /// Creates a body for this reader of HTTP/2. Without a reader the body stays as it is.
    pub(super) fn new(body: ResponseBody, reader: Option<Arc<Reader>>, answering: Answering) -> Self {
        if let Some(reader) = reader.as_ref().filter(|_| !body.is_end_stream()) {
            reader.begin(body.withdrawal());
        }
        Self { body, rest: Bytes::new(), reader, _answering: answering }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut is_part = !self.rest.is_empty();
        if self.rest.is_empty() {
            let Some(Ok(frame)) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else { return Poll::Ready(None) };
            self.rest = frame.into_data().unwrap_or_default();
        }
        is_part |= self.rest.len() > PIECE;
        if !is_part {
            return Poll::Ready(Some(std::mem::take(&mut self.rest)));
        }
        // This copies, since a part would keep the whole in memory until the client has read it.
        let piece = Bytes::copy_from_slice(&self.rest[..self.rest.len().min(PIECE)]);
        self.rest = self.rest.split_off(piece.len());
        Poll::Ready(Some(piece))
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(reader) = self.reader.clone() else { return Pin::new(&mut self.body).poll_frame(cx) };
        let polled = self.poll_piece(cx);
        let Poll::Ready(Some(bytes)) = polled else {
            reader.wait_for_piece();
            return polled.map(|_| None);
        };
        reader.offer_piece();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(Piece { bytes, _reader: reader })))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let hint = self.body.size_hint();
        hint.exact().map_or_else(SizeHint::default, |length| SizeHint::with_exact(length + rest))
    }
}

/// A piece on its way. It holds the reader until the connection has written it, and so shows that it is not written
/// yet.
struct Piece {
    bytes: Bytes,
    _reader: Arc<Reader>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The reader of a stream of HTTP/2, as far as its body can tell: the body is asked for the next piece as soon as the
/// client has made room for it.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pieces: AtomicUsize,
    is_awaited: AtomicBool,
    withdrawal: OnceLock<Option<Arc<Withdrawal>>>,
}

tokio::task_local! {
    static READER: Arc<Reader>;
}

impl Reader {
    /// Returns the reader of the stream that is polled now. On HTTP/1 there is none: the socket itself shows if the
    /// client reads.
    pub(super) fn current() -> Option<Arc<Self>> {
        READER.try_with(Arc::clone).ok()
    }

    /// Polls the stream of this reader.
    pub(super) fn scope<T>(self: &Arc<Self>, poll: impl FnOnce() -> T) -> T {
        READER.sync_scope(Arc::clone(self), poll)
    }

    /// Notes that this reader's stream has a body, and, if the body may be withdrawn, how it learns of that.
    pub(super) fn begin(&self, withdrawal: Option<Arc<Withdrawal>>) {
        let _ = self.withdrawal.set(withdrawal);
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Returns true if the body is to end now, read or not.
    pub(super) fn is_withdrawn(&self, cx: &Context<'_>) -> bool {
        let withdrawal = self.withdrawal.get().and_then(Option::as_ref);
        withdrawal.is_some_and(|withdrawal| withdrawal.is_withdrawn(cx.waker()))
    }

    /// Notes that there is a piece for this reader.
    fn offer_piece(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Notes that this reader wants more than there is.
    fn wait_for_piece(&self) {
        self.is_awaited.store(false, Ordering::Relaxed);
    }

    /// The number of pieces so far, if the client has still to read the last one.
    fn awaited(&self) -> Option<usize> {
        self.is_awaited.load(Ordering::Relaxed).then(|| self.pieces.load(Ordering::Relaxed))
    }
}

/// Runs the streams of a connection of HTTP/2, each for as long as its client reads.
///
/// Hyper does not poll a body without room for the next piece, so the run in it, its deadline and its timers stand
/// still. A client could keep them for as long as it likes.
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor {
    link: Arc<Link>,
    /// The longest time that a client may read nothing.
    limit: Duration,
}

impl StreamExecutor {
    pub(super) fn new(link: Arc<Link>, limit: Duration) -> Self {
        Self { link, limit }
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(WhileRead {
            stream: Some(Box::pin(stream)),
            reader: Arc::default(),
            link: Arc::clone(&self.link),
            limit: self.limit,
            stalled: None,
        });
    }
}

/// A stream that ends when it is over, or when its client does not read it. Then the run in it ends too, and the client
/// gets a reset.
struct WhileRead<F> {
    stream: Option<Pin<Box<F>>>,
    reader: Arc<Reader>,
    link: Arc<Link>,
    limit: Duration,
    /// The piece that the client has to read next, and the time until which the stream waits for it.
    stalled: Option<(usize, Pin<Box<Sleep>>)>,
}

impl<F: Future<Output = ()>> Future for WhileRead<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { stream: Some(stream), reader, .. } = &mut *self else { return Poll::Ready(()) };
        // Hyper does not poll a body without room in the client's window, so only this task can notice that the client
        // reads nothing.
        if reader.scope(|| stream.as_mut().poll(cx)).is_ready() || reader.is_withdrawn(cx) {
            return Poll::Ready(());
        }
        self.poll_stalled(cx)
    }
}

impl<F> WhileRead<F> {
    /// Returns ready once the client has read nothing for too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(piece) = self.reader.awaited() else {
            self.stalled = None;
            return Poll::Pending;
        };
        let limit = self.limit;
        let (_, until) = match self.stalled.take() {
            Some((before, until)) if before == piece => self.stalled.insert((before, until)),
            _ => self.stalled.insert((piece, Box::pin(sleep(limit)))),
        };
        until.as_mut().poll(cx).map(|()| tracing::debug!("a stream is reset: its client does not read"))
    }
}

impl<F> Drop for WhileRead<F> {
    fn drop(&mut self) {
        // With the stream go the run and its permit. Bytes that the connection already has may stay there until the
        // client reads them.
        self.stream = None;
        if Arc::strong_count(&self.reader) > 1 {
            self.link.await_last_pieces(&self.reader);
        }
    }
}

/// The size of a piece: that of a frame of HTTP/2, which clients take by default.
pub(super) const PIECE: usize = 16 << 10;
