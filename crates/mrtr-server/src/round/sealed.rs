//! What a flow's state carries.

use mrtr_state::JsonPayload;
use serde::{Deserialize, Serialize};

use crate::Journal;
use crate::run::Question;

/// What a flow's state carries.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FlowState {
    /// What was asked.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending: Vec<Pending>,
    /// What is known.
    #[serde(rename = "j", default, skip_serializing_if = "Journal::is_empty")]
    pub(super) journal: Journal,
}

impl JsonPayload for FlowState {
    const KIND: &'static str = "mrtr/flow";
}

/// A question that a reply asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    #[serde(rename = "k")]
    pub(super) key: String,
    /// The digest of its wording, if the answer counts for that alone.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub(super) pinned: Option<String>,
    /// Whether the flow goes on without an answer.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) optional: bool,
}

impl Pending {
    pub(super) fn of(question: &Question) -> Self {
        Self { key: question.key.clone(), pinned: question.pinned.clone(), optional: question.optional }
    }
}
