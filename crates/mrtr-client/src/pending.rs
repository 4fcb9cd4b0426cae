//! A pending call: plain data, to be saved, and resumed by another process.

mod saved;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::input::InputKind;
use mrtr_schema::{
    Era, Feature, InputRequest, InputRequests, InputResponse, InputResponses, JsonObject, NamespacedInput, Printable,
    RawMembers, ReadError, RequestState, Revision, Wire,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use saved::PendingTask;

use crate::answer::{self, AnswerError, display_key, display_server};
use crate::raw::{RawObject, subject, text_members};
use saved::Saved;

/// A call that has stopped before its end: its request, the last reply of the server, and the answers so far.
///
/// Save it as it is, with serde and JSON; it holds what the person answered, so keep it as safe as those answers.
/// Resume it with [`Client::resume`](crate::Client::resume). In a session of the legacy era a call can be saved before
/// it is sent; once the server has asked, the server holds the call, and there is nothing to resume. The `Debug` form
/// of a call shows keys, and no values.
///
/// ```
/// use mrtr_client::PendingCall;
/// use serde_json::json;
///
/// let saved = r#"{"format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {"name": "pay"},
///     "state": "sealed", "asked": {"amount": {"method": "elicitation/create", "params": {"message": "How much?",
///         "requestedSchema": {"type": "object", "properties": {"euros": {"type": "integer"}}}}}}}"#;
/// let mut pending: PendingCall = serde_json::from_str(saved)?;
/// assert_eq!(pending.name().as_deref(), Some("pay"));
/// assert_eq!(pending.message("amount").as_deref(), Some("How much?"));
/// assert!(pending.accept("amount", &json!({ "euros": "many" })).is_err(), "it is checked against the form");
/// pending.accept("amount", &json!({ "euros": 7 }))?;
/// assert_eq!(pending.unanswered().count(), 0);
/// let saved = serde_json::to_string(&pending)?;
/// assert!(serde_json::from_str::<PendingCall>(&saved).is_ok());
/// assert!(serde_json::from_str::<PendingCall>(&saved.replace(r#""format":1"#, r#""format":2"#)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct PendingCall {
    pub(crate) server: Option<String>,
    pub(crate) revision: Revision,
    pub(crate) method: String,
    pub(crate) params: JsonObject,
    pub(crate) state: Option<RequestState>,
    pub(crate) asked: Option<Questions>,
    pub(crate) answers: IndexMap<String, InputResponse>,
    /// Questions of a kind that this client does not know.
    pub(crate) skipped: Vec<String>,
    pub(crate) rounds: u32,
    pub(crate) state_only_rounds: u32,
    /// The number of rounds in a row that have asked for a URL again.
    pub(crate) same_url_rounds: u32,
    pub(crate) task: Option<PendingTask>,
}

/// The questions of a round: as they came, since another process may know kinds that this one does not, and as they
/// were read.
#[derive(Clone)]
pub(crate) struct Questions {
    pub(crate) raw: JsonObject,
    pub(crate) requests: InputRequests,
}

impl Questions {
    pub(crate) fn read(raw: JsonObject, revision: Revision) -> Result<Self, ReadError> {
        let requests = InputRequests::read(raw.as_raw(), revision.lenient())?;
        Ok(Self { raw, requests })
    }
}

impl PendingCall {
    /// Creates a call that has not been sent yet.
    ///
    /// `inputResponses` and `requestState` among the parameters are sent once, and belong to no later retry (CL-4).
    pub fn new(revision: Revision, method: impl Into<String>, params: JsonObject) -> Self {
        let mut call = Self {
            server: None,
            revision,
            method: method.into(),
            params,
            state: None,
            asked: None,
            answers: IndexMap::new(),
            skipped: Vec::new(),
            rounds: 0,
            state_only_rounds: 0,
            same_url_rounds: 0,
            task: None,
        };
        call.take_out_retry_members();
        call
    }

    fn take_out_retry_members(&mut self) {
        let has = |members: &RawMembers<'_>| RETRY_MEMBERS.iter().any(|member| members.get(member).is_some());
        if !RawMembers::of(self.params.as_raw()).is_ok_and(|members| has(&members)) {
            return;
        }
        let mut members = RawObject::of(self.params.as_raw());
        let [state, answers] = RETRY_MEMBERS.map(|member| members.remove(member));
        let dialect = self.revision.lenient();
        self.state = state.and_then(|state| RequestState::read(&state, dialect).ok());
        let answers = answers.and_then(|answers| InputResponses::read(&answers, dialect).ok());
        self.answers = answers.into_iter().flatten().collect();
        self.params = JsonObject::from_raw(&members.finish()).expect("an object without two members is an object");
    }

    /// Asks for the call to run as a task that the server keeps this long, if the server likes. The client decides this
    /// in the older revisions alone; in the others, the setting changes nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_client::PendingCall;
    /// use mrtr_schema::{JsonObject, Revision};
    ///
    /// let params = JsonObject::parse(r#"{"name": "report"}"#)?;
    /// let call = PendingCall::new(Revision::Sep2322, "tools/call", params).as_task(Duration::from_secs(60));
    /// assert_eq!(call.params().as_str(), r#"{"name":"report","task":{"ttl":60000}}"#);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    #[must_use]
    pub fn as_task(mut self, ttl: Duration) -> Self {
        if self.revision.has(Feature::CoreTasks) {
            let mut members = RawObject::of(self.params.as_raw());
            let ttl = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).min(MAX_TTL);
            members.set("task", &json!({ "ttl": ttl }));
            self.params = JsonObject::from_raw(&members.finish()).expect("an object with a member more is an object");
        }
        self
    }

    /// Returns the server that the call belongs to, as its transport identifies it.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Says that the call may continue at this server, wherever it began: its state and its answers go there.
    ///
    /// A client refuses a call that names another server than its own. This is for a server that has moved.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{CallErrorKind, Client, PendingCall};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let saved = r#"{"format": 1, "server": "https://old.example.com/mcp", "revision": "2026-07-28",
    ///     "method": "tools/call", "params": {"name": "report"}, "state": "sealed", "rounds": 1}"#;
    /// let pending: PendingCall = serde_json::from_str(saved)?;
    /// let script = Script::new().result(json!({ "resultType": "complete", "content": [] }));
    /// let client = Client::builder(script).build();
    /// let error = client.resume(pending).await.unwrap_err();
    /// assert!(matches!(error.kind, CallErrorKind::OtherServer { .. }));
    /// let pending = error.into_pending().unwrap().trust_other_server(client.server());
    /// client.resume(pending).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn trust_other_server(mut self, server: impl Into<String>) -> Self {
        let server = server.into();
        self.task = self.task.map(|task| task.trust_other_server(server.clone()));
        self.server = Some(server);
        self
    }

    /// True if the call was sent, as far as is known: then it belongs to a server.
    pub(crate) fn has_begun(&self) -> bool {
        self.rounds > 0 || self.asked.is_some() || self.task.is_some()
    }

    /// True if the call belongs to the modern era, whatever the server speaks by now: a server of that era asked, or
    /// keeps a task for it.
    pub(crate) fn is_modern_for_good(&self) -> bool {
        self.revision.era() == Era::Modern && (self.has_begun() || self.state.is_some())
    }

    /// True if the server asked in a session: it held the call, which cannot be resumed.
    pub(crate) fn was_held(&self) -> bool {
        self.revision.era() == Era::Legacy && self.has_begun()
    }

    /// The revision that the call is made in: its state and its task belong to it.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The parameters, without answers and state.
    pub fn params(&self) -> &JsonObject {
        &self.params
    }

    /// The tool or prompt by name, the resource by URI, or the task by id if the tool that it runs is not known.
    pub fn name(&self) -> Option<String> {
        if let Some(name) = self.task.as_ref().and_then(PendingTask::name).filter(|_| self.method == "tasks/get") {
            return Some(name.to_owned());
        }
        let params = RawMembers::of(self.params.as_raw()).ok()?;
        subject(&self.method, &params).map(Cow::into_owned)
    }

    /// The number of requests that were sent, without the retries that brought no answer.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The questions of the server, by key.
    pub fn questions(&self) -> impl Iterator<Item = (&str, &InputRequest)> {
        self.asked.iter().flat_map(|asked| asked.requests.iter())
    }

    /// The question of the server under a key.
    pub fn question(&self, key: &str) -> Option<&InputRequest> {
        self.asked.as_ref()?.requests.get(key)
    }

    /// The message for the person who is asked under a key, as it may be shown: see [`Printable::text`].
    pub fn message(&self, key: &str) -> Option<Cow<'_, str>> {
        self.untrusted_message(key).map(|message| Printable::text(message).into_text())
    }

    /// The message for the person who is asked under a key, whole and as it came. Do not show it as it is.
    pub fn untrusted_message(&self, key: &str) -> Option<&str> {
        match self.question(key)?.kind() {
            InputKind::Form(params) => Some(&params.message),
            InputKind::Url(params) => Some(&params.message),
            InputKind::Sample(_) | InputKind::Roots | InputKind::Namespaced(_) | InputKind::Unknown(_) => None,
        }
    }

    /// Reads the question under a key, if it is this input of an application's own: it may say who is to decide, for
    /// example, and until when.
    ///
    /// ```
    /// use mrtr_client::PendingCall;
    /// # use mrtr_schema::{Method, NamespacedInput};
    /// # #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] struct Pending { approver: String }
    /// # #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] struct Decision { approved: bool }
    /// # struct Approval;
    /// # impl NamespacedInput for Approval {
    /// #     const METHOD: Method = Method::from_static("com.example/approval");
    /// #     type Params = Pending;
    /// #     type Response = Decision;
    /// # }
    ///
    /// let saved = r#"{"format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {"name": "deploy"},
    ///     "asked": {"sign_off": {"method": "com.example/approval", "params": {"approver": "Ada"}}}}"#;
    /// let pending: PendingCall = serde_json::from_str(saved)?;
    /// assert_eq!(pending.input::<Approval>("sign_off").unwrap()?.approver, "Ada");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn input<I: NamespacedInput>(&self, key: &str) -> Option<Result<I::Params, serde_json::Error>> {
        let InputRequest::Namespaced(request) = self.question(key)? else { return None };
        (request.method == I::METHOD).then(|| request.params.clone().unwrap_or_default().to())
    }

    /// The keys of the questions that are not answered yet.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        let open = |key: &str| !self.answers.contains_key(key) && !self.skipped.iter().any(|skipped| skipped == key);
        self.questions().map(|(key, _)| key).filter(move |key| open(key))
    }

    /// Answers a question now; the others may be answered later. The call does not take an answer that does not fit.
    ///
    /// The answer is an [`ElicitResult`], a [`CreateMessageResult`](mrtr_schema::sampling::CreateMessageResult), a
    /// [`ListRootsResult`](mrtr_schema::roots::ListRootsResult), or, for an application's own input, a [`JsonObject`].
    pub fn answer<A: Wire>(&mut self, key: &str, answer: &A) -> Result<(), AnswerError> {
        let question = self.question(key).ok_or_else(|| AnswerError::NotAsked(key.to_owned()))?;
        let answer = InputResponse::of(answer, self.revision)
            .map_err(|error| AnswerError::WrongKind { key: key.to_owned(), source: error.into() })?;
        let answer = answer::validated(key, question, &answer, self.revision)?;
        self.skipped.retain(|skipped| skipped != key);
        self.answers.insert(key.to_owned(), answer);
        Ok(())
    }

    /// Answers a form, as a person filled it in. Fields that are left out get their defaults.
    pub fn accept<T: Serialize + ?Sized>(&mut self, key: &str, content: &T) -> Result<(), AnswerError> {
        let wrong = |source| AnswerError::WrongKind { key: key.to_owned(), source };
        let content = JsonObject::of(content).map_err(wrong)?;
        self.answer(key, &ElicitResult::accept(content))
    }

    /// Leaves out a question of a kind that the protocol itself does not define: a client need not know it (NS-3).
    pub fn skip(&mut self, key: &str) -> Result<(), AnswerError> {
        match self.question(key).map(InputRequest::kind) {
            None => Err(AnswerError::NotAsked(key.to_owned())),
            Some(InputKind::Namespaced(_) | InputKind::Unknown(_)) => {
                if self.unanswered().any(|open| open == key) {
                    self.skipped.push(key.to_owned());
                }
                Ok(())
            }
            Some(InputKind::Form(_) | InputKind::Url(_) | InputKind::Sample(_) | InputKind::Roots) => {
                Err(AnswerError::NotOptional(key.to_owned()))
            }
        }
    }

    /// The task that the call has become, if it has.
    pub fn task(&self) -> Option<&PendingTask> {
        self.task.as_ref()
    }

    /// True if only the id of a task is known, and not the tool that it runs.
    pub(crate) fn is_unnamed_task(&self) -> bool {
        self.method == "tasks/get" && self.task.as_ref().is_none_or(|task| task.name.is_none())
    }

    /// True if every question has an answer or is left out.
    pub(crate) fn is_fully_answered(&self) -> bool {
        self.unanswered().next().is_none()
    }
}

const RETRY_MEMBERS: [&str; 2] = ["requestState", "inputResponses"];

/// The most keys that are shown to a log.
const MAX_LISTED: usize = 10;

/// The largest whole number that every peer can hold.
const MAX_TTL: u64 = (1 << 53) - 1;

/// A call that follows the task, at the server that the task names.
impl From<PendingTask> for PendingCall {
    fn from(task: PendingTask) -> Self {
        let mut call = Self::new(task.revision(), "tasks/get", text_members([("taskId", task.id())]));
        call.server = task.server().map(str::to_owned);
        call.task = Some(task);
        call
    }
}

/// Shows keys, and never an answer, an argument or a state.
impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |keys: &mut dyn Iterator<Item = &str>| {
            keys.take(MAX_LISTED).map(|key| display_key(key).into_owned()).collect::<Vec<_>>()
        };
        f.debug_struct("PendingCall")
            .field("server", &self.server.as_deref().map(display_server))
            .field("revision", &self.revision.as_str())
            .field("method", &display_key(&self.method))
            .field("name", &self.name().as_deref().map(display_key))
            .field("rounds", &self.rounds)
            .field("answered", &listed(&mut self.answers.keys().map(String::as_str)))
            .field("unanswered", &listed(&mut self.unanswered()))
            .field("task", &self.task.as_ref().map(|task| display_key(task.id())))
            .finish_non_exhaustive()
    }
}
