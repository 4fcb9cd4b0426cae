//! What a server says of its questions while a call is under way, until it is looked at: so much, and no more.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mrtr_schema::RequestId;

use crate::{Limits, ServerRequest, Stop};

/// Something that a server says during a call, as far as it is about questions.
pub(super) enum Heard {
    Asked(ServerRequest),
    /// It does not want the answer to this any more.
    Withdrawn(RequestId),
}

impl Heard {
    fn bytes(&self) -> usize {
        match self {
            Self::Asked(request) => bytes_of(request),
            Self::Withdrawn(id) => id_bytes(id),
        }
    }
}

/// The bytes of a server's request, its id among them.
pub(super) fn bytes_of(request: &ServerRequest) -> usize {
    request.params.as_str().len() + request.method.len() + id_bytes(&request.id)
}

pub(super) fn id_bytes(id: &RequestId) -> usize {
    match id {
        RequestId::String(text) => text.len(),
        RequestId::Integer(_) => size_of::<i64>(),
    }
}

/// What waits to be looked at.
///
/// Messages come while the exchange is polled, and are looked at by the same task right after that: no task is woken.
pub(super) struct Inbox {
    limits: Limits,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    heard: VecDeque<Heard>,
    bytes: usize,
    /// Why no more is taken.
    overflow: Option<Stop>,
    has_heard: bool,
}

impl Inbox {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note that the server says something, whatever it is: it has begun with the call.
    pub(super) fn note(&self) {
        self.waiting().has_heard = true;
    }

    /// Whether the server has said anything.
    pub(super) fn has_heard(&self) -> bool {
        self.waiting().has_heard
    }

    pub(super) fn push(&self, heard: Heard) {
        let mut waiting = self.waiting();
        if waiting.overflow.is_some() {
            return;
        }
        let (count, bytes) = (waiting.heard.len() + 1, waiting.bytes + heard.bytes());
        // Each question may be withdrawn, and there may be pings besides.
        let most = self.limits.questions.saturating_mul(2).saturating_add(PINGS);
        if count > most {
            waiting.overflow = Some(Stop::TooManyQuestions(count));
        } else if bytes > self.limits.reply_bytes {
            waiting.overflow = Some(Stop::ReplyTooLong(bytes));
        } else {
            waiting.bytes = bytes;
            waiting.heard.push_back(heard);
        }
    }

    /// The next message, or why the server is not heard any more.
    pub(super) fn pop(&self) -> Option<Result<Heard, Stop>> {
        let mut waiting = self.waiting();
        if let Some(stop) = waiting.overflow.take() {
            return Some(Err(stop));
        }
        let heard = waiting.heard.pop_front()?;
        waiting.bytes -= heard.bytes();
        Some(Ok(heard))
    }
}

/// How many pings may wait besides.
const PINGS: usize = 64;
