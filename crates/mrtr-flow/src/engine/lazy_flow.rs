//! Which flow a round belongs to: told by its state, or drawn once it is wanted.

use std::sync::{Arc, OnceLock};

use mrtr_state::{FlowProgress, Lifetimes, Timestamp};

use super::environment::Environment;

/// The flow of a round. Most calls ask nothing and carry nothing, and then no id is needed for them: to draw one
/// takes a system call.
#[derive(Debug, Clone)]
pub struct LazyFlow(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    flow_progress: OnceLock<FlowProgress>,
    lifetimes: Option<Lifetimes>,
    begun: Timestamp,
}

impl LazyFlow {
    /// A flow that begins now.
    pub fn beginning(lifetimes: Option<Lifetimes>, now: Timestamp) -> Self {
        Self(Arc::new(Inner { flow_progress: OnceLock::new(), lifetimes, begun: now }))
    }

    /// What is known of it, if it was wanted.
    pub fn known(&self) -> Option<FlowProgress> {
        self.0.flow_progress.get().copied()
    }

    /// What is known of it; now at the latest it has an id.
    pub fn flow_progress(&self, environment: &Environment) -> FlowProgress {
        *self.0.flow_progress.get_or_init(|| environment.begin_flow(self.0.lifetimes, self.0.begun))
    }

    /// The round: the first one, if no id was drawn.
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
