//! What a flow's state carries.

use mrtr_state::JsonPayload;
use serde::{Deserialize, Serialize};

use crate::engine::Question;
use crate::engine::journal::{Asked, Journal, Wording};

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

/// A question that a reply asks: its key, its wording, and what else there is to it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pending(String, Wording, #[serde(default, skip_serializing_if = "Option::is_none")] Option<Terms>);

/// What most questions do not have.
#[derive(Debug, Serialize, Deserialize)]
struct Terms {
    /// The digest of its wording, if the answer counts for that alone.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    /// Whether the flow goes on without an answer.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
}

impl Pending {
    pub(super) fn of(question: &Question) -> Self {
        let Asked { wording, pinned } = question.asked.clone();
        let terms = Terms { pinned, optional: question.optional };
        let terms = (terms.optional || terms.pinned.is_some()).then_some(terms);
        Self(question.key.clone(), wording, terms)
    }

    pub(super) fn key(&self) -> &str {
        &self.0
    }

    pub(super) fn asked(&self) -> Asked {
        Asked { wording: self.1, pinned: self.2.as_ref().and_then(|terms| terms.pinned.clone()) }
    }

    /// Whether the flow goes on without an answer.
    pub(super) fn is_optional(&self) -> bool {
        self.2.as_ref().is_some_and(|terms| terms.optional)
    }
}
