//! All sessions of a server: begun, found by their owner, and ended when their client is silent for too long.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mrtr_flow::Clock;
use mrtr_schema::{ClientCapabilities, HeapSize, Revision};
use mrtr_state::ProcessRandom;

use super::limits::{Legacy, SessionId, SessionLimits};
use super::memory::Memory;
use super::notices::{self, ListenError};
use super::one::{Held, InUse, Owner, Session};
use super::stream::{Primed, SessionStream};
use crate::definition::parts::Parts;
use crate::definition::tool::HeaderClaim;
use crate::protocol::context::Context;
use crate::support::fair::{Account, FairPool, Holding};

/// The sessions of a server, for a transport that carries them.
///
/// ```
/// use mrtr_server::{Context, Server};
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// assert_eq!(server.sessions().open(), 0);
/// assert!(!server.sessions().end("no such id", &Context::new()), "there is nothing to end");
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Sessions {
    parts: Arc<Parts>,
    table: Arc<Table>,
}

struct Table {
    legacy: Legacy,
    limits: Arc<SessionLimits>,
    clock: Arc<dyn Clock>,
    /// Places for sessions, and what they keep, divided between callers.
    slots: FairPool,
    bytes: FairPool,
    random: ProcessRandom,
    /// Held while a session begins, so that the number of its caller's sessions does not change between the look and
    /// the count.
    beginning: Mutex<()>,
    /// No session is locked under it: one that takes memory may end others, which are removed here.
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    sessions: HashMap<SessionId, Arc<Session>>,
    /// True while a spawned task looks after them.
    is_watched: bool,
}

/// The table is full: there are as many sessions as the limit allows, or they keep as many bytes as they may.
#[derive(Debug)]
pub(super) struct TooMany;

impl Sessions {
    pub(crate) fn new(parts: Arc<Parts>, legacy: Legacy, limits: SessionLimits) -> Self {
        let clock = Arc::clone(&parts.shared.clock);
        let (slots, bytes) = (FairPool::new(limits.sessions), FairPool::new(limits.bytes));
        let (limits, random) = (Arc::new(limits), ProcessRandom::new());
        let (beginning, open) = (Mutex::default(), Mutex::default());
        Self { parts, table: Arc::new(Table { legacy, limits, clock, slots, bytes, random, beginning, open }) }
    }

    pub(super) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    pub(super) fn legacy(&self) -> Legacy {
        self.table.legacy
    }

    pub(super) fn limits(&self) -> &SessionLimits {
        &self.table.limits
    }

    /// The number of open sessions.
    pub fn open(&self) -> usize {
        self.table.open().sessions.len()
    }

    /// The bytes that they keep, as they are counted: what was declared in them, their calls with their journals, and
    /// what waits to be sent.
    pub fn bytes(&self) -> usize {
        self.table.bytes.used()
    }

    /// Begins one. What its client declared is kept as long as the session.
    pub(super) fn begin(
        &self,
        context: &Context<'_>,
        revision: Revision,
        capabilities: ClientCapabilities,
    ) -> Result<Arc<Session>, TooMany> {
        let table = &self.table;
        let (owner, key) = (Owner::of(context), context.caller.account_key());
        let id = SessionId::random(&table.random);
        let beginning = table.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = table.take_slot(&table.slots.account(&key), owner.is_known())?;
        let account = table.bytes.account(&key);
        let memory = Memory::new(table.limits.bytes_of_session, account.clone());
        let mut declared = memory.share();
        let size = capabilities.heap_bytes() + PER_SESSION;
        if size > table.limits.bytes_of_session {
            return Err(TooMany);
        }
        table.make_room(&account, || declared.resize(size).ok())?;
        drop(beginning);
        let held = Held { slot, declared, end: table.ends(&id) };
        let (limits, clock) = (Arc::clone(&table.limits), Arc::clone(&table.clock));
        let session = Session::new(id.clone(), owner, (revision, capabilities), limits, (memory, held), clock);
        let session = Arc::new(session);
        let in_use = session.enter();
        let mut open = table.open();
        open.sessions.insert(id, Arc::clone(&session));
        if !open.is_watched && tokio::runtime::Handle::try_current().is_ok() {
            open.is_watched = true;
            tokio::spawn(watch(Arc::downgrade(table), Arc::clone(&table.clock)));
        }
        drop(open);
        // Now that it can be found it can be ended, and is idle until its client comes back.
        drop(in_use);
        Ok(session)
    }

    /// The session of this id, if it is this caller's and has not ended. It does not make way while it is used.
    pub(super) fn find(&self, id: &str, context: &Context<'_>) -> Option<InUse> {
        let session = self.table.open().sessions.get(id).map(Arc::clone)?;
        if session.owner != Owner::of(context) {
            return None;
        }
        let now = self.table.clock.now();
        if session.expires(now) <= now {
            self.table.remove(id);
            return None;
        }
        session.enter()
    }

    /// Listens for changes, or resumes a stream after `last_event`, the last event that the client got of it.
    ///
    /// `version` is the claim of the transport's header: if there is one, it must be the session's version.
    pub fn listen(
        &self,
        id: &str,
        context: &Context<'_>,
        version: &HeaderClaim<'_>,
        last_event: Option<&str>,
    ) -> Result<SessionStream, ListenError> {
        let session = self.find(id, context).ok_or(ListenError::NoSession)?;
        if !is_version(version, session.revision) {
            return Err(ListenError::OtherVersion);
        }
        notices::listen(&self.parts, &session, primed(session.revision), last_event)
    }

    /// Ends a session, and says whether there was one of this caller's. Its calls are cancelled.
    pub fn end(&self, id: &str, context: &Context<'_>) -> bool {
        if self.find(id, context).is_none() {
            return false;
        }
        self.table.remove(id);
        true
    }
}

impl Table {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one more session of this caller. If the caller has as many as it may, its own session that was
    /// unused for longest makes way; another caller's does only if that caller has more than its share.
    fn take_slot(&self, account: &Account, is_known: bool) -> Result<Holding, TooMany> {
        let most = if is_known { self.limits.sessions_of_caller } else { usize::MAX };
        self.make_room(account, || if account.used() < most { account.take(1).ok() } else { None })
    }

    /// Tries to take something, and has idle sessions of this caller make way until it can.
    fn make_room<T>(&self, account: &Account, mut take: impl FnMut() -> Option<T>) -> Result<T, TooMany> {
        if let Some(taken) = take() {
            return Ok(taken);
        }
        self.sweep();
        loop {
            if let Some(taken) = take() {
                return Ok(taken);
            }
            if !account.end_oldest_offer() {
                return Err(TooMany);
            }
        }
    }

    /// Returns a function that ends this session, if it is still open then.
    fn ends(self: &Arc<Self>, id: &SessionId) -> Arc<dyn Fn() + Send + Sync> {
        let (table, id) = (Arc::downgrade(self), id.clone());
        Arc::new(move || {
            let session = table.upgrade().and_then(|table| table.open().sessions.remove(id.as_str()));
            if let Some(session) = session {
                tracing::debug!(?id, "an idle session was ended to make room");
                session.end();
            }
        })
    }

    /// Ends a session, if it is still open.
    fn remove(&self, id: &str) {
        let session = self.open().sessions.remove(id);
        if let Some(session) = session {
            session.end();
            session.leave_slot();
        }
    }

    fn sessions(&self) -> Vec<Arc<Session>> {
        self.open().sessions.values().map(Arc::clone).collect()
    }

    /// Ends the sessions whose clients were silent for too long.
    fn sweep(&self) {
        let now = self.clock.now();
        for session in self.sessions().iter().filter(|session| session.expires(now) <= now) {
            tracing::debug!(?session, "a session was ended: its client was silent for too long");
            self.remove(session.id.as_str());
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for session in self.sessions() {
            session.end();
        }
    }
}

/// Ends sessions whose time is over, for as long as there are any sessions.
async fn watch(table: Weak<Table>, clock: Arc<dyn Clock>) {
    loop {
        let pause = {
            let Some(table) = table.upgrade() else { return };
            table.sweep();
            let now = clock.now();
            if let Some(next) = table.sessions().iter().map(|session| session.expires(now)).min() {
                next.since(now).max(SHORTEST_LOOK)
            } else {
                let mut open = table.open();
                // A session may have begun meanwhile, which no other task looks after.
                if open.sessions.is_empty() {
                    open.is_watched = false;
                    return;
                }
                SHORTEST_LOOK
            }
        };
        clock.sleep(pause).await;
    }
}

/// Returns true if a header claims the version of a session, or nothing.
pub(super) fn is_version(claim: &HeaderClaim<'_>, revision: Revision) -> bool {
    match claim {
        HeaderClaim::Missing => true,
        HeaderClaim::Text(version) => version == revision.as_str(),
        HeaderClaim::Unreadable => false,
    }
}

/// Says whether streams begin with an event that has an id alone.
pub(super) fn primed(revision: Revision) -> Primed {
    if revision.has(mrtr_schema::Feature::PrimedStreams) { Primed::Yes } else { Primed::No }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("open", &self.open()).finish_non_exhaustive()
    }
}

/// The bytes that a session takes besides what its client declared: about as many as were measured.
const PER_SESSION: usize = 2048;
const SHORTEST_LOOK: std::time::Duration = std::time::Duration::from_secs(1);
