//! A task that is being followed: plain data, too.

use std::fmt;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_schema::tasks::Lifetime;
use serde::{Deserialize, Serialize};

use crate::answer::{display_key, display_server};

use super::saved::{FORMAT, known_format, known_revision, revision_name};

/// A task that is being followed. Save it as it is, and go on with [`Client::follow`](crate::Client::follow), at the
/// server that it names.
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
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTask {
    #[serde(deserialize_with = "known_format")]
    format: u32,
    /// A task belongs to its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// A task belongs to its revision.
    #[serde(serialize_with = "revision_name", deserialize_with = "known_revision")]
    pub(crate) revision: Revision,
    pub(crate) id: String,
    /// Keys that were answered: a key is never used twice in a task's life, and no person is asked twice (TK-7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answered: Vec<String>,
    /// How long the server wants to be left alone between two polls, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) poll_ms: Option<u64>,
    /// How often it was polled: format 1 of what is saved calls it `looks`.
    #[serde(default, rename = "looks")]
    pub(crate) polls: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
}

impl PendingTask {
    /// A task by its id, of which nothing else is known: it is followed at whichever server it is given to.
    pub fn new(revision: Revision, id: impl Into<String>) -> Self {
        Self {
            format: FORMAT,
            server: None,
            revision,
            id: id.into(),
            answered: Vec::new(),
            poll_ms: None,
            polls: 0,
            created_at: None,
            ttl_ms: None,
        }
    }

    /// The server that has it, as its transport identifies it, if that is known.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Says that the task is at this server, whichever it was created at: what it is answered goes there.
    ///
    /// ```
    /// use mrtr_client::PendingTask;
    /// use mrtr_schema::Revision;
    ///
    /// let task = PendingTask::new(Revision::Published, "task-1").trust_other_server("https://new.example.com/mcp");
    /// assert_eq!(task.server(), Some("https://new.example.com/mcp"));
    /// ```
    #[must_use]
    pub fn trust_other_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
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
    pub(crate) fn update(&mut self, created_at: String, ttl: Lifetime, poll_ms: Option<u64>) {
        self.created_at = Some(created_at);
        self.ttl_ms = match ttl {
            Lifetime::Milliseconds(ttl) => Some(ttl),
            Lifetime::Unlimited => None,
        };
        self.poll_ms = poll_ms.or(self.poll_ms);
    }
}

/// Shows whose it is, and no answered key.
impl fmt::Debug for PendingTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingTask")
            .field("server", &self.server.as_deref().map(display_server))
            .field("revision", &self.revision.as_str())
            .field("id", &display_key(&self.id))
            .finish_non_exhaustive()
    }
}
