//! One round of a call: open the state, run the handler over its journal, and seal what it knows now.

mod guarded;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indexmap::IndexMap;
use mrtr_schema::{
    CallToolResult, ClientCapabilities, ContentBlock, ErrorObject, InputRequests, InputRequiredResult, Json,
    RawMembers, RequestState, Revision,
};
use mrtr_state::{Binding, FlowId, JsonPayload, Lineage, Opened, SealError, Sealer, Stamp, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tracing::{Instrument, Span, field, info_span};

use crate::dispatch::{Request, internal_error, invalid_params, write};
use crate::extension::{Host, ToolCall};
use crate::failure::{Kind, with_causes};
use crate::run::{JournalSink, Outcome, Question, Ran};
use crate::tool::PreparedTool;
use crate::{Failure, Journal, Output, ProtocolError, RunContext, Server, StatePolicy, gate};

/// Answers `tools/call`.
pub(crate) async fn call_tool(
    server: &Server,
    request: &Request<'_>,
    capabilities: ClientCapabilities,
) -> Result<String, ErrorObject> {
    let params = &request.params;
    let name = params.text("name").map_err(invalid_params)?;
    let name = name.ok_or_else(|| invalid_params(mrtr_schema::ReadError::missing("name")))?;
    let tool = server.0.tools.get(&*name);
    let tool = tool.ok_or_else(|| ProtocolError::invalid_params(format!("Unknown tool: {name}")).into_object())?;
    let call = Call::read(server, tool, request, capabilities)?;
    if call.state.is_some() && tool.settings.guard.is_some() {
        return Box::pin(guarded::redeem(server, request)).await;
    }
    call.round(None).await.map(|answer| answer.result)
}

/// A call of a tool, taken apart.
struct Call<'a> {
    server: &'a Server,
    tool: &'a PreparedTool,
    request: &'a Request<'a>,
    capabilities: ClientCapabilities,
    arguments: Json,
    answers: Option<RawMembers<'a>>,
    state: Option<RequestState>,
}

/// What a round ended with.
struct Answer {
    /// The result as JSON text.
    result: String,
}

/// What a guarded round adds: where steps are kept, and whether anybody still waits.
struct Watch {
    sink: Arc<dyn JournalSink>,
    gone: Arc<AtomicBool>,
    /// What earlier holders of the claim did.
    replayed: Vec<(String, Option<String>)>,
}

impl<'a> Call<'a> {
    fn read(
        server: &'a Server,
        tool: &'a PreparedTool,
        request: &'a Request<'a>,
        capabilities: ClientCapabilities,
    ) -> Result<Self, ErrorObject> {
        let params = &request.params;
        let arguments = match params.get("arguments") {
            Some(raw) => {
                mrtr_schema::JsonObject::from_raw(raw).map_err(|error| invalid_params(error.in_member("arguments")))?
            }
            None => mrtr_schema::JsonObject::default(),
        };
        let answers = params.object("inputResponses").map_err(invalid_params)?;
        for (key, answer) in answers.iter().flat_map(RawMembers::iter) {
            if !answer.get().starts_with('{') {
                let message = format!("`inputResponses`: the answer to `{key}` is not an object");
                return Err(ProtocolError::invalid_params(message).into_object());
            }
        }
        let state = params.text("requestState").map_err(invalid_params)?.map(RequestState::new);
        Ok(Self { server, tool, request, capabilities, arguments: arguments.into(), answers, state })
    }

    fn binding(&self) -> Result<Binding<'_>, ErrorObject> {
        let context = self.request.context;
        let binding = Binding::new(self.revision(), &self.request.method, self.request.params.members());
        let principal = context.caller.as_ref().map(crate::Caller::principal);
        Ok(binding.map_err(invalid_params)?.principal(principal).tenant(context.tenant.as_deref()))
    }

    fn revision(&self) -> Revision {
        self.request.context.revision
    }

    fn sealer(&self) -> Sealer {
        let sealer = &self.server.0.shared.sealer;
        match self.tool.settings.lifetimes {
            Some(lifetimes) => sealer.clone().lifetimes(lifetimes),
            None => sealer.clone(),
        }
    }

    fn open(&self, binding: &Binding<'_>, now: Timestamp) -> Result<Option<Opened<FlowState>>, ErrorObject> {
        let Some(state) = &self.state else { return Ok(None) };
        let opened = self.sealer().open(state, binding, now);
        opened.map(Some).map_err(|refusal| {
            tracing::info!(reason = refusal.label(), tool = self.tool.name(), "a request state was refused");
            refusal.to_error()
        })
    }

    /// One round, from the state that came to the reply that goes.
    async fn round(&self, watch: Option<Watch>) -> Result<Answer, ErrorObject> {
        let now = self.server.0.shared.clock.now();
        let binding = self.binding()?;
        let opened = self.open(&binding, now)?;
        let lineage = match &opened {
            Some(opened) => opened.next_round(),
            None => self.sealer().begin(now),
        };
        let span = self.span(lineage);
        async {
            if let Err(reason) = self.tool.check(self.arguments.as_raw()) {
                return self.complete(&failed(format!("The arguments do not fit: {reason}")), "bad_arguments");
            }
            let (mut journal, loose) = self.journal(opened);
            let mut context = RunContext::new(Arc::clone(&self.server.0.shared), self.revision(), lineage);
            context.capabilities = self.capabilities.clone();
            context.caller = self.request.context.caller.clone();
            context.loose = loose;
            if let Some(Watch { sink, gone, replayed }) = watch {
                for (step, outcome) in replayed {
                    journal.replay(step, outcome.as_deref()).map_err(|_| internal_error())?;
                }
                context.sink = Some(sink);
                context.gone = Some(gone);
            }
            if let Some(taken) = self.offer(&journal, lineage).await? {
                return Ok(Answer { result: taken.as_str().to_owned() });
            }
            let ran = self.tool.run(&self.arguments, journal, context).await;
            self.conclude(ran, &binding, lineage, now).await
        }
        .instrument(span)
        .await
    }

    fn span(&self, lineage: Lineage) -> Span {
        info_span!(
            "round",
            flow = %lineage.flow(),
            round = lineage.round(),
            method = &*self.request.method,
            name = self.tool.name(),
            asked = field::Empty,
            answered = field::Empty,
            outcome = field::Empty,
            state_bytes = field::Empty,
        )
    }

    /// What the flow knows: what the state carries, with the answers to what it says is pending; or, without a state,
    /// nothing, with the answers apart.
    fn journal(&self, opened: Option<Opened<FlowState>>) -> (Journal, IndexMap<String, Box<RawValue>>) {
        let mut loose = IndexMap::new();
        let Some(opened) = opened else {
            if self.tool.settings.guard.is_none() {
                let answers = self.answers.iter().flat_map(RawMembers::iter);
                loose.extend(answers.map(|(key, answer)| (key.to_owned(), answer.to_owned())));
            }
            return (Journal::default(), loose);
        };
        let FlowState { pending, mut journal } = opened.into_payload();
        for Pending { key, pinned, optional } in pending {
            match self.answers.as_ref().and_then(|answers| answers.get(&key)) {
                Some(answer) => journal.answer(key, answer.to_owned(), pinned),
                None if optional => journal.skip(key),
                None => {}
            }
        }
        (journal, loose)
    }

    /// Offers the call to the extensions.
    async fn offer(&self, journal: &Journal, lineage: Lineage) -> Result<Option<Json>, ErrorObject> {
        if self.server.0.extensions.is_empty() {
            return Ok(None);
        }
        let call = self.tool_call(journal.clone(), lineage);
        for extension in &self.server.0.extensions {
            if let Some(taken) = extension.take_over(&call).await.map_err(ProtocolError::into_object)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    fn tool_call(&self, journal: Journal, lineage: Lineage) -> ToolCall {
        let context = self.request.context;
        ToolCall {
            host: Host(Arc::downgrade(&self.server.0)),
            tool: self.tool.name().to_owned(),
            arguments: self.arguments.clone(),
            task: self.request.params.get("task").and_then(|task| Json::from_raw(task).ok()),
            journal,
            lineage,
            revision: self.revision(),
            capabilities: self.capabilities.clone(),
            caller: context.caller.clone(),
            tenant: context.tenant.clone(),
        }
    }

    /// Makes the reply of what the run left.
    async fn conclude(
        &self,
        ran: Ran<Output>,
        binding: &Binding<'_>,
        lineage: Lineage,
        now: Timestamp,
    ) -> Result<Answer, ErrorObject> {
        let Ran { outcome, mut journal, must_carry, read, .. } = ran;
        Span::current().record("answered", field::debug(&read));
        let must_carry = must_carry || self.tool.settings.guard.is_some() || self.tool.settings.may_become_task;
        match outcome {
            Outcome::Done(Output::Complete(result)) => self.complete(&result, "done"),
            Outcome::Done(Output::InputRequired(asked)) if asked.requests.is_empty() && asked.state.is_none() => {
                self.failed(Failure::misuse("the handler asked for nothing and had nothing carried"))
            }
            Outcome::Done(Output::InputRequired(asked)) => {
                let must_carry = must_carry || asked.state.is_some();
                journal.carried = asked.state.map(|state| state.as_raw().to_owned());
                let questions: Vec<_> = asked.requests.into_iter().map(Question::by_hand).collect();
                for question in &questions {
                    journal.answers.shift_remove(&question.key);
                }
                self.interim(questions, journal, must_carry, binding, lineage, now)
            }
            Outcome::Waiting(questions) => self.interim(questions, journal, must_carry, binding, lineage, now),
            Outcome::Yielded => self.interim(Vec::new(), journal, true, binding, lineage, now),
            Outcome::IntoTask => self.continue_as_task(journal, lineage).await,
            Outcome::Abandoned => Err(internal_error()),
            Outcome::Failed(failure) => self.failed(failure),
        }
    }

    fn complete(&self, result: &CallToolResult, outcome: &'static str) -> Result<Answer, ErrorObject> {
        Span::current().record("outcome", outcome);
        let result = write(result, self.revision())?;
        Ok(Answer { result })
    }

    /// A reply that asks, carries, or both.
    fn interim(
        &self,
        questions: Vec<Question>,
        journal: Journal,
        must_carry: bool,
        binding: &Binding<'_>,
        lineage: Lineage,
        now: Timestamp,
    ) -> Result<Answer, ErrorObject> {
        let keys: Vec<_> = questions.iter().map(|question| &question.key).collect();
        Span::current().record("asked", field::debug(&keys));
        Span::current().record("outcome", if keys.is_empty() { "yielded" } else { "asked" });
        gate::check(questions.iter(), &self.capabilities, self.revision())?;
        let carries = must_carry || self.tool.settings.policy == StatePolicy::Always || !journal.is_empty();
        let payload = FlowState { pending: questions.iter().map(Pending::of).collect(), journal };
        let state = match carries.then(|| self.seal(&payload, &questions, binding, lineage, now)).transpose() {
            Ok(state) => state,
            Err(error) => return self.unsealed(&error, &payload.journal),
        };
        Span::current().record("state_bytes", state.as_ref().map_or(0, RequestState::len));
        let requests: InputRequests = questions.into_iter().map(|question| (question.key, question.request)).collect();
        match InputRequiredResult::from_parts(requests, state) {
            Some(interim) => Ok(Answer { result: write(&interim, self.revision())? }),
            None => self.failed(Failure::misuse("a reply would neither ask nor carry anything")),
        }
    }

    fn seal(
        &self,
        payload: &FlowState,
        questions: &[Question],
        binding: &Binding<'_>,
        lineage: Lineage,
        now: Timestamp,
    ) -> Result<RequestState, SealError> {
        let sealer = self.sealer();
        let mut stamp = Stamp::of(lineage).handler_version(&self.tool.settings.version);
        // The state must outlive the question that may take longest.
        let usual = sealer.round_lifetime();
        if let Some(longest) = questions.iter().map(|question| question.valid_for.unwrap_or(usual)).max()
            && longest != usual
        {
            stamp = Stamp::of(lineage.lasting_until(now + longest))
                .handler_version(&self.tool.settings.version)
                .valid_for(longest);
        }
        sealer.seal_as(payload, binding, stamp, now)
    }

    fn unsealed(&self, error: &SealError, journal: &Journal) -> Result<Answer, ErrorObject> {
        match error {
            SealError::TooManyRounds { .. } | SealError::FlowEnded => {
                self.complete(&failed("This call has gone on for too long; begin it anew".to_owned()), "too_long")
            }
            SealError::TooLong { .. } => {
                let largest = journal.largest().unwrap_or_default();
                self.failed(Failure::misuse(format!("{error}; {largest}")))
            }
            error => self.failed(Failure::misuse(with_causes(error))),
        }
    }

    async fn continue_as_task(&self, journal: Journal, lineage: Lineage) -> Result<Answer, ErrorObject> {
        let call = self.tool_call(journal, lineage);
        for extension in &self.server.0.extensions {
            if let Some(taken) = extension.continue_as_task(&call).await.map_err(ProtocolError::into_object)? {
                Span::current().record("outcome", "into_task");
                return Ok(Answer { result: taken.as_str().to_owned() });
            }
        }
        self.failed(Failure::misuse("the handler wants to become a task, and nothing here runs tasks"))
    }

    /// The three doors: the model reads of some failures, the caller of others, and the log of the rest.
    fn failed(&self, Failure(kind): Failure) -> Result<Answer, ErrorObject> {
        match kind {
            Kind::Tool(text) => self.complete(&failed(text), "tool_error"),
            Kind::Protocol(error) => {
                Span::current().record("outcome", "protocol_error");
                Err(error.into_object())
            }
            Kind::Internal(error) => {
                let reference = self.reference();
                tracing::error!(%reference, tool = self.tool.name(), error = with_causes(&*error), "a tool failed");
                self.complete(&failed(format!("The tool failed (reference {reference})")), "internal_error")
            }
        }
    }

    /// By which a caller and a line in the log find each other.
    fn reference(&self) -> FlowId {
        let shared = &self.server.0.shared;
        shared.sealer.begin(shared.clock.now()).flow()
    }
}

fn failed(text: String) -> CallToolResult {
    let mut result = CallToolResult::new([ContentBlock::text(text)]);
    result.is_error = Some(true);
    result
}

/// What a flow's state carries.
#[derive(Debug, Serialize, Deserialize)]
struct FlowState {
    /// What was asked.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pending: Vec<Pending>,
    /// What is known.
    #[serde(rename = "j", default, skip_serializing_if = "Journal::is_empty")]
    journal: Journal,
}

impl JsonPayload for FlowState {
    const KIND: &'static str = "mrtr/flow";
}

/// A question that a reply asks.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    #[serde(rename = "k")]
    key: String,
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
}

impl Pending {
    fn of(question: &Question) -> Self {
        Self { key: question.key.clone(), pinned: question.pinned.clone(), optional: question.optional }
    }
}
