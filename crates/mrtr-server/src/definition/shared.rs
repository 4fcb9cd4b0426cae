//! What all rounds of a server share.

use std::borrow::Cow;
use std::sync::Arc;

use mrtr_flow::{Clock, Environment};
use mrtr_state::{FlowId, Lifetimes, Sealer, Timestamp};

use crate::support::changes::Changes;
use crate::support::shed::{Gauge, Load, Shedder};

/// What all rounds of a server share.
pub(crate) struct Shared {
    pub(crate) sealer: Sealer,
    pub(crate) clock: Arc<dyn Clock>,
    /// What their runs share.
    pub(crate) environment: Arc<Environment>,
    pub(crate) load: Gauge,
    /// Rounds that go on without their connection.
    pub(crate) detached: Gauge,
    pub(crate) shedder: Option<Arc<dyn Shedder>>,
    pub(crate) changes: Changes,
    /// Whether callers learn why a handler failed, and not only a reference to it.
    pub(crate) explains_failures: bool,
    #[cfg(feature = "testing")]
    pub(crate) causes: crate::support::causes::Causes,
}

impl Shared {
    /// What seals states that live so long.
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

    /// Decides at the yield points of a round whether its flow is put down, if the server sheds load at all: then the
    /// round learns how busy the server was when it began.
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
