//! The saved form of what was put down, and what is checked when it is read.

use indexmap::IndexMap;
use mrtr_schema::{InputResponse, JsonObject, ReadError, RequestState, Revision};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Asked, PendingCall, PendingTask};

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
    /// What was asked, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<JsonObject>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    answers: IndexMap<String, InputResponse>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
    #[serde(default)]
    rounds: u32,
    #[serde(default)]
    state_only_rounds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<PendingTask>,
}

pub(super) const FORMAT: u32 = 1;

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
            answers: call.answers,
            skipped: call.skipped,
            rounds: call.rounds,
            state_only_rounds: call.state_only_rounds,
            task: call.task,
        }
    }
}

impl TryFrom<Saved> for PendingCall {
    type Error = ReadError;

    fn try_from(saved: Saved) -> Result<Self, ReadError> {
        let asked = saved.asked.map(|raw| Asked::read(raw, saved.revision)).transpose();
        let asked = asked.map_err(|error| error.in_member("asked"))?;
        if saved.task.as_ref().is_some_and(|task| task.revision != saved.revision) {
            return Err(ReadError::refused("a task of another revision").in_member("task"));
        }
        Ok(Self {
            server: saved.server,
            revision: saved.revision,
            method: saved.method,
            params: saved.params,
            state: saved.state,
            asked,
            answers: saved.answers,
            skipped: saved.skipped,
            rounds: saved.rounds,
            state_only_rounds: saved.state_only_rounds,
            task: saved.task,
        })
    }
}

pub(super) fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        FORMAT => Ok(FORMAT),
        other => Err(serde::de::Error::custom(format_args!("saved in format {other}; known here is {FORMAT}"))),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn revision_name<S: Serializer>(revision: &Revision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(revision.as_str())
}

pub(super) fn known_revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Revision, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}
