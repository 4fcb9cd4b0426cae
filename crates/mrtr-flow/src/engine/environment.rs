//! The environment that all runs of one program share: its clock, its source of flow ids, the application's own values,
//! and forms. The log hears of forms that seem to ask for a secret, which belongs on a page behind a URL (EL-1).

use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use foldhash::HashMap;
use mrtr_schema::{Form, FormError, NamespacedInput};
use mrtr_state::{FlowProgress, Lifetimes, Sealer, Timestamp};
use schemars::JsonSchema;
use xxhash_rust::xxh3::xxh3_64;

use super::context::{DEFAULT_RUN_DEADLINE, JournalLimit};
use super::registered_inputs::Inputs;
use crate::support::clock::{Clock, SystemClock};

/// The environment that all runs of one program share: a clock, a source of flow ids, the limit of a journal, and the
/// application's own values. A program makes one, and each [`RunContext`](crate::RunContext) has it.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_flow::{Environment, Failure, Flow, Journal, Outcome, RunContext, run};
/// use mrtr_schema::Revision;
/// use mrtr_state::Sealer;
///
/// struct Greeting(&'static str);
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let environment = Arc::new(Environment::sealed_by(Sealer::this_process_only()).state(Greeting("Hello")));
/// let flow = environment.begin_flow(None, environment.now());
/// let context = RunContext::new(environment, Revision::default(), flow, Arc::default());
/// let greet = async |flow: Flow| Ok::<_, Failure>(flow.state::<Greeting>().0);
/// assert!(matches!(run(greet, Journal::default(), context).await.outcome, Outcome::Done("Hello")));
/// # }
/// ```
#[must_use]
pub struct Environment {
    flow_ids: FlowIds,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) extensions: Extensions,
    pub(crate) inputs: Inputs,
    pub(crate) forms: Forms,
    pub(super) journal_limit: JournalLimit,
    pub(super) deadline: Duration,
}

/// Begins flows: with lifetimes of their own or the usual ones, at this time.
struct FlowIds(Box<dyn Fn(Option<Lifetimes>, Timestamp) -> FlowProgress + Send + Sync>);

impl Environment {
    /// Makes an environment whose flows `flow_ids` begins. It gets the time, and the lifetimes that the runner wants
    /// for the flow if they are not the usual ones.
    ///
    /// ```
    /// use mrtr_flow::Environment;
    /// use mrtr_state::Sealer;
    ///
    /// let sealer = Sealer::this_process_only();
    /// let environment = Environment::new(move |_, now| sealer.begin(now));
    /// ```
    pub fn new(flow_ids: impl Fn(Option<Lifetimes>, Timestamp) -> FlowProgress + Send + Sync + 'static) -> Self {
        Self {
            flow_ids: FlowIds(Box::new(flow_ids)),
            clock: Arc::new(SystemClock::default()),
            extensions: Extensions::default(),
            inputs: Inputs::default(),
            forms: Forms::default(),
            journal_limit: JournalLimit::of(journal_limit(mrtr_state::DEFAULT_LIMIT)),
            deadline: DEFAULT_RUN_DEADLINE,
        }
    }

    /// Makes an environment for this sealer, which draws the flow ids and seals the journals into states. A journal may
    /// hold what fits into the longest state.
    pub fn sealed_by(sealer: Sealer) -> Self {
        let limit = journal_limit(sealer.longest_state());
        let flow_ids = move |lifetimes: Option<Lifetimes>, now| match lifetimes {
            Some(lifetimes) => sealer.clone().lifetimes(lifetimes).begin(now),
            None => sealer.begin(now),
        };
        Self::new(flow_ids).journal_limit(limit)
    }

    /// Tells the time by another clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Gives handlers a value, which they get by its type with [`Flow::state`](crate::Flow::state).
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        self.extensions.insert(state);
        self
    }

    /// Lets handlers ask for an application's own input.
    pub fn input<I: NamespacedInput + 'static>(mut self) -> Self {
        self.inputs.insert::<I>();
        self
    }

    /// Lets handlers ask for an application's own input, and asks a client that did not declare it to visit a URL
    /// instead: see [`Ask::until`](crate::flow::Ask::until). `page` makes the message and the URL from the input's
    /// parameters and the id of the interaction.
    pub fn input_by_url<I: NamespacedInput + 'static>(
        mut self,
        page: impl Fn(&I::Params, &str) -> (String, String) + Send + Sync + 'static,
    ) -> Self {
        self.inputs.insert_with_page::<I>(page);
        self
    }

    /// Lets the journal of a run grow to this many bytes, unless its context says otherwise. 4 KiB of them, or a
    /// quarter of fewer than 16 KiB, are for answers alone.
    pub fn journal_limit(mut self, bytes: usize) -> Self {
        self.journal_limit = JournalLimit::of(bytes);
        self
    }

    /// Ends each run after this long, unless its context says otherwise: see
    /// [`RunContext::deadline`](crate::RunContext::deadline).
    pub fn run_deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// Begins a flow: draws its id.
    pub fn begin_flow(&self, lifetimes: Option<Lifetimes>, now: Timestamp) -> FlowProgress {
        self.flow_ids.0(lifetimes, now)
    }

    /// Returns the time of the environment's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Takes over what a server was built with.
    #[doc(hidden)]
    pub fn with(mut self, extensions: Extensions, inputs: Inputs) -> Self {
        (self.extensions, self.inputs) = (extensions, inputs);
        self
    }

    /// Returns the limit of a flow's journal in its states.
    #[doc(hidden)]
    pub fn limit(&self) -> JournalLimit {
        self.journal_limit
    }

    /// The longest time that a run may take.
    #[doc(hidden)]
    pub fn usual_deadline(&self) -> Duration {
        self.deadline
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// Returns the bytes that a state of this length leaves for the journal, in base64 and beside the claims.
fn journal_limit(longest_state: usize) -> usize {
    (longest_state / 4 * 3).saturating_sub(CLAIMS)
}

/// More bytes than claims usually take. If a state is still too long, sealing it fails.
const CLAIMS: usize = 1024;
const _: () = assert!(mrtr_state::DEFAULT_LIMIT > 4 * CLAIMS);

/// Values that a program and the crates above this one give to handlers, one of each type.
#[derive(Default)]
pub struct Extensions {
    values: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    /// The types of the values that the program gave, by name, for messages.
    given: BTreeSet<&'static str>,
}

impl Extensions {
    /// Adds a value of the program's. It takes the place of an earlier one of its type.
    pub fn insert<S: Send + Sync + 'static>(&mut self, value: S) {
        self.given.insert(std::any::type_name::<S>());
        self.attach(value);
    }

    /// Adds a value that a crate above gives to handlers. No message lists it among the program's.
    pub fn attach<S: Send + Sync + 'static>(&mut self, value: S) {
        self.values.insert(TypeId::of::<S>(), Box::new(value));
    }

    /// Says that the program gave no value of a type, which ones it gave, and what to do.
    pub(crate) fn missing<S: 'static>(&self) -> String {
        let wanted = std::any::type_name::<S>();
        let given: Vec<_> = self.given.iter().map(|name| format!("`{name}`")).collect();
        let given = if given.is_empty() { "no state at all".to_owned() } else { given.join(", ") };
        format!(
            "the handler asks for the state `{wanted}`, and the server has {given}: \
             give it one with `Server::builder(…).state(value)`"
        )
    }

    /// Returns the value of a type.
    pub fn get<S: 'static>(&self) -> Option<&S> {
        self.values.get(&TypeId::of::<S>()).and_then(|value| value.downcast_ref())
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.values.len())
    }
}

/// The form of each type that a flow asked for: made once, and rendered once.
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
        warn_of(&form, std::any::type_name::<T>());
        let digest = serde_json::to_vec(&form).map_or(0, |form| xxh3_64(&form));
        let known = KnownForm { form, digest };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, known.clone());
        Ok(known)
    }
}

/// The flow of a round. Its id is drawn only when something needs it: drawing one takes a system call, and most calls
/// ask nothing and carry nothing.
#[derive(Debug, Clone)]
pub struct LazyFlow(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    flow_progress: OnceLock<FlowProgress>,
    lifetimes: Option<Lifetimes>,
    begun: Timestamp,
}

impl LazyFlow {
    /// Makes a flow that begins now.
    pub fn beginning(lifetimes: Option<Lifetimes>, now: Timestamp) -> Self {
        Self(Arc::new(Inner { flow_progress: OnceLock::new(), lifetimes, begun: now }))
    }

    /// Returns the flow's progress, if some caller needed it before.
    pub fn known(&self) -> Option<FlowProgress> {
        self.0.flow_progress.get().copied()
    }

    /// Returns the flow's progress, and draws its id if it has none yet.
    pub fn flow_progress(&self, environment: &Environment) -> FlowProgress {
        *self.0.flow_progress.get_or_init(|| environment.begin_flow(self.0.lifetimes, self.0.begun))
    }

    /// Returns the number of the round. A flow that has no id yet is in its first.
    pub fn round(&self) -> u32 {
        self.known().map_or(1, |flow_progress| flow_progress.round())
    }
}

impl From<FlowProgress> for LazyFlow {
    fn from(flow_progress: FlowProgress) -> Self {
        let begun = flow_progress.started();
        Self(Arc::new(Inner { flow_progress: OnceLock::from(flow_progress), lifetimes: None, begun }))
    }
}

/// Warns of fields that are named like a secret. A name proves nothing, so the flow still asks for the form; a form
/// with a field that is marked as a secret, with the format `password`, is never made.
fn warn_of(form: &Form, type_name: &'static str) {
    for field in form.fields().filter(|field| looks_secret(field.name)) {
        tracing::warn!(
            form = type_name,
            field = field.name,
            "a form asks for something that looks like a secret: ask for it by URL, with `flow.elicit_url`"
        );
    }
}

fn looks_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    SECRETS.iter().any(|secret| name.contains(secret))
}

/// Parts of names, in lower case and without the separators between words.
const SECRETS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesstoken",
    "refreshtoken",
    "privatekey",
    "credential",
    "cardnumber",
];

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn names_are_compared_however_their_words_are_joined() {
        for name in ["password", "Password", "userPassword", "api_key", "apiKey", "API-Key", "client_secret"] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["name", "key", "token_count", "pass", "passport", "mail", "card"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
