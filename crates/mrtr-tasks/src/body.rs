//! The content of a task as the store keeps it: its call, its questions and its result.

use mrtr_flow::{Asked, Question};
use mrtr_schema::elicitation::ElicitParams;
use mrtr_schema::{CallToolResult, ClientCapabilities, ErrorObject, InRevision, InputRequest, Json, Revision, Wire};
use mrtr_server::extend::{Host, Standing, ToolCall};
use mrtr_server::{Caller, Identity, ProtocolError};
use mrtr_state::{FlowProgress, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::vault::{Kind, Unreadable, Vault};
use crate::{TaskId, TaskRecord};

/// The call that became a task: its arguments, and the client that made it.
#[derive(Serialize, Deserialize)]
pub(crate) struct CallBody {
    arguments: Json,
    capabilities: ClientCapabilities,
    caller: Option<(String, String)>,
    tenant: Option<String>,
    /// What the caller was granted then. A version that did not keep it left it out.
    #[serde(default)]
    identity: Option<Identity>,
    started: u64,
    ends: u64,
    round: u32,
}

impl CallBody {
    pub(crate) fn of(call: &ToolCall) -> Self {
        let (progress, caller) = (&call.flow_progress, call.identity.caller());
        Self {
            arguments: call.arguments.clone(),
            capabilities: call.capabilities.clone(),
            caller: caller.map(|caller| (caller.issuer().to_owned(), caller.subject().to_owned())),
            tenant: call.identity.tenant().map(ToOwned::to_owned),
            identity: Some(call.identity.clone()),
            started: progress.started().as_millis(),
            ends: progress.ends().as_millis(),
            round: progress.round(),
        }
    }

    /// Turns the body into a call that this server can run.
    pub(crate) fn into_call(self, host: &Host, record: &TaskRecord) -> ToolCall {
        let [started, ends] = [self.started, self.ends].map(Timestamp::from_millis);
        let progress = FlowProgress::restore(record.flow, started, ends, self.round);
        let mut call = host.call(record.tool.clone(), self.arguments, progress);
        call.capabilities = self.capabilities;
        call.standing = if self.identity.is_some() { Standing::Recorded } else { Standing::NotKnown };
        call.identity = self.identity.unwrap_or_else(|| of_last_version(self.caller, self.tenant));
        call.revision = record.revision;
        call
    }
}

/// The identity in a task of a version that kept no more than this.
fn of_last_version(caller: Option<(String, String)>, tenant: Option<String>) -> Identity {
    let known = caller.map(|(issuer, subject)| Identity::of(Caller::new(issuer, subject))).unwrap_or_default();
    match tenant {
        Some(tenant) => known.for_tenant(tenant),
        None => known,
    }
}

/// A question that is open.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct QuestionBody {
    /// The name that the handler gives it.
    pub(crate) name: String,
    /// The request, to the letter: a key stays as long as its request does.
    pub(crate) request: Box<RawValue>,
    asked: Vec<u8>,
    /// True if the request says why the last answer was refused, which later runs do not know.
    #[serde(default)]
    is_noted: bool,
    /// The form's message before `noted` added the reason to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl QuestionBody {
    /// Writes a question in the revision of its task: what one revision says, another may leave out.
    pub(crate) fn of(question: &Question, revision: Revision) -> Result<Self, serde_json::Error> {
        let request = serde_json::value::to_raw_value(&InRevision::new(&question.request, revision))?;
        let (asked, is_noted) = (question.asked.to_bytes(), question.refused.is_some());
        Ok(Self { name: question.key.clone(), request, asked, is_noted, message: None })
    }

    /// Adds the reason why the last answer was refused where a person reads it: in the form's message.
    pub(crate) fn noted(self, reason: &str, revision: Revision) -> Self {
        let Ok(InputRequest::Elicit(mut request)) = self.request(revision) else { return self };
        let ElicitParams::Form(form) = &mut request.params else { return self };
        let message = self.message.clone().unwrap_or_else(|| form.message.clone());
        form.message = format!("{message}\n\n{reason}");
        let request = InputRequest::Elicit(request);
        match serde_json::value::to_raw_value(&InRevision::new(&request, revision)) {
            Ok(request) => Self { request, is_noted: true, message: Some(message), ..self },
            Err(_) => self,
        }
    }

    /// Returns true if another run asks the same question: to the letter, but for a note on the last answer.
    pub(crate) fn is_asked_by(&self, other: &Self) -> bool {
        self.request.get() == other.request.get() || self.is_noted && self.asked == other.asked
    }

    pub(crate) fn asked(&self) -> Asked {
        Asked::from_bytes(&self.asked).unwrap_or_default()
    }

    pub(crate) fn request(&self, revision: Revision) -> Result<InputRequest, Unreadable> {
        let request = InputRequest::read(&self.request, revision.lenient());
        request.map_err(|error| Unreadable::Form(error.to_string()))
    }
}

/// The result of a task, or its error.
#[derive(Serialize, Deserialize)]
pub(crate) enum ResultBody {
    /// The result that the request would have returned.
    #[serde(rename = "result")]
    Result(Json),
    /// The error that it would have ended in.
    #[serde(rename = "error")]
    Error(ErrorObject),
}

impl ResultBody {
    /// Writes a result in the revision of the task.
    pub(crate) fn of(result: Result<&CallToolResult, ProtocolError>, revision: Revision) -> Self {
        let written = result.and_then(|result| {
            let text = result.to_json(revision).ok().and_then(|text| Json::parse(&text).ok());
            text.ok_or_else(|| {
                tracing::error!("the result of a task cannot be written in its revision");
                internal_error("Internal error")
            })
        });
        match written {
            Ok(result) => Self::Result(result),
            Err(error) => Self::Error(error.object().clone()),
        }
    }
}

/// An error that tells the caller that the fault is the server's.
pub(crate) fn internal_error(text: &str) -> ProtocolError {
    ProtocolError::new(mrtr_schema::ErrorCode::INTERNAL_ERROR, text)
}

impl Vault {
    pub(crate) fn seal_body<T: Serialize>(
        &self,
        kind: Kind,
        id: TaskId,
        body: &T,
    ) -> Result<Vec<u8>, serde_json::Error> {
        Ok(self.seal(kind, id, &serde_json::to_vec(body)?))
    }

    pub(crate) fn open_body<T: DeserializeOwned>(&self, kind: Kind, id: TaskId, kept: &[u8]) -> Result<T, Unreadable> {
        let bytes = self.open(kind, id, kept)?;
        serde_json::from_slice(&bytes).map_err(|error| Unreadable::Form(error.to_string()))
    }
}
