//! The stream of a call: its messages are kept so that a client which lost its connection finds them again.

use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::Notify;

use super::memory::Share;
use crate::support::contained::poll_cooperatively;
use crate::support::fair::Full;

/// One event of a stream.
///
/// ```
/// use mrtr_server::transport::SessionEvent;
///
/// /// How a transport without ids sends one.
/// fn line(event: SessionEvent) -> Option<String> {
///     event.message.map(|message| format!("{message}\n"))
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEvent {
    /// Its id, unique in the session, by which a client says how far it had come.
    pub id: String,
    /// A message as JSON text. An event without one begins a stream, so that its client has an id from the start.
    pub message: Option<String>,
    /// The time that a client which lost the stream waits before it comes back for it, if the server says one.
    pub retry: Option<Duration>,
}

impl SessionEvent {
    /// One with which a stream begins.
    pub(super) fn prime(id: String) -> Self {
        Self { id, message: None, retry: Some(RETRY) }
    }

    pub(super) fn message(id: String, message: impl Into<String>) -> Self {
        Self { id, message: Some(message.into()), retry: None }
    }
}

/// The events of one stream of a session. Dropping it cancels nothing: the call continues, and the stream can be
/// resumed.
///
/// ```
/// use futures_util::StreamExt;
/// use mrtr_server::transport::SessionStream;
///
/// async fn print(mut events: SessionStream) {
///     while let Some(event) = events.next().await {
///         println!("{:?}", event.message);
///     }
/// }
/// ```
pub struct SessionStream(BoxStream<'static, SessionEvent>);

impl SessionStream {
    pub(super) fn new(events: impl Stream<Item = SessionEvent> + Send + 'static) -> Self {
        Self(events.boxed())
    }

    /// The events that a reader finds, after one that was taken already. `primed` begins with an event that has an id
    /// and nothing else.
    pub(super) fn of(reader: Reader, first: Option<Event>, primed: Primed) -> Self {
        let number = reader.stream.number;
        let prime = (primed == Primed::Yes).then(|| {
            let before = first.as_ref().map_or(reader.cursor, |event| event.place - 1);
            SessionEvent::prime(event_id(number, before))
        });
        let first = first.map(|event| event.into_session_event(number));
        let rest = stream::unfold(reader, move |mut reader| async move {
            let event = reader.next().await?;
            Some((event.into_session_event(number), reader))
        });
        Self::new(stream::iter(prime).chain(stream::iter(first)).chain(rest))
    }
}

impl Stream for SessionStream {
    type Item = SessionEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SessionEvent>> {
        poll_cooperatively(&mut self.0, cx)
    }
}

impl fmt::Debug for SessionStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionStream")
    }
}

/// Says whether a stream begins with an event that has an id alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Primed {
    Yes,
    No,
}

/// The id of an event: its stream, and its place there.
pub(super) fn event_id(stream: u64, place: u64) -> String {
    format!("{stream}.{place}")
}

/// Returns the stream and the place that an id names; `None` if this server does not write such ids.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, place) = id.split_once('.')?;
    let (stream, place) = (stream.parse().ok()?, place.parse().ok()?);
    (event_id(stream, place) == id).then_some((stream, place))
}

/// The stream of a call.
pub(super) struct CallStream {
    pub(super) number: u64,
    state: Mutex<State>,
    /// Wakes readers: there is another event, another reader, or an end.
    changed: Notify,
    /// Wakes a flow that had more to say than its reader took.
    room: Notify,
}

struct State {
    /// The events that may have to be sent again.
    kept: VecDeque<Event>,
    bytes: usize,
    share: Share,
    /// The place of the last event.
    last: u64,
    /// The number of readers so far. The last one reads, and no other: a message goes to one connection.
    readers: u64,
    is_read: bool,
    has_asked: bool,
    is_over: bool,
}

/// One event.
#[derive(Debug, Clone)]
pub(super) struct Event {
    place: u64,
    pub(super) text: Arc<str>,
    kind: Kind,
    /// True if a reader has taken it.
    is_taken: bool,
}

/// The kind of an event, which decides how long it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A notification, which may be missed.
    Notice,
    /// A question under this id: kept until it is settled.
    Question(i64),
    /// The response: kept as long as the stream.
    Response,
}

impl Event {
    pub(super) fn is_response(&self) -> bool {
        self.kind == Kind::Response
    }

    fn into_session_event(self, stream: u64) -> SessionEvent {
        SessionEvent::message(event_id(stream, self.place), &*self.text)
    }
}

impl CallStream {
    pub(super) fn new(number: u64, share: Share) -> Arc<Self> {
        let state = State {
            kept: VecDeque::new(),
            bytes: 0,
            share,
            last: 0,
            readers: 0,
            is_read: false,
            has_asked: false,
            is_over: false,
        };
        Arc::new(Self { number, state: Mutex::new(state), changed: Notify::new(), room: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what comes after a place, in the stead of any other reader.
    pub(super) fn read_after(self: &Arc<Self>, place: u64) -> Reader {
        let mut state = self.state();
        state.readers += 1;
        state.is_read = true;
        let number = state.readers;
        drop(state);
        self.changed.notify_waiters();
        Reader { stream: Arc::clone(self), number, cursor: place }
    }

    /// Returns true if a client reads it.
    pub(super) fn is_read(&self) -> bool {
        self.state().is_read
    }

    /// Returns true if anything was asked on the stream: then a client can resume it, even after its end.
    pub(super) fn has_asked(&self) -> bool {
        self.state().has_asked
    }

    /// Sends a notification. Waits for room while the client reads: one that reads slowly slows its own flow down.
    /// While no client reads, the oldest ones are missed.
    pub(super) async fn notify(&self, text: String) {
        let text: Arc<str> = text.into();
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            {
                let mut state = self.state();
                if state.is_over {
                    return;
                }
                let waiting = state.kept.iter().filter(|event| event.kind == Kind::Notice && !event.is_taken).count();
                if waiting < MOST_NOTICES || !state.is_read {
                    while state.notices() >= MOST_NOTICES && state.forget_notice() {}
                    if state.push(Kind::Notice, Arc::clone(&text)).is_err() {
                        tracing::debug!("a notification was not kept: its session has no room");
                    }
                    break;
                }
            }
            room.await;
        }
        self.changed.notify_waiters();
    }

    /// Sends a notification that belongs to the call's own course, at once.
    pub(super) fn tell(&self, text: String) {
        let mut state = self.state();
        if !state.is_over && state.push(Kind::Notice, text.into()).is_err() {
            tracing::debug!("a notification was not kept: its session has no room");
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Sends a question.
    pub(super) fn ask(&self, id: i64, text: String) -> Result<(), Full> {
        let mut state = self.state();
        state.has_asked = true;
        state.push(Kind::Question(id), text.into())?;
        drop(state);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Notes that a question is settled: it need not be sent again.
    pub(super) fn settled(&self, id: i64) {
        let mut state = self.state();
        state.forget(|event| event.kind == Kind::Question(id));
    }

    /// Ends it, with the response if there is one. Only the first end counts.
    pub(super) fn end(&self, response: Option<String>) {
        let mut state = self.state();
        if state.is_over {
            return;
        }
        state.is_over = true;
        state.forget(|event| matches!(event.kind, Kind::Question(_)));
        if let Some(response) = response {
            state.push_response(response.into());
        }
        drop(state);
        self.changed.notify_waiters();
        self.room.notify_waiters();
    }
}

impl State {
    fn push(&mut self, kind: Kind, text: Arc<str>) -> Result<(), Full> {
        let size = text.len() + PER_EVENT;
        while self.share.resize(self.bytes + size).is_err() {
            // Notifications that a reader has taken go first, and then the others.
            if !self.forget_notice() {
                return Err(Full);
            }
        }
        self.append(kind, text);
        Ok(())
    }

    /// Adds the response, even if there is no room to keep it in: it is all that its client waits for.
    fn push_response(&mut self, text: Arc<str>) {
        let size = text.len() + PER_EVENT;
        while self.share.resize(self.bytes + size).is_err() && self.forget_notice() {}
        self.append(Kind::Response, text);
    }

    fn append(&mut self, kind: Kind, text: Arc<str>) {
        self.bytes += text.len() + PER_EVENT;
        self.last += 1;
        self.kept.push_back(Event { place: self.last, text, kind, is_taken: false });
    }

    fn notices(&self) -> usize {
        self.kept.iter().filter(|event| event.kind == Kind::Notice).count()
    }

    /// Forgets one notification, the oldest of those that were taken if there are any, and says whether there was one.
    fn forget_notice(&mut self) -> bool {
        let is_notice = |event: &Event| event.kind == Kind::Notice;
        let place = self.kept.iter().position(|event| is_notice(event) && event.is_taken);
        let Some(place) = place.or_else(|| self.kept.iter().position(is_notice)) else { return false };
        self.forget_at(place);
        true
    }

    fn forget(&mut self, is_one: impl Fn(&Event) -> bool) {
        if let Some(place) = self.kept.iter().position(&is_one) {
            self.forget_at(place);
            self.forget(is_one);
        }
    }

    fn forget_at(&mut self, place: usize) {
        if let Some(event) = self.kept.remove(place) {
            self.bytes -= event.text.len() + PER_EVENT;
            // It becomes less, for which there is always room.
            let _ = self.share.resize(self.bytes);
        }
    }
}

/// Reads a stream until its end, or until another reader takes over.
pub(super) struct Reader {
    stream: Arc<CallStream>,
    number: u64,
    /// The place of the last event that was read.
    cursor: u64,
}

impl Reader {
    /// The next event; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            let mut changed = pin!(self.stream.changed.notified());
            // The reader waits in line before it looks, so that nothing falls between.
            changed.as_mut().enable();
            {
                let mut state = self.stream.state();
                if state.readers != self.number {
                    return None;
                }
                if let Some(event) = state.kept.iter_mut().find(|event| event.place > self.cursor) {
                    event.is_taken = true;
                    self.cursor = event.place;
                    let event = event.clone();
                    drop(state);
                    self.stream.room.notify_waiters();
                    return Some(event);
                }
                if state.is_over {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        if state.readers == self.number {
            state.is_read = false;
            drop(state);
            self.stream.room.notify_waiters();
        }
    }
}

/// The number of notifications that wait for a client that reads slowly, or are kept for one that does not read.
const MOST_NOTICES: usize = 64;
/// The memory that an event takes besides its text: its place in a list that may be half empty, and its text's own
/// allocation.
const PER_EVENT: usize = 128;
/// The time that a client waits before it comes back for a stream.
const RETRY: Duration = Duration::from_secs(1);
