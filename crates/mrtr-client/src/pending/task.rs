//! A task that is being followed: plain data, too.

use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_schema::tasks::Lifetime;
use serde::{Deserialize, Serialize};

use super::saved::{FORMAT, known_format, known_revision, revision_name};

/// A task that is being followed. Save it as it is, and go on with [`Client::follow`](crate::Client::follow).
///
/// ```
/// use mrtr_client::PendingTask;
/// use mrtr_schema::Revision;
///
/// let task = PendingTask::new(Revision::Published, "task-1");
/// let saved = serde_json::to_string(&task)?;
/// assert_eq!(serde_json::from_str::<PendingTask>(&saved)?.id(), "task-1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTask {
    #[serde(deserialize_with = "known_format")]
    format: u32,
    /// A task belongs to its revision.
    #[serde(serialize_with = "revision_name", deserialize_with = "known_revision")]
    pub(crate) revision: Revision,
    pub(crate) id: String,
    /// Keys that were answered: a key is never used twice in a task's life, and nobody is asked twice (TK-7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answered: Vec<String>,
    /// How long the server wants to be left alone between two looks, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) poll_ms: Option<u64>,
    /// How often it was looked at.
    #[serde(default)]
    pub(crate) looks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
}

impl PendingTask {
    /// A task by its id, of which nothing else is known.
    pub fn new(revision: Revision, id: impl Into<String>) -> Self {
        Self {
            format: FORMAT,
            revision,
            id: id.into(),
            answered: Vec::new(),
            poll_ms: None,
            looks: 0,
            created_at: None,
            ttl_ms: None,
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The revision that it was created in.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// When it was created, in ISO 8601, if the server has said so.
    pub fn created_at(&self) -> Option<&str> {
        self.created_at.as_deref()
    }

    /// For how long after its creation it is kept: until then it can be answered. `None` if there is no limit to it.
    pub fn ttl(&self) -> Option<Duration> {
        self.ttl_ms.map(Duration::from_millis)
    }

    /// Takes over what the server says of it.
    pub(crate) fn note(&mut self, created_at: String, ttl: Lifetime, poll_ms: Option<u64>) {
        self.created_at = Some(created_at);
        self.ttl_ms = match ttl {
            Lifetime::Milliseconds(ttl) => Some(ttl),
            Lifetime::Unlimited => None,
        };
        self.poll_ms = poll_ms.or(self.poll_ms);
    }
}
