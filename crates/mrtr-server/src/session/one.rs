//! One session: its owner, what was agreed in it, and its open calls.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mrtr_flow::{Clock, Identity, StopReason};
use mrtr_schema::{ClientCapabilities, LoggingLevel, RequestId, Revision};
use mrtr_state::Timestamp;
use tokio::sync::watch;

use super::call::Call;
use super::limits::{SessionId, SessionLimits};
use super::memory::{Memory, Share};
use super::open_questions::Answer;
use super::stream::CallStream;
use crate::protocol::context::Context;
use crate::support::changes::Changes;
use crate::support::fair::Holding;
use crate::support::permit::Held as HeldPermit;

/// The caller and tenant that a session belongs to.
#[derive(Debug, Clone)]
pub(super) struct Owner(Identity);

impl Owner {
    pub(super) fn of(context: &Context<'_>) -> Self {
        Self(context.caller.identity.clone())
    }

    pub(super) fn is_known(&self) -> bool {
        !self.0.is_anonymous()
    }
}

/// A session stays its caller's when the caller has other scopes or groups than before.
impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.0.owns_as(&other.0)
    }
}

/// A session.
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) owner: Owner,
    pub(super) revision: Revision,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) limits: Arc<SessionLimits>,
    pub(super) clock: Arc<dyn Clock>,
    memory: Memory,
    /// The places and memory that it holds for as long as it is open. A message that begins to use it takes an offer
    /// back first, under this lock; it comes before that of the state.
    held: Mutex<Held>,
    state: Mutex<State>,
    /// The number of the last listener; the greatest number ends them all.
    listener: watch::Sender<u64>,
}

/// The places and memory that a session holds while it is open, and offers to other callers while it is idle.
pub(super) struct Held {
    /// Its place among all sessions.
    pub(super) slot: Holding,
    /// For what its client declared, and for itself.
    pub(super) declared: Share,
    /// Ends it, for another caller's.
    pub(super) end: Arc<dyn Fn() + Send + Sync>,
}

impl Held {
    fn offer(&mut self) {
        let (slot, declared) = (Arc::clone(&self.end), Arc::clone(&self.end));
        self.slot.offer(move || slot());
        self.declared.offer(move || declared());
    }

    /// Takes the offers back, and says whether none was taken.
    fn keep(&mut self) -> bool {
        let is_in_place = self.slot.keep();
        self.declared.keep() && is_in_place
    }
}

struct State {
    /// The messages that are being dealt with.
    users: usize,
    /// The time at which the client was last heard of.
    seen: Timestamp,
    level: LoggingLevel,
    watched: HashSet<String>,
    watched_share: Share,
    calls: HashMap<RequestId, Arc<Call>>,
    /// Streams of calls that have ended and may be resumed, oldest first.
    ended: VecDeque<Arc<CallStream>>,
    /// The call that asked each question.
    asked: HashMap<i64, RequestId>,
    /// The last question, and the last stream.
    questions: i64,
    streams: u64,
    listeners: usize,
    is_over: bool,
}

/// The reason why a call does not begin.
#[derive(Debug)]
pub(super) enum NotBegun {
    /// Its id is another open call's.
    IdInUse,
    TooManyCalls,
    NoRoom,
    /// The session has ended meanwhile.
    Over,
}

impl Session {
    pub(super) fn new(
        id: SessionId,
        owner: Owner,
        (revision, capabilities): (Revision, ClientCapabilities),
        limits: Arc<SessionLimits>,
        (memory, held): (Memory, Held),
        clock: Arc<dyn Clock>,
    ) -> Self {
        let state = State {
            users: 0,
            seen: clock.now(),
            // The level for a client that never sets one: the protocol leaves it to the server.
            level: LoggingLevel::Info,
            watched: HashSet::new(),
            watched_share: memory.share(),
            calls: HashMap::new(),
            ended: VecDeque::new(),
            asked: HashMap::new(),
            questions: 0,
            streams: 0,
            listeners: 0,
            is_over: false,
        };
        let capabilities = Arc::new(capabilities);
        let (held, state, listener) = (Mutex::new(held), Mutex::new(state), watch::Sender::new(0));
        Self { id, owner, revision, capabilities, limits, clock, memory, held, state, listener }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to use it, as a message of its client's does; `None` if it made way for another caller's.
    pub(super) fn enter(self: &Arc<Self>) -> Option<InUse> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.keep() {
            return None;
        }
        let mut state = self.state();
        state.users += 1;
        state.seen = self.clock.now();
        drop(state);
        drop(held);
        Some(InUse(Arc::clone(self)))
    }

    /// Offers its place to callers below their share, if nothing is under way in it.
    fn offer_if_idle(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state();
        let is_idle = state.is_idle() && !state.is_over;
        // A session that makes way ends outside of the lock of any session's state.
        drop(state);
        if is_idle {
            held.offer();
        }
    }

    /// Gives its place to others, once it has ended: a step that is still under way keeps memory, and no place.
    pub(super) fn leave_slot(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // If it made way meanwhile, another has its place already.
        let _ = held.slot.resize(0);
    }

    /// The time at which it is removed if its client stays silent. A client that reads one of its streams is not
    /// silent.
    pub(super) fn expires(&self, now: Timestamp) -> Timestamp {
        let mut state = self.state();
        if state.listeners > 0 || state.calls.values().any(|call| call.stream.is_read()) {
            state.seen = now;
        }
        state.seen + self.limits.idle
    }

    pub(super) fn level(&self) -> LoggingLevel {
        self.state().level
    }

    pub(super) fn set_level(&self, level: LoggingLevel) {
        self.state().level = level;
    }

    /// Watches a resource, and says whether there was room to.
    pub(super) fn watch(&self, uri: String) -> bool {
        let mut state = self.state();
        if state.watched.contains(&uri) {
            return true;
        }
        let size: usize = state.watched.iter().map(|uri| uri.len() + PER_WATCHED).sum();
        if state.watched.len() >= MOST_WATCHED || state.watched_share.resize(size + uri.len() + PER_WATCHED).is_err() {
            return false;
        }
        state.watched.insert(uri);
        true
    }

    pub(super) fn unwatch(&self, uri: &str) {
        let mut state = self.state();
        if state.watched.remove(uri) {
            let size = state.watched.iter().map(|uri| uri.len() + PER_WATCHED).sum();
            // It becomes less, for which there is always room.
            let _ = state.watched_share.resize(size);
        }
    }

    pub(super) fn watches(&self, uri: &str) -> bool {
        self.state().watched.contains(uri)
    }

    /// Begins a call, whose message takes `message` bytes.
    pub(super) fn begin_call(
        self: &Arc<Self>,
        id: RequestId,
        message: usize,
        permit: Option<HeldPermit<'static>>,
        changes: Changes,
    ) -> Result<Arc<Call>, NotBegun> {
        let mut share = self.memory.share();
        let mut state = self.state();
        if state.is_over {
            return Err(NotBegun::Over);
        }
        if state.calls.contains_key(&id) {
            return Err(NotBegun::IdInUse);
        }
        if state.calls.len() >= self.limits.calls {
            return Err(NotBegun::TooManyCalls);
        }
        while share.resize(message + PER_CALL).is_err() {
            // The server forgets streams that have ended before it refuses a new call.
            state.ended.pop_front().ok_or(NotBegun::NoRoom)?;
        }
        state.streams += 1;
        let stream = CallStream::new(state.streams, self.memory.share());
        let call = Arc::new(Call::new(self, id.clone(), stream, (share, message + PER_CALL), permit, changes));
        state.calls.insert(id, Arc::clone(&call));
        Ok(call)
    }

    /// Notes that a call has ended. If it asked anything, the client can still resume its stream for a while.
    pub(super) fn call_ended(&self, call: &Call) {
        let mut state = self.state();
        let is_it = state.calls.get(&call.id).is_some_and(|open| Arc::ptr_eq(&open.stream, &call.stream));
        if !is_it {
            return;
        }
        state.calls.remove(&call.id);
        state.asked.retain(|_, asked_by| *asked_by != call.id);
        if call.stream.has_asked() && !state.is_over {
            state.ended.push_back(Arc::clone(&call.stream));
            let excess = state.ended.len().saturating_sub(MOST_ENDED);
            state.ended.drain(..excess);
        }
        drop(state);
        self.offer_if_idle();
    }

    /// A fresh id for a question of a call.
    pub(super) fn question_id(&self, call: &RequestId) -> i64 {
        let mut state = self.state();
        state.questions += 1;
        let id = state.questions;
        state.asked.insert(id, call.clone());
        id
    }

    pub(super) fn forget_question(&self, id: i64) {
        self.state().asked.remove(&id);
    }

    /// Delivers an answer to its call. An answer to a question that is not open, or was never asked, changes nothing.
    pub(super) fn answer(&self, id: &RequestId, answer: &Answer<'_>, permit: Option<HeldPermit<'static>>) {
        let RequestId::Integer(id) = *id else { return };
        let mut state = self.state();
        let call = state.asked.remove(&id).and_then(|call| state.calls.get(&call).map(Arc::clone));
        drop(state);
        let Some(call) = call else {
            tracing::debug!(id, "an answer to no open question was dropped");
            return;
        };
        call.deliver(id, answer, permit);
    }

    /// Returns the call that asked a question, if both are open.
    pub(super) fn call_of(&self, question: &RequestId) -> Option<Arc<Call>> {
        let RequestId::Integer(id) = *question else { return None };
        let state = self.state();
        state.asked.get(&id).and_then(|call| state.calls.get(call)).map(Arc::clone)
    }

    /// Cancels a request: the client does not want its response any more.
    pub(super) fn cancel(&self, id: &RequestId) {
        let call = self.state().calls.get(id).map(Arc::clone);
        if let Some(call) = call {
            call.stop.raise(StopReason::Cancelled);
        }
    }

    /// The stream of a call that has this number, if it can be resumed.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<CallStream>> {
        let state = self.state();
        let open = state.calls.values().map(|call| &call.stream);
        open.chain(&state.ended).find(|stream| stream.number == number).map(Arc::clone)
    }

    /// Listens for what changes, in the stead of an earlier listener.
    pub(super) fn listen(self: &Arc<Self>) -> Listener {
        let mut state = self.state();
        state.listeners += 1;
        let mut number = 0;
        if !state.is_over {
            self.listener.send_modify(|last| {
                *last += 1;
                number = *last;
            });
        }
        Listener { session: Arc::clone(self), number, last: self.listener.subscribe() }
    }

    /// Ends it: its calls are stopped, and its streams end.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.ended.clear();
        let calls: Vec<_> = state.calls.values().map(Arc::clone).collect();
        drop(state);
        self.listener.send_replace(u64::MAX);
        for call in calls {
            call.stop.raise(StopReason::Cancelled);
            // Readers need not wait for a step that is under way.
            call.stream.end(None);
        }
    }
}

impl State {
    /// Returns true if nothing is under way.
    fn is_idle(&self) -> bool {
        self.users == 0 && self.calls.is_empty() && self.listeners == 0
    }
}

/// A session that is dealing with a message: it does not make way.
pub(super) struct InUse(Arc<Session>);

impl Deref for InUse {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.state().users -= 1;
        self.0.offer_if_idle();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("revision", &self.revision).finish_non_exhaustive()
    }
}

/// A client that listens for what changes.
pub(super) struct Listener {
    pub(super) session: Arc<Session>,
    number: u64,
    last: watch::Receiver<u64>,
}

impl Listener {
    /// Waits until another listens in its stead, or the session ends.
    pub(super) async fn replaced(&mut self) {
        // The sender lives as long as the session, which this holds.
        let _ = self.last.wait_for(|last| *last != self.number).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state.listeners -= 1;
        state.seen = self.session.clock.now();
        drop(state);
        self.session.offer_if_idle();
    }
}

/// Streams of calls that have ended, kept for a client that lost the response.
const MOST_ENDED: usize = 8;
/// Resources that a session watches.
const MOST_WATCHED: usize = 1024;
/// The memory that a watched resource takes besides its URI, and a call besides its message and journal: about what was
/// measured.
const PER_WATCHED: usize = 96;
const PER_CALL: usize = 8192;
