//! The body of a response in pieces, none of which is large: what a client does not read stays here.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::link::Answering;
use super::reader::Reader;
use super::response_body::ResponseBody;

/// The body of a response on a connection. On HTTP/2 it comes in pieces: the connection keeps whatever it was given
/// until its client makes room for it, and that must not be much.
pub(super) struct Pieces {
    body: ResponseBody,
    /// What has not been given of the last frame.
    rest: Bytes,
    reader: Option<Arc<Reader>>,
    _answering: Answering,
}

impl Pieces {
    /// A body for this reader of HTTP/2; as it is, if there is none.
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
        // A copy, since a part would keep the whole in memory until it is read.
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

/// A piece on its way, which the reader is known by until it is written.
struct Piece {
    bytes: Bytes,
    _reader: Arc<Reader>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The size of a piece: that of a frame of HTTP/2, which clients take by default.
pub(super) const PIECE: usize = 16 << 10;
