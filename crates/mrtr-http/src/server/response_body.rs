//! The body of a response: one message, or a stream of events.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Frame, SizeHint};
use mrtr_server::transport::{Holding, ReplyStream, SessionEvent, SessionStream};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::accounts::{Charges, Withdrawal};
use super::budget::BodyReservation;

/// The body of a response.
///
/// ```
/// use mrtr_http::Endpoint;
/// use mrtr_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Endpoint::anonymous(Server::builder("empty", "1.0.0").build()?);
/// let request = http::Request::get("http://localhost/mcp").body(http_body_util::Empty::new())?;
/// let response = endpoint.respond(request).await;
/// assert_eq!(http_body::Body::size_hint(response.body()).exact(), Some(16), "the text `Only POST here.\n`");
/// # Ok(()) }
/// ```
pub struct ResponseBody {
    kind: Kind,
    /// The signal that tells the body to end early, to make way for another caller.
    withdrawal: Option<Arc<Withdrawal>>,
}

enum Kind {
    /// One message, or nothing. It is nothing too once the message is written.
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

/// Messages as server-sent events, with a comment now and then so that no proxy takes the connection for dead.
struct Events {
    source: Source,
    keep_alive: Interval,
    charges: Charges,
    _permits: StreamPermits,
}

/// The source of events.
enum Source {
    /// The reply to a request.
    Reply(ReplyStream),
    /// A stream of a session, which can be resumed.
    Session(SessionStream),
}

impl Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Reply(messages) => {
                Pin::new(messages).poll_next(cx).map(|message| message.map(|message| event(&message)))
            }
            Self::Session(events) => {
                Pin::new(events).poll_next(cx).map(|event| event.map(|event| session_event(&event)))
            }
        }
    }
}

/// The resources that a stream holds, and gives back when it ends.
#[derive(Debug)]
pub(super) struct StreamPermits {
    /// The permit to run, or to be subscribed.
    _permit: Option<Holding>,
    /// The reservation for the part of its request that stays in memory.
    _body: BodyReservation,
}

impl StreamPermits {
    /// Returns no permits, for a stream whose source is counted elsewhere.
    pub(super) fn none() -> Self {
        Self::new(None, BodyReservation::default())
    }

    pub(super) fn new(permit: Option<Holding>, body: BodyReservation) -> Self {
        Self { _permit: permit, _body: body }
    }
}

impl ResponseBody {
    pub(super) fn empty() -> Self {
        Self { kind: Kind::Whole(None), withdrawal: None }
    }

    /// Creates a body of a text that is short, and the same for all callers.
    pub(super) fn whole(text: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Whole(Some(text.into()).filter(|text| !text.is_empty())), withdrawal: None }
    }

    /// Creates a body of a message, which counts as a reply to its caller.
    pub(super) fn message(text: String, charges: Charges) -> Self {
        let text = charges.charge(text.into());
        Self { withdrawal: charges.into_withdrawal(), ..Self::whole(text) }
    }

    pub(super) fn events(messages: ReplyStream, every: Duration, permits: StreamPermits, charges: Charges) -> Self {
        Self::of(Source::Reply(messages), every, permits, charges)
    }

    pub(super) fn session_events(
        events: SessionStream,
        every: Duration,
        permits: StreamPermits,
        charges: Charges,
    ) -> Self {
        Self::of(Source::Session(events), every, permits, charges)
    }

    fn of(source: Source, every: Duration, permits: StreamPermits, charges: Charges) -> Self {
        // An operator may set any time, but a timer must not tick without a pause, nor reach beyond the end of time.
        let every = every.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let mut keep_alive = interval_at(Instant::now() + every, every);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let withdrawal = charges.withdrawal().cloned();
        let events = Events { source, keep_alive, charges, _permits: permits };
        Self { kind: Kind::Events(Box::new(events)), withdrawal }
    }

    /// Returns true if the body is to end now, to make way for another caller. If not, the task is woken once it is.
    pub(super) fn is_withdrawn(&self, cx: &Context<'_>) -> bool {
        self.withdrawal.as_ref().is_some_and(|withdrawal| withdrawal.is_withdrawn(cx.waker()))
    }

    pub(super) fn withdrawal(&self) -> Option<Arc<Withdrawal>> {
        self.withdrawal.clone()
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let is_withdrawn = self.is_withdrawn(cx);
        let bytes = match &mut self.kind {
            _ if is_withdrawn => None,
            Kind::Whole(text) => text.take(),
            Kind::Events(events) => ready!(events.poll_next(cx)),
        };
        if bytes.is_none() {
            // A stream gives its resources back at its end, not when its connection is done with it.
            self.kind = Kind::Whole(None);
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(event) = self.source.poll_next(cx) {
            self.keep_alive.reset();
            return Poll::Ready(event.map(|event| self.charges.charge(event)));
        }
        ready!(self.keep_alive.poll_tick(cx));
        Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")))
    }
}

/// A message as an event.
///
/// A result may hold JSON as its author wrote it, over several lines, but an event must be one line. Line breaks stand
/// between the tokens of JSON and never inside one, so a space can replace them.
fn event(message: &str) -> Bytes {
    ["event: message\ndata: ", &in_one_line(message), "\n\n"].concat().into()
}

/// An event of a session, with the id by which its client can say how far it has read.
fn session_event(event: &SessionEvent) -> Bytes {
    let SessionEvent { id, message, retry, .. } = event;
    let retry = retry.map(|retry| format!("retry: {}\n", retry.as_millis())).unwrap_or_default();
    match message {
        Some(message) => format!("event: message\nid: {id}\n{retry}data: {}\n\n", in_one_line(message)).into(),
        None => format!("id: {id}\n{retry}data:\n\n").into(),
    }
}

fn in_one_line(message: &str) -> Cow<'_, str> {
    let has_lines = message.contains(['\n', '\r']);
    if has_lines { message.replace(['\n', '\r'], " ").into() } else { message.into() }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Whole(_) => "ResponseBody(whole)",
            Kind::Events(_) => "ResponseBody(events)",
        })
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(24 * 365);
