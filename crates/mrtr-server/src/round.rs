//! One round of a call: open the state, run the handler over its journal, and seal what it knows now.

mod call_tool;
mod guarded;
mod sealed;
mod strays;

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use mrtr_schema::{ClientCapabilities, ErrorObject, InputRequests, Json, RawMembers, RequestState, Revision};
use mrtr_state::{Binding, FlowProgress, Opened, SealError, SealOptions, Sealer, Timestamp};
use tracing::{Instrument, Span, field, info_span};

pub(crate) use call_tool::call_tool;

use crate::descent::Descent;
use crate::dispatch::{Request, internal_error, invalid_params};
use crate::failure::{Kind, with_causes};
use crate::handler::Handler;
use crate::product::Product;
use crate::run::{JournalSink, Outcome, Question, Ran, run};
use crate::shed::Running;
use crate::tool::Settings;
use crate::{Failure, Journal, ProtocolError, RunContext, Server, StatePolicy, echo, gate, metrics};
use sealed::{FlowState, Pending};

/// A request whose handler is a flow, taken apart.
pub(crate) struct Round<'a> {
    server: &'a Server,
    request: &'a Request<'a>,
    /// The tool, prompt or resource.
    name: &'a str,
    settings: &'a Settings,
    capabilities: &'a Arc<ClientCapabilities>,
    answers: Option<RawMembers<'a>>,
    state: Option<RequestState>,
    /// What the log learns of the round, once it runs.
    span: OnceLock<Span>,
}

/// A round that may run: its state is opened, and what the flow knows is at hand.
pub(crate) struct Prepared<'a> {
    binding: Binding<'a>,
    descent: Descent,
    /// What the round before asked, as its state says.
    pending: Vec<Pending>,
    journal: Journal,
    context: RunContext,
}

/// What a guarded round adds: where steps are kept, and whether anybody still waits.
struct Watch {
    sink: Arc<dyn JournalSink>,
    gone: Arc<AtomicBool>,
    /// What earlier holders of the claim did.
    replayed: Vec<(String, Option<String>)>,
}

/// How a round ended.
pub(crate) enum Concluded {
    /// With this result, as JSON text.
    Result(String),
    /// The flow wants to go on as a task.
    IntoTask(Box<Journal>),
}

impl<'a> Round<'a> {
    pub(crate) fn new(
        server: &'a Server,
        request: &'a Request<'a>,
        name: &'a str,
        settings: &'a Settings,
        capabilities: &'a Arc<ClientCapabilities>,
    ) -> Result<Self, ErrorObject> {
        let (params, revision) = (&request.params, request.context.revision);
        if !revision.may_ask_on(&request.method) {
            // Where nothing is ever asked, members of these names have no meaning (TY-6).
            let (answers, state, span) = (None, None, OnceLock::new());
            return Ok(Self { server, request, name, settings, capabilities, answers, state, span });
        }
        let answers = params.checked_object("inputResponses").map_err(invalid_params)?;
        for (key, answer) in answers.iter().flat_map(RawMembers::iter) {
            if !answer.get().starts_with('{') {
                let message = format!("`inputResponses`: the answer to `{}` is not an object", echo::name(key));
                return Err(ProtocolError::invalid_params(message).into_object());
            }
        }
        let state = params.text("requestState").map_err(invalid_params)?.map(RequestState::new);
        Ok(Self { server, request, name, settings, capabilities, answers, state, span: OnceLock::new() })
    }

    /// Plays the whole round of a handler that cannot become a task.
    pub(crate) async fn play<R: Product>(
        &self,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<String, ErrorObject> {
        let prepared = self.prepare(None)?;
        let span = self.span(&prepared.descent);
        let concluded = self.run(prepared, handler, arguments, finish).instrument(span).await?;
        match concluded {
            Concluded::Result(result) => Ok(result),
            Concluded::IntoTask(_) => self.failed::<R>(Failure::misuse("only a tool can become a task")),
        }
    }

    /// In a box: it is large, and handed on from one future to the next.
    fn prepare(&self, watch: Option<Watch>) -> Result<Box<Prepared<'_>>, ErrorObject> {
        let now = self.server.0.shared.clock.now();
        let binding = self.binding()?;
        let opened = self.open(&binding, now)?;
        let descent = match &opened {
            Some(opened) => opened.next_round().into(),
            None => Descent::beginning(self.settings.lifetimes, now),
        };
        let (mut journal, pending) = self.journal(opened);
        let mut context = RunContext::new(Arc::clone(&self.server.0.shared), self.revision(), descent.clone());
        context.capabilities = Arc::clone(self.capabilities);
        context.caller.clone_from(&self.request.context.caller);
        context.notifier.clone_from(&self.request.notifier);
        context.deadline = self.settings.run_deadline.unwrap_or(context.deadline);
        context.strict = self.settings.strict;
        context.load = self.server.0.shared.load.measured(self.request.context.received, now);
        if let Some(Watch { sink, gone, replayed }) = watch {
            for (step, outcome) in replayed {
                journal.replay(step, outcome.as_deref()).map_err(|_| internal_error())?;
            }
            context.sink = Some(sink);
            context.gone = Some(gone);
        }
        Ok(Box::new(Prepared { binding, descent, pending, journal, context }))
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

    fn sealer(&self) -> Cow<'_, Sealer> {
        self.server.0.shared.sealer(self.settings.lifetimes)
    }

    fn open(&self, binding: &Binding<'_>, now: Timestamp) -> Result<Option<Opened<FlowState>>, ErrorObject> {
        let Some(state) = &self.state else { return Ok(None) };
        let opened = self.sealer().open(state, binding, now);
        opened.map(Some).map_err(|refusal| {
            metrics::refused(refusal.label());
            tracing::info!(reason = refusal.label(), name = self.name, "a request state was refused");
            refusal.to_error()
        })
    }

    fn span(&self, descent: &Descent) -> Span {
        let span = info_span!(
            "round",
            flow = %descent.lineage(&self.server.0.shared).flow(),
            round = descent.round(),
            method = &*self.request.method,
            name = self.name,
            asked = field::Empty,
            answered = field::Empty,
            outcome = field::Empty,
            state_bytes = field::Empty,
        );
        self.span.get_or_init(|| span).clone()
    }

    fn is_logged(&self) -> bool {
        self.span.get().is_some_and(|span| !span.is_disabled())
    }

    /// Notes a fact of the round for the log. Its own span is asked, and not whichever is current: where the log wants
    /// no rounds, that would be somebody else's.
    fn note<V: field::Value>(&self, fact: &str, value: V) {
        if let Some(span) = self.span.get() {
            span.record(fact, value);
        }
    }

    /// What the flow knows: what the state carries, with the answers to what it says is pending; or, without a state,
    /// nothing, with the answers apart.
    fn journal(&self, opened: Option<Opened<FlowState>>) -> (Journal, Vec<Pending>) {
        let Some(opened) = opened else {
            let mut journal = Journal::default();
            if let Some(answers) = self.answers.as_ref().filter(|_| self.settings.guard.is_none()) {
                let answers = answers.iter();
                journal.entries_mut().loose.extend(answers.map(|(key, answer)| (key.to_owned(), answer.to_owned())));
            }
            return (journal, Vec::new());
        };
        let FlowState { pending, mut journal } = opened.into_payload();
        for question in &pending {
            match self.answers.as_ref().and_then(|answers| answers.get(question.key())) {
                Some(answer) => {
                    metrics::answered();
                    journal.answer(question.key(), answer.to_owned(), question.asked());
                }
                None if question.is_optional() => journal.skip(question.key()),
                None => {}
            }
        }
        (journal, pending)
    }

    /// Runs the handler, and makes the reply of what the run left. `finish` sees a complete result before it goes out.
    async fn run<R: Product>(
        &self,
        prepared: Box<Prepared<'_>>,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<Concluded, ErrorObject> {
        let Prepared { binding, descent, pending, journal, context } = *prepared;
        let running = Running::begin(&self.server.0.shared.load);
        let ran = run(async |flow| handler.call(flow, arguments.as_raw()).await, journal, context).await;
        drop(running);
        let Ran { outcome, journal, must_carry, met } = ran.settled(&self.server.0.shared.inputs);
        if self.is_logged() {
            self.note("answered", field::debug(met.answered(&journal)));
        }
        strays::warn(&outcome, &met, &pending, self.answers.as_ref());
        let must_carry = must_carry || self.settings.guard.is_some() || self.settings.may_become_task;
        let result = match outcome {
            Outcome::Done(mut result) => {
                finish(&mut result);
                self.complete(result, "done")
            }
            Outcome::Waiting(questions) => self.interim::<R>(questions, journal, must_carry, &binding, &descent),
            Outcome::Yielded => self.interim::<R>(Vec::new(), journal, true, &binding, &descent),
            Outcome::IntoTask => return Ok(Concluded::IntoTask(Box::new(journal))),
            Outcome::Abandoned => {
                self.concluded("abandoned");
                Err(internal_error())
            }
            Outcome::Failed(failure) => self.failed::<R>(failure),
        };
        result.map(Concluded::Result)
    }

    fn complete<R: Product>(&self, result: R, outcome: &'static str) -> Result<String, ErrorObject> {
        self.concluded(outcome);
        self.server.write_product(result, self.revision())
    }

    fn concluded(&self, outcome: &'static str) {
        self.note("outcome", outcome);
        metrics::round(&self.request.method, outcome);
    }

    /// A reply that asks, carries, or both.
    fn interim<R: Product>(
        &self,
        questions: Vec<Question>,
        journal: Journal,
        must_carry: bool,
        binding: &Binding<'_>,
        descent: &Descent,
    ) -> Result<String, ErrorObject> {
        if !self.revision().may_ask_on(&self.request.method) {
            let (method, revision) = (&self.request.method, self.revision());
            return self.failed::<R>(Failure::misuse(format!("{revision} lets nobody ask on `{method}`")));
        }
        let keys: Vec<_> = questions.iter().map(|question| &question.key).collect();
        self.note("asked", field::debug(&keys));
        let gate = gate::check(questions.iter(), self.capabilities, self.revision());
        gate.inspect_err(|_| self.concluded("missing_capability"))?;
        let carries = must_carry || self.settings.policy == StatePolicy::Always || !journal.is_empty();
        let payload = FlowState { pending: questions.iter().map(Pending::of).collect(), journal };
        let state = match carries.then(|| self.seal(&payload, &questions, binding, descent)).transpose() {
            Ok(state) => state,
            Err(error) => return self.unsealed::<R>(&error, &payload.journal),
        };
        let state_bytes = state.as_ref().map_or(0, RequestState::len);
        self.note("state_bytes", state_bytes);
        metrics::asked(&questions, state_bytes);
        let outcome = if questions.is_empty() { "yielded" } else { "asked" };
        let requests: InputRequests = questions.into_iter().map(|question| (question.key, question.request)).collect();
        match self.server.write_interim(requests, state, self.revision()) {
            Some(interim) => {
                self.concluded(outcome);
                interim
            }
            None => self.failed::<R>(Failure::misuse("a reply would neither ask nor carry anything")),
        }
    }

    fn seal(
        &self,
        payload: &FlowState,
        questions: &[Question],
        binding: &Binding<'_>,
        descent: &Descent,
    ) -> Result<RequestState, SealError> {
        let sealer = self.sealer();
        // The time at which it goes out: what the round did before must not count against the client.
        let now = self.server.0.shared.clock.now();
        // The state must outlive the question that may take longest.
        let usual = sealer.round_lifetime();
        let longest = questions.iter().map(|question| question.patience(usual)).max();
        let stamp = |lineage: FlowProgress| match longest.filter(|longest| *longest != usual) {
            Some(longest) => SealOptions::new(lineage.lasting_until(now + longest)).valid_for(longest),
            None => SealOptions::new(lineage),
        };
        let stamp = |lineage| stamp(lineage).handler_version(&self.settings.version);
        match descent.known() {
            Some(lineage) => sealer.seal_as(payload, binding, stamp(lineage), now),
            None => sealer.seal_first(payload, binding, stamp, now),
        }
    }

    fn unsealed<R: Product>(&self, error: &SealError, journal: &Journal) -> Result<String, ErrorObject> {
        match error {
            SealError::TooManyRounds { .. } | SealError::FlowEnded => {
                let ended = R::ended("This call has gone on for too long; begin it anew".to_owned());
                self.complete(ended.inspect_err(|_| self.concluded("too_long"))?, "too_long")
            }
            SealError::TooLong { .. } => {
                let limit = self.server.0.shared.journal_limit();
                if let Some(key) = journal.excess_beside_carried(limit) {
                    return self.failed::<R>(Failure::too_much(key, limit));
                }
                let largest = journal.largest().unwrap_or_default();
                self.failed::<R>(Failure::misuse(format!("{error}; {largest}")))
            }
            error => self.failed::<R>(Failure::misuse(with_causes(error))),
        }
    }

    /// The three doors: the model reads of some failures, the caller of others, and the log of the rest.
    fn failed<R: Product>(&self, Failure(kind): Failure) -> Result<String, ErrorObject> {
        match kind {
            Kind::Tool(text) => {
                let failed = R::failed(text).inspect_err(|_| self.concluded("failed"))?;
                self.complete(failed, "failed")
            }
            Kind::Unanswered(error) => {
                let unanswered = R::unanswered(&error).inspect_err(|_| self.concluded("declined"))?;
                self.complete(unanswered, "failed")
            }
            Kind::Protocol(error) => {
                self.concluded("protocol_error");
                Err(error.into_object())
            }
            Kind::Internal(error) => {
                let shared = &self.server.0.shared;
                let failed = shared.internal::<R>(self.name, &*error);
                self.concluded("internal_error");
                self.server.write(&failed?, self.revision())
            }
        }
    }
}
