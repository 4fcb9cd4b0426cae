//! A call that was put down: plain data, to be saved and picked up by another process.

use indexmap::IndexMap;
use mrtr_schema::{InputRequest, InputRequests, InputResponse, JsonObject, ReadError, RequestState, Revision, Wire};
use serde::{Deserialize, Deserializer, Serialize};

/// A call that was put down: what was asked for, what the server said last, and the answers so far.
///
/// Save it as it is, with any serde format of JSON; it may hold what the person answered, so keep it as you would keep
/// that. Pick it up with [`Client::resume`](crate::Client::resume).
///
/// ```
/// use mrtr_client::PendingCall;
///
/// let saved = r#"{"format": 1, "revision": "2026-07-28", "method": "tools/call",
///     "params": {"name": "pay"}, "state": "sealed", "asked": {"ok": {"method": "roots/list"}}}"#;
/// let pending: PendingCall = serde_json::from_str(saved)?;
/// assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["ok"]);
/// assert!(serde_json::from_str::<PendingCall>(&saved.replace("1,", "2,")).is_err(), "of a later version");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingCall {
    #[serde(deserialize_with = "known_format")]
    format: u32,
    #[serde(serialize_with = "as_text", deserialize_with = "known_revision")]
    pub(crate) revision: Revision,
    pub(crate) method: String,
    pub(crate) params: JsonObject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<RequestState>,
    /// What was asked, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<JsonObject>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub(crate) answers: IndexMap<String, JsonObject>,
    /// Questions of a kind that this client does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) skipped: Vec<String>,
    #[serde(default)]
    pub(crate) rounds: u32,
    #[serde(default)]
    pub(crate) state_only_rounds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<PendingTask>,
}

const FORMAT: u32 = 1;

impl PendingCall {
    pub(crate) fn new(revision: Revision, method: impl Into<String>, params: JsonObject) -> Self {
        Self {
            format: FORMAT,
            revision,
            method: method.into(),
            params,
            state: None,
            asked: None,
            answers: IndexMap::new(),
            skipped: Vec::new(),
            rounds: 0,
            state_only_rounds: 0,
            task: None,
        }
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The tool or prompt by name, or the resource by URI.
    pub fn name(&self) -> Option<String> {
        let member = if self.method == "resources/read" { "uri" } else { "name" };
        self.params.get(member)?.as_text().map(std::borrow::Cow::into_owned)
    }

    /// How many requests were sent, those without an answer to bring aside.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// What the server wants to know.
    pub fn questions(&self) -> Result<InputRequests, ReadError> {
        match &self.asked {
            Some(asked) => InputRequests::read(asked.as_raw(), self.revision.lenient()),
            None => Ok(InputRequests::default()),
        }
    }

    /// What the server wants to know under a key.
    pub fn question(&self, key: &str) -> Option<InputRequest> {
        self.questions().ok()?.get(key).cloned()
    }

    /// The keys of what is not answered yet.
    pub fn unanswered(&self) -> impl Iterator<Item = String> + '_ {
        let keys: Vec<_> = self.questions().map(|asked| asked.keys().map(str::to_owned).collect()).unwrap_or_default();
        keys.into_iter().filter(|key| !self.answers.contains_key(key) && !self.skipped.contains(key))
    }

    /// Answers a question now; the others may be answered later.
    ///
    /// Fails if it was not asked.
    pub fn answer(&mut self, key: &str, answer: &InputResponse) -> Result<(), NotAsked> {
        if self.question(key).is_none() {
            return Err(NotAsked(key.to_owned()));
        }
        self.answers.insert(key.to_owned(), answer.as_object().clone());
        Ok(())
    }

    /// The task that the call has become, if it has.
    pub fn task(&self) -> Option<&PendingTask> {
        self.task.as_ref()
    }
}

/// A task that is being followed: plain data, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTask {
    pub(crate) id: String,
    /// Keys that were answered: a key is never used twice in a task's life, and nobody is asked twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answered: Vec<String>,
    /// How long the server wants to be left alone between two looks, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) poll_ms: Option<u64>,
    /// How often it was looked at.
    #[serde(default)]
    pub(crate) looks: u32,
}

impl PendingTask {
    pub(crate) fn new(id: String, poll_ms: Option<u64>) -> Self {
        Self { id, answered: Vec::new(), poll_ms, looks: 0 }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// An answer to something that was not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` was not asked")]
pub struct NotAsked(pub(crate) String);

fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        FORMAT => Ok(FORMAT),
        other => Err(serde::de::Error::custom(format_args!("a pending call of format {other}, not {FORMAT}"))),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn as_text<S: serde::Serializer>(revision: &Revision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(revision.as_str())
}

fn known_revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Revision, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}
