//! The kinds of reply, complete, interim or a task; and the version to try after an error about the version.

use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::result::ResultType;
use mrtr_schema::tasks::{self, extension};
use mrtr_schema::{
    Era, ErrorCode, ErrorObject, Feature, InputRequiredResult, Json, JsonObject, RawMembers, ReadError, RequestState,
    Revision, Wire, WireObject,
};
use serde_json::value::RawValue;

use super::{Call, CallOutcome, Phase, Sending};
use crate::pending::Questions;
use crate::{PendingCall, PendingTask};

pub(super) enum ReplyKind {
    Complete(Json),
    Interim { asked: Option<Questions>, state: Option<RequestState> },
    Task(PendingTask),
}

impl ReplyKind {
    pub(super) fn of(result: Json, call: &PendingCall) -> Result<Self, ReadError> {
        let kind = Self::read(result, call)?;
        // In the draft, servers may ask on any request; the other revisions say on which (SV-1).
        let may_ask = call.revision.may_ask_on(&call.method) || call.revision.has(Feature::RetryOnAnyRequest);
        if may_ask || matches!(kind, Self::Complete(_)) {
            return Ok(kind);
        }
        Err(ReadError::refused("this method has no interim results").in_member("resultType"))
    }

    fn read(result: Json, call: &PendingCall) -> Result<Self, ReadError> {
        let raw = result.as_raw();
        let (revision, dialect) = (call.revision, call.revision.lenient());
        let members = RawMembers::of(raw)?;
        match ResultType::of(&members, dialect)? {
            // In the older revisions, a member of the result tells a task (TK-1).
            ResultType::Complete if revision.has(Feature::CoreTasks) && members.get("task").is_some() => {
                let state = tasks::CreateTaskResult::read(raw, dialect)?.task.state;
                let mut task = PendingTask::new(revision, state.task_id);
                task.update(state.created_at, state.ttl, state.poll_interval);
                Ok(Self::Task(task))
            }
            ResultType::Complete => Ok(Self::Complete(result)),
            ResultType::InputRequired => {
                let interim = InputRequiredResult::read_members(members, dialect)?;
                Ok(Self::interim(result, interim))
            }
            ResultType::Extension(word) if word.as_str() == "task" => {
                let facts = extension::CreateTaskResult::read(raw, dialect)?.facts;
                let mut task = PendingTask::new(revision, facts.task_id);
                task.update(facts.created_at, facts.ttl_ms, facts.poll_interval_ms);
                Ok(Self::Task(task))
            }
            _ => Err(ReadError::refused("a result of a kind that this client did not declare").in_member("resultType")),
        }
    }

    fn interim(result: Json, interim: InputRequiredResult) -> Self {
        let (requests, state) = interim.into_parts();
        if requests.is_empty() {
            return Self::Interim { asked: None, state };
        }
        let raw = result.into_object().and_then(|result| result.get(REQUESTS)?.into_object());
        Self::Interim { asked: raw.map(|raw| Questions { raw, requests }), state }
    }
}

/// Reads the questions of a result, and keeps them as they came.
pub(super) fn asked(result: &RawValue, call: &PendingCall) -> Result<Option<Questions>, ReadError> {
    let raw = RawMembers::of(result)?.get(REQUESTS).map(JsonObject::from_raw).transpose()?;
    raw.map(|raw| Questions::read(raw, call.revision)).transpose()
}

impl Call {
    /// Moves the call to another revision, perhaps of another era. The call has not begun, or begins anew.
    pub(crate) fn move_to(&mut self, revision: Revision) {
        self.pending.revision = revision;
    }

    /// Notes that the server has asked in this many rounds of a session. The server holds the call, so there is nothing
    /// else to keep.
    pub(crate) fn hold(&mut self, rounds: u32) {
        self.pending.rounds = self.pending.rounds.max(rounds);
    }

    /// Ends the call with this error of the server's: it is not sent again, whatever reason the error may give.
    pub(crate) fn fail(&mut self, error: ErrorObject) {
        if let Phase::Sending(_) = self.phase {
            self.phase = Phase::Over(CallOutcome::Failed(error));
        }
    }

    pub(super) fn after_error(&mut self, sending: Sending, error: ErrorObject) -> Phase {
        self.was_task_refused = sending != Sending::Call && error.code == ErrorCode::INVALID_PARAMS;
        match self.other_version(sending, &error) {
            Some(revision) => {
                self.refused.push(self.pending.revision);
                self.pending.revision = revision;
                Phase::Sending(Sending::Call)
            }
            None => Phase::Over(CallOutcome::Failed(error)),
        }
    }

    /// Returns the revision in which the server has replied, if it is not the first one that the call was sent in.
    ///
    /// ```
    /// use mrtr_client::{Action, Call, Limits};
    /// use mrtr_schema::{ErrorObject, Json, JsonObject, Revision};
    /// use mrtr_schema::error_object::UnsupportedVersionData;
    ///
    /// let mut call = Call::new(Revision::V2026_07_28, "tools/list", JsonObject::default(), Limits::default(), 1);
    /// let data = UnsupportedVersionData::new("2026-07-28", ["sep-2322".to_owned(), "2020-01-01".to_owned()]);
    /// call.replied(Err(ErrorObject::with_data("unsupported", &data)), None);
    /// assert!(matches!(call.action(), Action::Send(_)), "it is sent again");
    /// call.replied(Ok(Json::parse(r#"{"tools": []}"#)?.as_raw()), None);
    /// assert_eq!(call.agreed_revision(), Some(Revision::Sep2322));
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn agreed_revision(&self) -> Option<Revision> {
        self.agreed
    }

    /// The latest version that both know and that was not refused before, if the error is about the version.
    ///
    /// Only a call that has begun can have a state or a task, which belong to the revision they were made in.
    fn other_version(&self, sending: Sending, error: &ErrorObject) -> Option<Revision> {
        if sending != Sending::Call || self.pending.rounds > 0 || self.pending.state.is_some() {
            return None;
        }
        // In a session, the version is that of the session.
        if self.pending.revision.era() == Era::Legacy {
            return None;
        }
        let data: UnsupportedVersionData = error.data_as()?.ok()?;
        // A version of the legacy era needs a session, which a call by itself does not begin.
        let theirs = data.supported.iter().filter_map(|version| version.parse().ok());
        let theirs = theirs.filter(|version: &Revision| version.era() == Era::Modern);
        let untried = theirs.filter(|version| !self.refused.contains(version));
        // If the server names the very version that it refused, the client tries that once more, after all others.
        untried.max_by_key(|version| (*version != self.pending.revision, *version))
    }
}

const REQUESTS: &str = "inputRequests";
