//! Which flow a round belongs to: told by its state, or drawn once somebody wants to know.

use std::sync::{Arc, OnceLock};

use mrtr_state::{FlowProgress, Lifetimes, Timestamp};

use crate::run_context::Shared;

/// The flow of a round. Most calls ask nothing and carry nothing, and then nobody needs an id for them: to draw one
/// takes a system call.
#[derive(Debug, Clone)]
pub(crate) struct Descent(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lineage: OnceLock<FlowProgress>,
    lifetimes: Option<Lifetimes>,
    begun: Timestamp,
}

impl Descent {
    /// A flow that begins now.
    pub(crate) fn beginning(lifetimes: Option<Lifetimes>, now: Timestamp) -> Self {
        Self(Arc::new(Inner { lineage: OnceLock::new(), lifetimes, begun: now }))
    }

    /// What is known of it, if somebody has asked.
    pub(crate) fn known(&self) -> Option<FlowProgress> {
        self.0.lineage.get().copied()
    }

    pub(crate) fn lineage(&self, shared: &Shared) -> FlowProgress {
        *self.0.lineage.get_or_init(|| shared.sealer(self.0.lifetimes).begin(self.0.begun))
    }

    /// The round: the first one, if nobody has drawn an id.
    pub(crate) fn round(&self) -> u32 {
        self.known().map_or(1, |lineage| lineage.round())
    }
}

impl From<FlowProgress> for Descent {
    fn from(lineage: FlowProgress) -> Self {
        let begun = lineage.started();
        Self(Arc::new(Inner { lineage: OnceLock::from(lineage), lifetimes: None, begun }))
    }
}
