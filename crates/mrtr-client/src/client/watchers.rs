//! Those who watch a client's calls: each has a queue of its own, bounded in bytes, from which the oldest go first.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use mrtr_schema::{LoggingMessageParams, ProgressParams, Revision, Wire};

use crate::{CallEvent, EventKind, Limits, Notified};

/// All who watch.
pub(super) struct Watchers {
    queues: Mutex<Vec<Arc<Queue>>>,
    /// How many there are, for those who only want to know whether there is one.
    count: Arc<AtomicUsize>,
    most_bytes: usize,
}

/// Something that happened, as it waits to be read.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) call: u64,
    pub(super) method: String,
    pub(super) name: Option<String>,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Happened(EventKind),
    /// What the server said, as it came: taken apart it would take many times as much, so that is left to the reader.
    Said(Notified, Revision),
}

/// What waits for one who watches.
#[derive(Default)]
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    events: VecDeque<Arc<Told>>,
    bytes: usize,
    waker: Option<Waker>,
    /// The client is gone: there will be no more.
    is_over: bool,
    /// The reader is gone.
    is_left: bool,
}

/// One who watches.
pub(super) struct Watcher {
    queue: Arc<Queue>,
    count: Arc<AtomicUsize>,
}

impl Watchers {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { queues: Mutex::default(), count: Arc::default(), most_bytes }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(super) fn watch(&self) -> Watcher {
        let queue = Arc::new(Queue::default());
        self.queues().push(Arc::clone(&queue));
        self.count.fetch_add(1, Ordering::Relaxed);
        Watcher { queue, count: Arc::clone(&self.count) }
    }

    /// Tells all who watch.
    pub(super) fn tell(&self, told: Told) {
        let told = Arc::new(told);
        let mut wakers = Vec::new();
        self.queues().retain(|queue| {
            let mut waiting = queue.waiting();
            waiting.push(&told, self.most_bytes);
            wakers.extend(waiting.waker.take());
            !waiting.is_left
        });
        // Whoever is woken may come back here at once: nothing is locked any more.
        wakers.into_iter().for_each(Waker::wake);
    }

    fn queues(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watchers {
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
    /// Has an event wait, in place of the oldest where there is no room.
    fn push(&mut self, told: &Arc<Told>, most_bytes: usize) {
        let bytes = told.bytes();
        if self.is_left || bytes > most_bytes {
            return;
        }
        while self.events.len() >= Limits::EVENTS || self.bytes + bytes > most_bytes {
            if self.pop().is_none() {
                break;
            }
        }
        self.bytes += bytes;
        self.events.push_back(Arc::clone(told));
    }

    fn pop(&mut self) -> Option<Arc<Told>> {
        let told = self.events.pop_front()?;
        self.bytes -= told.bytes();
        Some(told)
    }
}

impl Told {
    /// What it takes to keep it, about.
    fn bytes(&self) -> usize {
        let of_text = |text: &String| size_of::<String>() + text.len();
        let what = match &self.what {
            What::Said(Notified { method, params }, _) => method.len() + params.as_str().len(),
            What::Happened(EventKind::Asked(keys)) => keys.iter().map(of_text).sum(),
            What::Happened(EventKind::Answered(text) | EventKind::Task(text)) => text.len(),
            What::Happened(_) => 0,
        };
        size_of::<Self>() + self.method.len() + self.name.as_ref().map_or(0, String::len) + what
    }

    fn into_event(self) -> CallEvent {
        let kind = match self.what {
            What::Happened(kind) => kind,
            What::Said(notified, revision) => event_of(notified, revision),
        };
        CallEvent { call: self.call, method: self.method, name: self.name, kind }
    }
}

fn event_of(Notified { method, params }: Notified, revision: Revision) -> EventKind {
    let dialect = revision.lenient();
    match method.as_str() {
        "notifications/progress" => ProgressParams::read(params.as_raw(), dialect).ok().map(EventKind::Progress),
        "notifications/message" => LoggingMessageParams::read(params.as_raw(), dialect).ok().map(EventKind::Log),
        _ => None,
    }
    .unwrap_or(EventKind::Other { method, params })
}

impl Stream for Watcher {
    type Item = CallEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        let mut waiting = self.queue.waiting();
        match waiting.pop() {
            Some(told) => {
                drop(waiting);
                Poll::Ready(Some(Arc::unwrap_or_clone(told).into_event()))
            }
            None if waiting.is_over => Poll::Ready(None),
            None => {
                waiting.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let left = Waiting { is_left: true, ..Waiting::default() };
        let waiting = std::mem::replace(&mut *self.queue.waiting(), left);
        drop(waiting);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
