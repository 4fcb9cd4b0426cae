//! What a flow's state carries.

use mrtr_state::JsonPayload;
use serde::{Deserialize, Serialize};

use crate::run::Question;
use crate::{Asked, Journal};

/// What a flow's state carries.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FlowState {
    /// What was asked.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending: Vec<Pending>,
    /// What is known.
    #[serde(rename = "j", default, skip_serializing_if = "Journal::is_blank")]
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
    /// How it was worded, as in [`Asked`].
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    wording: Option<u32>,
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    /// Whether the flow goes on without an answer.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) optional: bool,
}

impl Pending {
    pub(super) fn of(question: &Question) -> Self {
        let Asked { wording, pinned } = question.asked.clone();
        Self { key: question.key.clone(), wording, pinned, optional: question.optional }
    }

    pub(super) fn asked(&self) -> Asked {
        Asked { wording: self.wording, pinned: self.pinned.clone() }
    }
}
