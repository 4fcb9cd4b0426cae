//! What a client of the matrix prints: one line, which the harness reads.

use serde::Serialize;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Ended(Ended),
    /// The SDK has no way to do it, and why.
    Unsupported {
        unsupported: &'static str,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    /// What was negotiated, if the SDK tells.
    pub(super) version: Option<String>,
    pub(super) asked: Vec<String>,
    #[serde(flatten)]
    pub(super) reply: Reply,
}

/// The last reply of a conversation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    text: Option<String>,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<i32>,
    /// Whether it was reached through a task, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<bool>,
}

impl Reply {
    pub(super) fn result(text: Option<String>, is_error: bool) -> Self {
        Self { text, is_error, error: None, task: None }
    }

    pub(super) fn error(code: i32, message: String) -> Self {
        Self { text: Some(message), is_error: true, error: Some(code), task: None }
    }

    pub(super) fn through_task(self, task: bool) -> Self {
        Self { task: Some(task), ..self }
    }
}
