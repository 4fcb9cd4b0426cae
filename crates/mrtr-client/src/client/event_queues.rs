//! The events of calls: told by each call, and queued for each reader, bounded in bytes; the oldest go first.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use futures_core::Stream;
use mrtr_schema::notifications::{LoggingMessageParams, ProgressParams};
use mrtr_schema::{Revision, Wire};

use crate::client::Client;
use crate::{CallEvent, EventKind, Limits, PendingCall, ServerNotification};

/// The queues of all readers.
pub(super) struct EventQueues {
    queues: Mutex<Vec<Arc<Queue>>>,
    /// The number of readers, which can be read without the lock on the queues.
    count: Arc<AtomicUsize>,
    max_bytes: usize,
}

/// Something that happened, as it waits to be read.
#[derive(Debug, Clone)]
pub(super) struct QueuedEvent {
    pub(super) call: u64,
    pub(super) method: String,
    pub(super) name: Option<String>,
    pub(super) kind: QueuedKind,
}

#[derive(Debug, Clone)]
pub(super) enum QueuedKind {
    Event(EventKind),
    /// A notification of the server's, as it came: taken apart it would take many times as much memory, so its reader
    /// does that.
    Notification(ServerNotification, Revision),
}

/// The events that wait for one reader.
#[derive(Default)]
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    events: VecDeque<Arc<QueuedEvent>>,
    bytes: usize,
    waker: Option<Waker>,
    /// The client is gone: there will be no more.
    is_over: bool,
    /// The reader is gone.
    is_closed: bool,
}

/// The events of a client's calls, for one reader: from [`Client::events`].
///
/// It is a stream as well, for programs that combine streams.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, EventKind, Events};
/// use serde_json::json;
///
/// async fn count_rounds(mut events: Events) -> u32 {
///     let mut rounds = 0;
///     while let Some(event) = events.next().await {
///         rounds += u32::from(matches!(event.kind, EventKind::Round(_)));
///     }
///     rounds
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
/// let client = Client::builder(Script::new().result(json!({ "resultType": "complete", "content": [] }))).build();
/// let events = client.events();
/// client.call_tool("report", json!({})).await?;
/// drop(client); // with the client the events end
/// assert_eq!(count_rounds(events).await, 1);
/// # Ok(()) }
/// ```
pub struct Events {
    queue: Arc<Queue>,
    count: Arc<AtomicUsize>,
}

impl EventQueues {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { queues: Mutex::default(), count: Arc::default(), max_bytes }
    }

    pub(super) fn has_readers(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(super) fn reader(&self) -> Events {
        let queue = Arc::new(Queue::default());
        self.queues().push(Arc::clone(&queue));
        self.count.fetch_add(1, Ordering::Relaxed);
        Events { queue, count: Arc::clone(&self.count) }
    }

    /// Queues an event for each reader.
    pub(super) fn emit(&self, event: QueuedEvent) {
        let event = Arc::new(event);
        let mut wakers = Vec::new();
        self.queues().retain(|queue| {
            let mut waiting = queue.waiting();
            waiting.push(&event, self.max_bytes);
            wakers.extend(waiting.waker.take());
            !waiting.is_closed
        });
        // A reader that wakes may come back here at once, so nothing is locked any more.
        wakers.into_iter().for_each(Waker::wake);
    }

    fn queues(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EventQueues {
    fn drop(&mut self) {
        let queues = std::mem::take(&mut *self.queues());
        for queue in queues {
            let waker = {
                let mut waiting = queue.waiting();
                waiting.is_over = true;
                waiting.waker.take()
            };
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Queues an event, in place of the oldest where there is no room.
    fn push(&mut self, event: &Arc<QueuedEvent>, max_bytes: usize) {
        let bytes = event.bytes();
        if self.is_closed || bytes > max_bytes {
            return;
        }
        while self.events.len() >= Limits::EVENTS || self.bytes + bytes > max_bytes {
            if self.pop().is_none() {
                break;
            }
        }
        self.bytes += bytes;
        self.events.push_back(Arc::clone(event));
    }

    fn pop(&mut self) -> Option<Arc<QueuedEvent>> {
        let event = self.events.pop_front()?;
        self.bytes -= event.bytes();
        Some(event)
    }
}

impl QueuedEvent {
    /// The approximate bytes that it takes to keep the event.
    fn bytes(&self) -> usize {
        let of_text = |text: &String| size_of::<String>() + text.len();
        let content = match &self.kind {
            QueuedKind::Notification(ServerNotification { method, params }, _) => method.len() + params.as_str().len(),
            QueuedKind::Event(EventKind::Asked(keys)) => keys.iter().map(of_text).sum(),
            QueuedKind::Event(EventKind::Answered(text) | EventKind::Task(text)) => text.len(),
            QueuedKind::Event(_) => 0,
        };
        size_of::<Self>() + self.method.len() + self.name.as_ref().map_or(0, String::len) + content
    }

    fn into_event(self) -> CallEvent {
        let kind = match self.kind {
            QueuedKind::Event(kind) => kind,
            QueuedKind::Notification(notification, revision) => event_of(notification, revision),
        };
        CallEvent { call: self.call, method: self.method, name: self.name, kind }
    }
}

fn event_of(ServerNotification { method, params }: ServerNotification, revision: Revision) -> EventKind {
    let dialect = revision.lenient();
    match method.as_str() {
        "notifications/progress" => ProgressParams::read(params.as_raw(), dialect).ok().map(EventKind::Progress),
        "notifications/message" => LoggingMessageParams::read(params.as_raw(), dialect).ok().map(EventKind::Log),
        _ => None,
    }
    .unwrap_or(EventKind::Other { method, params })
}

impl Events {
    /// Waits for the next event. `None` once the client is gone.
    ///
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<CallEvent> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for Events {
    type Item = CallEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        let turn = ready!(tokio::task::coop::poll_proceed(context));
        let mut waiting = self.queue.waiting();
        match waiting.pop() {
            Some(event) => {
                drop(waiting);
                turn.made_progress();
                Poll::Ready(Some(Arc::unwrap_or_clone(event).into_event()))
            }
            None if waiting.is_over => Poll::Ready(None),
            None => {
                waiting.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("waiting", &self.queue.waiting().events.len()).finish_non_exhaustive()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let left = Waiting { is_closed: true, ..Waiting::default() };
        let waiting = std::mem::replace(&mut *self.queue.waiting(), left);
        drop(waiting);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reports the events of one call, among them that the caller dropped it before its end.
pub(super) struct EventReporter {
    client: Client,
    pub(super) call: u64,
    method: String,
    name: Option<String>,
    is_over: bool,
}

impl EventReporter {
    pub(super) fn new(client: &Client, pending: &PendingCall) -> Self {
        Self {
            client: client.clone(),
            call: client.next_call(),
            method: pending.method().to_owned(),
            name: pending.name(),
            is_over: false,
        }
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn emit(&self, kind: EventKind) {
        self.emit_with(|| QueuedKind::Event(kind));
    }

    /// Reports what the server said on the way.
    pub(super) fn emit_notification(&self, notification: ServerNotification, revision: Revision) {
        self.emit_with(|| QueuedKind::Notification(notification, revision));
    }

    fn emit_with(&self, kind: impl FnOnce() -> QueuedKind) {
        // Without a reader, an event costs nothing.
        if !self.client.0.event_queues.has_readers() {
            return;
        }
        let (method, name) = (self.method.clone(), self.name.clone());
        self.client.0.event_queues.emit(QueuedEvent { call: self.call, method, name, kind: kind() });
    }

    pub(super) fn close(mut self) {
        self.emit(EventKind::Done);
        self.is_over = true;
    }
}

impl Drop for EventReporter {
    fn drop(&mut self) {
        if !self.is_over {
            self.emit(EventKind::Abandoned);
        }
    }
}
