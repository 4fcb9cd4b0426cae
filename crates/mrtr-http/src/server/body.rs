//! The body of a response: one message, or a stream of events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Frame, SizeHint};
use mrtr_server::ReplyStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

/// The body of a response.
pub struct Body(Kind);

enum Kind {
    /// One message, or nothing.
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

/// Messages as server-sent events, with a comment now and then so that nobody takes the connection for dead.
struct Events {
    messages: ReplyStream,
    keep_alive: Interval,
    /// Given back when the stream ends.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Body {
    pub(super) fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    pub(super) fn whole(text: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(Some(text.into())))
    }

    pub(super) fn events(messages: ReplyStream, every: Duration, permit: Option<OwnedSemaphorePermit>) -> Self {
        let mut keep_alive = interval_at(tokio::time::Instant::now() + every, every);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self(Kind::Events(Box::new(Events { messages, keep_alive, _permit: permit })))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.get_mut().0 {
            Kind::Whole(text) => text.take(),
            Kind::Events(events) => ready!(events.poll_next(cx)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(message) = Pin::new(&mut self.messages).poll_next(cx) {
            self.keep_alive.reset();
            return Poll::Ready(message.map(|message| event(&message)));
        }
        ready!(self.keep_alive.poll_tick(cx));
        Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")))
    }
}

/// A message as an event. JSON text of ours has no line breaks.
fn event(message: &str) -> Bytes {
    ["event: message\ndata: ", message, "\n\n"].concat().into()
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Whole(_) => "Body(whole)",
            Kind::Events(_) => "Body(events)",
        })
    }
}
