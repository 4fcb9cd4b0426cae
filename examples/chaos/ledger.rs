//! The ledger: what clients were told, which must hold whatever was killed meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::tools::Receipts;

/// What the client of one order was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) order: u64,
    /// The task, once its creation was acknowledged.
    pub(crate) task: Option<String>,
    /// Calls that no reply came to: each may have made a task that the client does not know of.
    pub(crate) lost_calls: u64,
    /// Answers that were acknowledged, by question.
    pub(crate) answers: BTreeMap<String, String>,
    /// Answers that were sent again, otherwise, after they had been acknowledged.
    pub(crate) contradictions: u64,
    /// Requests that no reply came to.
    pub(crate) lost_replies: u64,
    /// How it ended, or why it did not.
    pub(crate) outcome: Option<Outcome>,
    /// How long it took, with the time that its client thought.
    pub(crate) took: Duration,
}

#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Completed(Receipts),
    /// Its client was told something that it must not be told.
    Wrong(String),
}
