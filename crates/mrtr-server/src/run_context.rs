//! What a run has besides its journal: who asks, what the client can do, and the server's own things.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use foldhash::HashMap;
use mrtr_schema::{ClientCapabilities, ErrorObject, Form, FormError, Revision};
use mrtr_state::{DEFAULT_LIMIT, FlowId, Lifetimes, Sealer};
use schemars::JsonSchema;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::changes::Changes;
use crate::clock::{Clock, SystemClock};
use crate::context::Caller;
use crate::echo;
use crate::failure::with_causes;
use crate::flow::short_hex;
use crate::inputs::Inputs;
use crate::lazy_flow::LazyFlow;
use crate::notify::Notifier;
use crate::product::FlowOutput;
use crate::run::JournalSink;
use crate::shed::{Gauge, Load, MOST_SHEDS, Shedder};

/// What a run has besides its journal.
///
/// ```
/// use mrtr_server::{Failure, Flow, Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let handler = async |flow: Flow| {
///     flow.into_task().await;
///     Ok::<_, Failure>("done")
/// };
/// let as_task = RunContext::for_tests().as_task(1 << 20);
/// let ran = run(handler, Journal::default(), as_task).await;
/// assert!(matches!(ran.outcome, Outcome::Done("done")));
/// # }
/// ```
pub struct RunContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) revision: Revision,
    pub(crate) lazy_flow: LazyFlow,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) caller: Option<Caller>,
    pub(crate) sink: Option<Arc<dyn JournalSink>>,
    /// Set once nobody waits for the run any more.
    pub(crate) gone: Option<Arc<AtomicBool>>,
    pub(crate) journal_limit: usize,
    /// How long a run may take.
    pub(crate) deadline: Duration,
    /// Whether an answer to another wording of its question is refused.
    pub(crate) strict: bool,
    pub(crate) as_task: bool,
    pub(crate) notifier: Option<Notifier>,
    /// How busy the server was when the round began.
    pub(crate) load: Load,
}

/// What all runs of a server share.
pub(crate) struct Shared {
    pub(crate) sealer: Sealer,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) states: States,
    pub(crate) forms: Forms,
    pub(crate) load: Gauge,
    /// Rounds that go on without their connection.
    pub(crate) detached: Gauge,
    pub(crate) shedder: Option<Arc<dyn Shedder>>,
    pub(crate) changes: Changes,
    pub(crate) inputs: Inputs,
    /// How long a run may take, unless its tool says otherwise.
    pub(crate) deadline: Duration,
}

impl Shared {
    pub(crate) fn new(sealer: Sealer, clock: Arc<dyn Clock>) -> Self {
        Self {
            sealer,
            clock,
            states: States::default(),
            forms: Forms::default(),
            load: Gauge::default(),
            detached: Gauge::default(),
            shedder: None,
            changes: Changes::new(),
            inputs: Inputs::default(),
            deadline: DEFAULT_RUN_DEADLINE,
        }
    }
}

/// How long a run may take, unless the server or the tool says otherwise: ten minutes.
///
/// ```
/// assert_eq!(mrtr_server::DEFAULT_RUN_DEADLINE.as_secs(), 600);
/// ```
pub const DEFAULT_RUN_DEADLINE: Duration = Duration::from_mins(10);

impl Shared {
    /// Keeps an error of a handler's for the log, and gives the caller a reference to it.
    pub(crate) fn internal<R: FlowOutput>(&self, name: &str, error: &(dyn Error + 'static)) -> Result<R, ErrorObject> {
        let (what, reference) = (R::WHAT, self.fresh_id());
        tracing::error!(%reference, name, error = &*echo::logged(&with_causes(error)), "a {what} failed");
        R::failed(format!("The {what} failed (reference {reference})"))
    }

    /// What seals states that live so long.
    pub(crate) fn sealer(&self, lifetimes: Option<Lifetimes>) -> Cow<'_, Sealer> {
        match lifetimes {
            Some(lifetimes) => Cow::Owned(self.sealer.clone().lifetimes(lifetimes)),
            None => Cow::Borrowed(&self.sealer),
        }
    }

    /// How much a flow may have carried in its states.
    pub(crate) fn journal_limit(&self) -> usize {
        journal_limit(self.sealer.longest_state())
    }

    fn fresh_id(&self) -> FlowId {
        self.sealer.begin(self.clock.now()).flow()
    }
}

impl RunContext {
    pub(crate) fn new(shared: Arc<Shared>, revision: Revision, lazy_flow: LazyFlow) -> Self {
        Self {
            journal_limit: shared.journal_limit(),
            deadline: shared.deadline,
            strict: false,
            shared,
            revision,
            lazy_flow,
            capabilities: Arc::default(),
            caller: None,
            sink: None,
            gone: None,
            as_task: false,
            notifier: None,
            load: Load::default(),
        }
    }

    /// A context of its own: a key of this process, no caller, a client that declared nothing.
    ///
    /// There is no server with which inputs could be registered, so a handler may ask for any.
    pub fn for_tests() -> Self {
        let mut shared = Shared::new(Sealer::this_process_only(), Arc::new(SystemClock::default()));
        shared.inputs = Inputs::Any;
        let lazy_flow = LazyFlow::beginning(None, shared.clock.now());
        Self::new(Arc::new(shared), Revision::default(), lazy_flow)
    }

    /// Has entries kept as they are made.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn JournalSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Ends the run after this long, with an error that says what it was waiting for. It counts from the moment at
    /// which the handler first waits for something.
    #[must_use]
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// Runs as a task: `into_task` goes on at once, and the journal may grow to this many bytes.
    #[must_use]
    pub fn as_task(mut self, journal_limit: usize) -> Self {
        self.as_task = true;
        self.journal_limit = journal_limit;
        self
    }

    /// Whether a flow that was put down this often is put down here.
    pub(crate) fn sheds(&self, sheds: u32) -> bool {
        let load = Load { running: self.shared.load.running(), ..self.load };
        let overloaded = || self.shared.shedder.as_ref().is_some_and(|shedder| shedder.sheds(&load));
        !self.as_task && sheds < MOST_SHEDS && overloaded()
    }

    pub(crate) fn flow_id(&self) -> FlowId {
        self.lazy_flow.lineage(&self.shared).flow()
    }

    /// An id for this flow and this name in these scopes, the same in every run; it cannot be guessed by a client that
    /// does not know the flow's, which is sealed.
    pub(crate) fn derived_id(&self, purpose: &str, scopes: &str, name: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(purpose);
        digest.update(self.flow_id().as_bytes());
        // With its length, so that no other division into scopes and name gives the same bytes.
        digest.update(u64::try_from(scopes.len()).expect("a length").to_le_bytes());
        digest.update(scopes);
        digest.update(name);
        short_hex(&digest.finalize())
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("lazy_flow", &self.lazy_flow).finish_non_exhaustive()
    }
}

/// What is left for the journal in a state of this length, in base64 and beside the claims.
pub(crate) fn journal_limit(longest_state: usize) -> usize {
    (longest_state / 4 * 3).saturating_sub(CLAIMS)
}

/// More than claims usually take. A state that is too long all the same is refused when it is sealed.
const CLAIMS: usize = 1024;
const _: () = assert!(DEFAULT_LIMIT > 4 * CLAIMS);

/// The application's own values, one of a type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl States {
    pub(crate) fn insert<S: Send + Sync + 'static>(&mut self, state: S) {
        self.0.insert(TypeId::of::<S>(), Box::new(state));
    }

    pub(crate) fn get<S: 'static>(&self) -> Option<&S> {
        self.0.get(&TypeId::of::<S>()).and_then(|state| state.downcast_ref())
    }
}

/// The form of each type that was asked for: made once, and rendered once.
#[derive(Default)]
pub(crate) struct Forms(RwLock<HashMap<TypeId, KnownForm>>);

/// A form, and a digest of what it asks.
#[derive(Debug, Clone)]
pub(crate) struct KnownForm {
    pub(crate) form: Form,
    pub(crate) digest: u64,
}

impl Forms {
    pub(crate) fn of<T: JsonSchema + 'static>(&self) -> Result<KnownForm, FormError> {
        let id = TypeId::of::<T>();
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(known.clone());
        }
        let form = Form::of::<T>()?;
        crate::secrets::warn_of(&form, std::any::type_name::<T>());
        let digest = serde_json::to_vec(&form).map_or(0, |form| xxh3_64(&form));
        let known = KnownForm { form, digest };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, known.clone());
        Ok(known)
    }
}
