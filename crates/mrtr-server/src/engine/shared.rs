//! What all runs of a server share.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use foldhash::HashMap;
use mrtr_schema::{Form, FormError};
use mrtr_state::{DEFAULT_LIMIT, FlowId, Lifetimes, Sealer};
use schemars::JsonSchema;
use xxhash_rust::xxh3::xxh3_64;

use super::context::{DEFAULT_RUN_DEADLINE, JournalLimit};
use super::registered_inputs::Inputs;
use crate::support::changes::Changes;
use crate::support::clock::Clock;
use crate::support::secrets;
use crate::support::shed::{Gauge, Shedder};

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
    /// Whether callers learn why a handler failed, and not only a reference to it.
    pub(crate) explains_failures: bool,
    #[cfg(feature = "testing")]
    pub(crate) causes: crate::support::causes::Causes,
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
            explains_failures: false,
            #[cfg(feature = "testing")]
            causes: crate::support::causes::Causes::default(),
        }
    }

    /// What seals states that live so long.
    pub(crate) fn sealer(&self, lifetimes: Option<Lifetimes>) -> Cow<'_, Sealer> {
        match lifetimes {
            Some(lifetimes) => Cow::Owned(self.sealer.clone().lifetimes(lifetimes)),
            None => Cow::Borrowed(&self.sealer),
        }
    }

    /// How much a flow may have carried in its states.
    pub(crate) fn journal_limit(&self) -> JournalLimit {
        JournalLimit::of(journal_limit(self.sealer.longest_state()))
    }

    /// An id that was never given out: a reference to something in the log.
    pub(crate) fn fresh_id(&self) -> FlowId {
        self.sealer.begin(self.clock.now()).flow()
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
        secrets::warn_of(&form, std::any::type_name::<T>());
        let digest = serde_json::to_vec(&form).map_or(0, |form| xxh3_64(&form));
        let known = KnownForm { form, digest };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, known.clone());
        Ok(known)
    }
}
