//! All sessions of a server: opened, found by their owner, and ended when nothing is heard of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mrtr_schema::{ClientCapabilities, Revision};
use mrtr_state::{ProcessRandom, Timestamp};

use super::id::SessionId;
use super::limits::{Legacy, SessionLimits};
use super::listen::{self, ListenError};
use super::memory::{Bytes, Memory};
use super::one::{Owner, Session};
use super::stream::{Primed, SessionStream};
use crate::register::context::{Context, HeaderClaim};
use crate::register::parts::Parts;
use crate::support::clock::Clock;

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
    bytes: Arc<Bytes>,
    random: ProcessRandom,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    sessions: HashMap<SessionId, Arc<Session>>,
    /// Whether something looks after them.
    is_watched: bool,
}

/// There are as many sessions as there may be, or as they may keep.
#[derive(Debug)]
pub(super) struct TooMany;

impl Sessions {
    pub(crate) fn new(parts: Arc<Parts>, legacy: Legacy, limits: SessionLimits) -> Self {
        let clock = Arc::clone(&parts.shared.clock);
        let bytes = Bytes::new(limits.bytes);
        let (limits, random, open) = (Arc::new(limits), ProcessRandom::new(), Mutex::default());
        Self { parts, table: Arc::new(Table { legacy, limits, clock, bytes, random, open }) }
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

    /// How many there are.
    pub fn open(&self) -> usize {
        self.table.open().sessions.len()
    }

    /// Begins one, for a client whose `initialize` took so many bytes: what it declared is kept as long as the session.
    pub(super) fn begin(
        &self,
        owner: Owner,
        revision: Revision,
        capabilities: ClientCapabilities,
        size: usize,
    ) -> Result<Arc<Session>, TooMany> {
        let table = &self.table;
        let now = table.clock.now();
        let mut open = table.open();
        table.make_room(&mut open, &owner, now)?;
        let id = SessionId::random(&table.random);
        let memory = Memory::new(table.limits.bytes_of_session, Arc::clone(&table.bytes));
        let mut declared = memory.share();
        declared.resize(size).map_err(|_| TooMany)?;
        let (limits, clock) = (Arc::clone(&table.limits), Arc::clone(&table.clock));
        let session =
            Arc::new(Session::new(id.clone(), owner, (revision, capabilities, declared), limits, memory, clock));
        open.sessions.insert(id, Arc::clone(&session));
        if !open.is_watched && tokio::runtime::Handle::try_current().is_ok() {
            open.is_watched = true;
            tokio::spawn(watch(Arc::downgrade(table), Arc::clone(&table.clock)));
        }
        Ok(session)
    }

    /// The session of this id, if it is this caller's and has not ended.
    pub(super) fn find(&self, id: &str, context: &Context<'_>) -> Option<Arc<Session>> {
        let mut open = self.table.open();
        let session = open.sessions.get(id).filter(|session| session.owner == Owner::of(context)).map(Arc::clone)?;
        let now = self.table.clock.now();
        if session.expires(now) <= now {
            open.sessions.remove(id);
            drop(open);
            session.end();
            return None;
        }
        session.heard();
        Some(session)
    }

    /// Listens for what changes, or resumes the stream of which this was the last event that came.
    ///
    /// `version` is what the transport's header claims, which must be the session's version if it is there.
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
        listen::listen(&self.parts, &session, primed(session.revision), last_event)
    }

    /// Ends a session, and says whether there was one of this caller's. Its calls are cancelled.
    pub fn end(&self, id: &str, context: &Context<'_>) -> bool {
        let Some(session) = self.find(id, context) else { return false };
        self.table.open().sessions.remove(id);
        session.end();
        true
    }
}

impl Table {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that one more may begin. If there are too many, the one of the same owner that was unused for longest
    /// makes way; another owner's never does.
    fn make_room(&self, open: &mut Open, owner: &Owner, now: Timestamp) -> Result<(), TooMany> {
        let is_full = |open: &Open| {
            let of_caller = || open.sessions.values().filter(|session| session.owner == *owner).count();
            open.sessions.len() >= self.limits.sessions
                || owner.caller.is_some() && of_caller() >= self.limits.sessions_of_caller
        };
        if !is_full(open) {
            return Ok(());
        }
        open.end_idle(now);
        if !is_full(open) {
            return Ok(());
        }
        let idle = open.sessions.values().filter(|session| session.owner == *owner && session.is_idle());
        let oldest = idle.min_by_key(|session| session.seen()).map(Arc::clone).ok_or(TooMany)?;
        open.sessions.remove(&oldest.id);
        oldest.end();
        Ok(())
    }

    fn sweep(&self) {
        let now = self.clock.now();
        self.open().end_idle(now);
    }
}

impl Open {
    fn end_idle(&mut self, now: Timestamp) {
        self.sessions.retain(|_, session| {
            let is_idle = session.expires(now) <= now;
            if is_idle {
                tracing::debug!(?session, "a session ends of which nothing was heard");
                session.end();
            }
            !is_idle
        });
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for session in self.open().sessions.values() {
            session.end();
        }
    }
}

/// Looks after sessions for as long as there are any.
async fn watch(table: Weak<Table>, clock: Arc<dyn Clock>) {
    loop {
        let pause = {
            let Some(table) = table.upgrade() else { return };
            table.sweep();
            let mut open = table.open();
            let now = clock.now();
            let Some(next) = open.sessions.values().map(|session| session.expires(now)).min() else {
                open.is_watched = false;
                return;
            };
            next.since(now).max(SHORTEST_LOOK)
        };
        clock.sleep(pause).await;
    }
}

/// Whether a header claims the version of a session, or nothing.
pub(super) fn is_version(claim: &HeaderClaim<'_>, revision: Revision) -> bool {
    match claim {
        HeaderClaim::Missing => true,
        HeaderClaim::Text(version) => version == revision.as_str(),
        HeaderClaim::Unreadable => false,
    }
}

/// Whether streams begin with an event that has an id alone.
pub(super) fn primed(revision: Revision) -> Primed {
    if revision.has(mrtr_schema::Feature::PrimedStreams) { Primed::Yes } else { Primed::No }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("open", &self.open()).finish_non_exhaustive()
    }
}

const SHORTEST_LOOK: std::time::Duration = std::time::Duration::from_secs(1);
