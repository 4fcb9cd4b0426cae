//! The plain data of saved calls: a call in its saved form, a task that a client follows, and the checks when they are
//! read.

use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use mrtr_schema::tasks::Lifetime;
use mrtr_schema::{Era, InputResponses, JsonObject, RawMembers, ReadError, RequestState, Revision};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{PendingCall, Questions, RETRY_MEMBERS};
use crate::answer::{display_key, display_server};

/// A pending call as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    #[serde(deserialize_with = "known_format")]
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(serialize_with = "revision_name", deserialize_with = "known_revision")]
    revision: Revision,
    method: String,
    params: JsonObject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<RequestState>,
    /// The questions, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<JsonObject>,
    #[serde(default, skip_serializing_if = "InputResponses::is_empty")]
    answers: InputResponses,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
    #[serde(default)]
    rounds: u32,
    #[serde(default)]
    state_only_rounds: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    same_url_rounds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<PendingTask>,
}

const FORMAT: u32 = 1;

impl From<PendingCall> for Saved {
    fn from(call: PendingCall) -> Self {
        Self {
            format: FORMAT,
            server: call.server,
            revision: call.revision,
            method: call.method,
            params: call.params,
            state: call.state,
            asked: call.asked.map(|asked| asked.raw),
            answers: call.answers.into_iter().collect(),
            skipped: call.skipped,
            rounds: call.rounds,
            state_only_rounds: call.state_only_rounds,
            same_url_rounds: call.same_url_rounds,
            task: call.task,
        }
    }
}

impl TryFrom<Saved> for PendingCall {
    type Error = ReadError;

    fn try_from(saved: Saved) -> Result<Self, ReadError> {
        let has_begun = saved.asked.is_some() || saved.state.is_some() || saved.task.is_some() || saved.rounds > 0;
        if saved.revision.era() == Era::Legacy && has_begun {
            let text = format!("a session of {} held the call, and it cannot be resumed", saved.revision);
            return Err(ReadError::refused(text).in_member("revision"));
        }
        let asked = saved.asked.map(|raw| Questions::read(raw, saved.revision)).transpose();
        let asked = asked.map_err(|error| error.in_member("asked"))?;
        if let Some(task) = &saved.task {
            check_task(task, saved.revision, saved.server.as_deref()).map_err(|error| error.in_member("task"))?;
        }
        check_params(&saved.params).map_err(|error| error.in_member("params"))?;
        let mut call = Self {
            server: saved.server,
            revision: saved.revision,
            method: saved.method,
            params: saved.params,
            state: saved.state,
            asked,
            answers: IndexMap::new(),
            skipped: Vec::new(),
            rounds: saved.rounds,
            state_only_rounds: saved.state_only_rounds,
            same_url_rounds: saved.same_url_rounds,
            task: saved.task,
        };
        call.take_answers(saved.answers).map_err(|error| error.in_member("answers"))?;
        for key in saved.skipped {
            call.skip(&key).map_err(|error| ReadError::refused(error.to_string()).in_member("skipped"))?;
        }
        Ok(call)
    }
}

impl PendingCall {
    /// Takes answers as if they were just given: each must be to a question, and fit it.
    fn take_answers(&mut self, answers: InputResponses) -> Result<(), ReadError> {
        if self.has_begun() {
            for (key, answer) in answers {
                // The reason would quote what a person answered.
                let fits = self.answer(&key, &answer);
                fits.map_err(|_| ReadError::refused("the saved answer does not fit its question").in_member(key))?;
            }
        } else {
            // The caller gave these answers along with a call that was never sent.
            self.answers.extend(answers);
        }
        Ok(())
    }
}

/// Checks that the parameters hold nothing that a retry adds, and that their metadata is an object.
fn check_params(params: &JsonObject) -> Result<(), ReadError> {
    let members = RawMembers::of(params.as_raw())?;
    for member in RETRY_MEMBERS {
        if members.get(member).is_some() {
            return Err(ReadError::refused("saved apart from the parameters").in_member(member));
        }
    }
    members.object("_meta").map(drop)
}

fn check_task(task: &PendingTask, revision: Revision, server: Option<&str>) -> Result<(), ReadError> {
    if task.revision != revision {
        return Err(ReadError::refused("a task of another revision"));
    }
    if task.server.is_some() && task.server.as_deref() != server {
        return Err(ReadError::refused("a task of another server").in_member("server"));
    }
    Ok(())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        FORMAT => Ok(FORMAT),
        other => {
            Err(serde::de::Error::custom(format_args!("saved in format {other} (this version reads format {FORMAT})")))
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn revision_name<S: Serializer>(revision: &Revision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(revision.as_str())
}

fn known_revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Revision, D::Error> {
    let name = String::deserialize(deserializer)?;
    // serde_json adds the place to the text.
    name.parse().map_err(|_| serde::de::Error::custom(format_args!("unknown revision `{}`", display_key(&name))))
}

/// A task that a client follows. Save it as it is, and resume it with [`Client::follow`](crate::Client::follow), at the
/// server that it names.
///
/// ```
/// use mrtr_client::PendingTask;
/// use mrtr_schema::Revision;
///
/// let task = PendingTask::new(Revision::V2026_07_28, "task-1");
/// let saved = serde_json::to_string(&task)?;
/// assert_eq!(serde_json::from_str::<PendingTask>(&saved)?.id(), "task-1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTask {
    #[serde(deserialize_with = "known_format")]
    format: u32,
    /// The server that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// The revision that the task belongs to.
    #[serde(serialize_with = "revision_name", deserialize_with = "known_revision")]
    pub(crate) revision: Revision,
    pub(crate) id: String,
    /// The tool whose call has become the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Keys that were answered: a key is never used twice in a task's life, and no person is asked twice (TK-7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answered: Vec<String>,
    /// The milliseconds for which the server wants to be left alone between two polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) poll_ms: Option<u64>,
    /// The number of polls so far: format 1 of saved calls names it `looks`.
    #[serde(default, rename = "looks")]
    pub(crate) polls: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
}

impl PendingTask {
    /// Creates a task of which only the id is known: any client that gets it follows it at its own server.
    pub fn new(revision: Revision, id: impl Into<String>) -> Self {
        Self {
            format: FORMAT,
            server: None,
            revision,
            id: id.into(),
            name: None,
            answered: Vec::new(),
            poll_ms: None,
            polls: 0,
            created_at: None,
            ttl_ms: None,
        }
    }

    /// The server that has the task, as its transport identifies it, if that is known.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Says that the task is at this server, wherever it was created: the answers for it go there.
    ///
    /// ```
    /// use mrtr_client::PendingTask;
    /// use mrtr_schema::Revision;
    ///
    /// let task = PendingTask::new(Revision::V2026_07_28, "task-1").trust_other_server("https://new.example.com/mcp");
    /// assert_eq!(task.server(), Some("https://new.example.com/mcp"));
    /// ```
    #[must_use]
    pub fn trust_other_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// The id of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the tool whose call has become the task. `None` if only the id is known, or an older version saved the
    /// task.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The revision that the task was created in.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the time at which the task was created, in ISO 8601, if the server has said it.
    pub fn created_at(&self) -> Option<&str> {
        self.created_at.as_deref()
    }

    /// Returns the time after its creation for which the server keeps the task: until then it can be answered. `None`
    /// if there is no limit.
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
            .field("name", &self.name.as_deref().map(display_key))
            .finish_non_exhaustive()
    }
}
