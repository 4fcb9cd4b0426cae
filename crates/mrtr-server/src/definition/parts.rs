//! The parts of a built server, what its rounds share, and the reservations that they hold.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::for_server::ByName;
use mrtr_flow::{Clock, Environment};
use mrtr_schema::meta::ResultMeta;
use mrtr_schema::{CachingHints, Implementation};
use mrtr_state::single_use::{LeaseKeeper, Reservation, SingleUse, SingleUseError};
use mrtr_state::{FlowId, Lifetimes, Sealer, Timestamp};

use crate::definition::extension::Extension;
use crate::definition::middleware::Middleware;
use crate::definition::policy::Access;
use crate::definition::prompt::PreparedPrompt;
use crate::definition::resource::{PreparedResource, PreparedTemplate};
use crate::definition::tool::PreparedTool;
use crate::support::changes::Changes;
use crate::support::lease_thread::{LeaseThread, Renewal};
use crate::support::shed::{Gauge, Load, Shedder};

/// The parts of a built server. They do not change while the server lives.
pub(crate) struct Parts {
    pub(crate) results: ResultWriter,
    pub(crate) instructions: Option<String>,
    pub(crate) shared: Arc<Shared>,
    /// Renews what rounds have reserved.
    pub(crate) reservations: LeaseThread<Held>,
    pub(crate) tools: ByName<PreparedTool>,
    pub(crate) prompts: ByName<PreparedPrompt>,
    pub(crate) resources: ByName<PreparedResource>,
    pub(crate) templates: ByName<PreparedTemplate>,
    pub(crate) lists: Lists,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) access: Access,
}

impl Parts {
    /// Returns true if something that the server offers needs scopes.
    pub(crate) fn needs_scopes(&self) -> bool {
        let tools = self.tools.values().map(|tool| &tool.settings);
        let prompts = self.prompts.values().map(|prompt| &prompt.settings);
        let resources = self.resources.values().map(|resource| &resource.reader.settings);
        let templates = self.templates.values().map(|template| &template.reader.settings);
        tools.chain(prompts).chain(resources).chain(templates).any(|settings| !settings.scopes.is_empty())
    }

    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    /// Returns true if one of the extensions runs tasks.
    pub(crate) fn runs_tasks(&self) -> bool {
        self.extensions.iter().any(|extension| extension.runs_tasks())
    }

    pub(crate) fn completes(&self) -> bool {
        self.prompts.values().any(|prompt| !prompt.completers.is_empty())
            || self.templates.values().any(|template| !template.completers.is_empty())
    }
}

/// Writes results, each with the server's name.
pub(crate) struct ResultWriter {
    pub(crate) info: Implementation,
    /// The server's name as it stands in the metadata of results.
    pub(crate) signature: String,
}

impl ResultWriter {
    pub(crate) fn new(info: Implementation) -> Self {
        Self { signature: signature(&info), info }
    }
}

/// The settings of lists: the size of a page, and how long clients may cache one.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    pub(crate) page_size: NonZeroUsize,
    pub(crate) caching: CachingHints,
}

/// Writes the metadata of a result that has none of its own: the name and version of the server.
fn signature(info: &Implementation) -> String {
    let mut meta = ResultMeta::new();
    meta.server_info = Some(info.clone());
    let meta = serde_json::to_string(&meta).expect("a name is JSON");
    format!("\"_meta\":{meta}")
}

/// The things that all rounds of a server share.
pub(crate) struct Shared {
    pub(crate) sealer: Sealer,
    pub(crate) clock: Arc<dyn Clock>,
    /// The environment that the runs of all rounds share.
    pub(crate) environment: Arc<Environment>,
    pub(crate) load: Gauge,
    /// Rounds that continue without their connection.
    pub(crate) detached: Gauge,
    pub(crate) shedder: Option<Arc<dyn Shedder>>,
    pub(crate) changes: Changes,
    /// True if callers learn why a handler failed; otherwise they get only a reference to the log.
    pub(crate) explains_failures: bool,
    #[cfg(feature = "testing")]
    pub(crate) causes: crate::support::causes::Causes,
}

impl Shared {
    /// The sealer for states with these lifetimes.
    pub(crate) fn sealer(&self, lifetimes: Option<Lifetimes>) -> Cow<'_, Sealer> {
        match lifetimes {
            Some(lifetimes) => Cow::Owned(self.sealer.clone().lifetimes(lifetimes)),
            None => Cow::Borrowed(&self.sealer),
        }
    }

    /// An id that was never given out: a reference to something in the log.
    pub(crate) fn fresh_id(&self) -> FlowId {
        self.sealer.begin(self.clock.now()).flow()
    }

    /// Returns what decides, at the yield points of a round, whether its flow is shed; `None` if the server never sheds
    /// load. The time that the request was queued is measured now, and the number of rounds at each yield point.
    pub(crate) fn sheds(
        self: &Arc<Self>,
        received: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Box<dyn Fn() -> bool + Send + Sync>> {
        let shedder = Arc::clone(self.shedder.as_ref()?);
        let (shared, load) = (Arc::clone(self), self.load.measured(received, now));
        Some(Box::new(move || shedder.sheds(&Load { running: shared.load.running(), ..load })))
    }
}

/// The time that a reservation stands unless it is renewed, and that a retry waits for one that runs.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A reservation that a round of this process holds, and where.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) store: Arc<dyn SingleUse>,
    pub(crate) reservation: Reservation,
}

/// The thread that renews the reservations of a server: its rounds may block theirs.
pub(crate) fn reservation_thread(clock: &Arc<dyn Clock>) -> LeaseThread<Held> {
    let clock = Arc::clone(clock);
    LeaseThread::new("mrtr-reservations", LEASE, move || {
        let (clock, mut keepers) = (Arc::clone(&clock), Vec::new());
        Box::new(move |held| renew_all(&mut keepers, held, &*clock))
    })
}

/// Renews reservations store by store, though most servers have one store only.
fn renew_all(keepers: &mut Vec<Keeper>, held: &[Held], clock: &dyn Clock) -> Vec<Renewal> {
    let mut renewals = vec![Renewal::Failed; held.len()];
    keepers.retain(|(store, _)| held.iter().any(|held| Arc::ptr_eq(&held.store, store)));
    for held in held {
        if !keepers.iter().any(|(store, _)| Arc::ptr_eq(&held.store, store)) {
            keepers.push((Arc::clone(&held.store), held.store.lease_keeper()));
        }
    }
    for (store, keeper) in keepers {
        let (places, reservations): (Vec<_>, Vec<_>) = held
            .iter()
            .enumerate()
            .filter(|(_, held)| Arc::ptr_eq(&held.store, store))
            .map(|(place, held)| (place, held.reservation.clone()))
            .unzip();
        let renewed = keeper.renew(&reservations, LEASE, clock.now());
        for (place, renewed) in places.into_iter().zip(renewed) {
            renewals[place] = renewal(&renewed);
        }
    }
    renewals
}

fn renewal(renewed: &Result<(), SingleUseError>) -> Renewal {
    match renewed {
        Ok(()) => Renewal::Renewed,
        Err(SingleUseError::Lost) => Renewal::Lost,
        Err(error) => {
            let error = mrtr_flow::for_server::with_causes(error);
            tracing::error!(error, "a reservation could not be renewed; it lapses unless the next renewal succeeds");
            Renewal::Failed
        }
    }
}

type Keeper = (Arc<dyn SingleUse>, Box<dyn LeaseKeeper>);
