//! Which flow a round belongs to: told by its state, or drawn once it is wanted.

use std::sync::{Arc, OnceLock};

use mrtr_state::{Lifetimes, Lineage, Timestamp};

use crate::engine::shared::Shared;

/// The flow of a round. Most calls ask nothing and carry nothing, and then no id is needed for them: to draw one
/// takes a system call.
#[derive(Debug, Clone)]
pub(crate) struct LazyFlow(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lineage: OnceLock<Lineage>,
    lifetimes: Option<Lifetimes>,
    begun: Timestamp,
}

impl LazyFlow {
    /// A flow that begins now.
    pub(crate) fn beginning(lifetimes: Option<Lifetimes>, now: Timestamp) -> Self {
        Self(Arc::new(Inner { lineage: OnceLock::new(), lifetimes, begun: now }))
    }

    /// What is known of it, if it was wanted.
    pub(crate) fn known(&self) -> Option<Lineage> {
        self.0.lineage.get().copied()
    }

    pub(crate) fn lineage(&self, shared: &Shared) -> Lineage {
        *self.0.lineage.get_or_init(|| shared.sealer(self.0.lifetimes).begin(self.0.begun))
    }

    /// The round: the first one, if no id was drawn.
    pub(crate) fn round(&self) -> u32 {
        self.known().map_or(1, |lineage| lineage.round())
    }
}

impl From<Lineage> for LazyFlow {
    fn from(lineage: Lineage) -> Self {
        let begun = lineage.started();
        Self(Arc::new(Inner { lineage: OnceLock::from(lineage), lifetimes: None, begun }))
    }
}
