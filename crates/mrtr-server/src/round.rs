//! One round of a call: open the state, run the handler over its journal, and seal what it knows now.

pub(crate) mod completion;
mod live;
pub(crate) mod prompt;
pub(crate) mod request;
pub(crate) mod resource;
mod single_use;
pub(crate) mod tool;
mod unmatched;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use mrtr_flow::for_server::{
    LazyFlow, RoundJournal, UnsealedAnswers, echo, internal_error, resolve_manual_questions, too_much, with_causes,
};
use mrtr_flow::{
    Caller, Failure, FailureKind, Journal, JournalSink, Outcome, Pending, ProtocolError, Question, RunContext,
    RunReport, StopSignal, check_capabilities, run,
};
use mrtr_schema::{ErrorObject, InputRequests, Json, MemberIndex, RequestState, Revision};
use mrtr_state::single_use::StepRecord;
use mrtr_state::{Binding, FlowProgress, Opened, Refusal, SealError, SealOptions, Sealer, Timestamp};
use serde_json::value::RawValue;
use tracing::{Instrument, Span, field, info_span};

use crate::error::invalid_params;
use crate::error::misuse;
use crate::definition::context::Arrival;
use crate::definition::flow_output::{FlowOutput, internal_failure};
use crate::definition::handler::Handler;
use crate::definition::output::Output;
use crate::definition::parts::{Identity, Parts};
use crate::definition::settings::{FlowSettings, StatePolicy, TaskPolicy};
use crate::definition::shared::Shared;
use crate::support::metrics;
use crate::support::shed::LoadGuard;
use request::Request;

/// A request whose handler is a flow, taken apart.
pub(crate) struct Round<'a> {
    shared: &'a Arc<Shared>,
    identity: &'a Identity,
    request: &'a Request<'a>,
    /// The tool, prompt or resource.
    name: &'a str,
    settings: &'a FlowSettings,
    answers: Option<Answers<'a>>,
    state: Option<Cow<'a, str>>,
    /// What the log learns of the round, once it runs.
    span: OnceLock<Span>,
}

/// The answers of a request, as they came: a client may send as many as its message holds.
struct Answers<'a> {
    text: &'a RawValue,
    index: MemberIndex,
}

impl<'a> Answers<'a> {
    fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.index.find(self.text.get().as_bytes(), key)
    }
}

/// What a request brought of its flow: its state is opened, if there is one.
struct Opening<'a> {
    now: Timestamp,
    binding: Binding<'a>,
    opened: Option<Opened<Journal>>,
}

/// A round that may run: its state is opened, and what the flow knows is at hand.
pub(crate) struct Prepared<'a> {
    binding: Binding<'a>,
    lazy_flow: LazyFlow,
    /// What the round before asked, as its state says.
    pending: Vec<Pending>,
    journal: Journal,
    context: RunContext,
}

/// What a reservation adds to a round: where steps are kept, and whether the client still waits.
struct ReservationContext {
    sink: Arc<dyn JournalSink>,
    stop: StopSignal,
    /// What earlier holders of the reservation recorded.
    replayed: Vec<StepRecord>,
}

/// How a round ended.
pub(crate) enum RoundEnd {
    /// With this result, as JSON text.
    Result(String),
    /// The flow wants to go on as a task.
    IntoTask(Box<Journal>),
}

impl<'a> Round<'a> {
    pub(crate) fn new(
        parts: &'a Parts,
        request: &'a Request<'a>,
        name: &'a str,
        settings: &'a FlowSettings,
    ) -> Result<Self, ErrorObject> {
        let params = &request.params;
        if !request.brings_answers() {
            // Where nothing is ever asked, members of these names have no meaning (TY-6).
            return Ok(Self::of(parts, request, name, settings));
        }
        let mut odd: Option<Box<str>> = None;
        let answers = params.indexed_object("inputResponses", |key, answer| {
            if !answer.get().starts_with('{') {
                odd.get_or_insert_with(|| key.into());
            }
        });
        let answers = answers.map_err(invalid_params)?.map(|(text, index)| Answers { text, index });
        if let Some(key) = odd {
            return Err(no_answer(&key));
        }
        let state = params.text("requestState").map_err(invalid_params)?;
        Ok(Self { answers, state, ..Self::of(parts, request, name, settings) })
    }

    /// A round that brings neither answers nor a state.
    fn of(parts: &'a Parts, request: &'a Request<'a>, name: &'a str, settings: &'a FlowSettings) -> Self {
        let (shared, identity) = (&parts.shared, &parts.identity);
        Self { shared, identity, request, name, settings, answers: None, state: None, span: OnceLock::new() }
    }

    /// Runs the whole round of a handler that cannot become a task.
    pub(crate) async fn run_whole<R: FlowOutput>(
        &self,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<String, ErrorObject> {
        let prepared = self.prepare(self.open()?, None)?;
        let span = self.span(&prepared.lazy_flow);
        let concluded = self.run(prepared, handler, arguments, finish).instrument(span).await?;
        match concluded {
            RoundEnd::Result(result) => Ok(result),
            RoundEnd::IntoTask(_) => self.failed::<R>(misuse("only a tool can become a task")),
        }
    }

    /// In a box: it is large, and handed on from one future to the next.
    fn prepare<'b>(
        &self,
        Opening { now, binding, opened }: Opening<'b>,
        watch: Option<ReservationContext>,
    ) -> Result<Box<Prepared<'b>>, ErrorObject> {
        let lazy_flow = match &opened {
            Some(opened) => opened.next_round().into(),
            None => LazyFlow::beginning(self.settings.lifetimes, now),
        };
        let (mut journal, pending) = self.journal(opened);
        let mut context = self.run_context(&lazy_flow, now);
        if let Some(ReservationContext { sink, stop, replayed }) = watch {
            for StepRecord { name, outcome, .. } in &replayed {
                match outcome {
                    Some(entry) => journal.replay(entry).map_err(|_| internal_error())?,
                    None => journal.put_step_started(name),
                }
            }
            context.sink = Some(sink);
            context.stop = Some(stop);
        }
        Ok(Box::new(Prepared { binding, lazy_flow, pending, journal, context }))
    }

    /// What a run has besides its journal.
    #[expect(clippy::inline_always, reason = "what it makes is large: it is made where it is kept")]
    #[inline(always)]
    fn run_context(&self, lazy_flow: &LazyFlow, now: Timestamp) -> RunContext {
        let environment = Arc::clone(&self.shared.environment);
        let capabilities = Arc::clone(&self.request.capabilities);
        let mut context = RunContext::new(environment, self.revision(), lazy_flow.clone(), capabilities);
        context.caller.clone_from(&self.request.context.caller);
        context.notifications.clone_from(&self.request.notifier);
        context.deadline = self.settings.run_deadline.unwrap_or(context.deadline);
        context.strict = self.settings.strict;
        context.sheds = self.shared.sheds(self.request.context.received.map(|Arrival(moment)| moment), now);
        context
    }

    fn binding(&self) -> Binding<'_> {
        let Request { method, name, params, context, .. } = self.request;
        let binding = Binding::named(self.revision(), method, name.as_deref().unwrap_or_default(), params.members());
        let principal = context.caller.as_ref().map(Caller::principal);
        binding.principal(principal).tenant(context.tenant.as_deref())
    }

    fn revision(&self) -> Revision {
        self.request.context.revision
    }

    fn sealer(&self) -> Cow<'_, Sealer> {
        self.shared.sealer(self.settings.lifetimes)
    }

    /// Opens the state, if the request brings one: once a round, for all that is in it.
    fn open(&self) -> Result<Opening<'_>, ErrorObject> {
        let (now, binding) = (self.shared.clock.now(), self.binding());
        let opened = self.state.as_ref().map(|state| self.sealer().open_text(state, &binding, now)).transpose();
        let opened = opened.map_err(|refusal| self.refused(refusal))?;
        Ok(Opening { now, binding, opened })
    }

    #[cold]
    fn refused(&self, refusal: Refusal) -> ErrorObject {
        metrics::refused(refusal.label());
        let (reason, method) = (refusal.label(), &*self.request.method);
        tracing::info!(reason, method, name = self.name, "a request state was refused");
        let mut error = refusal.to_error();
        if self.shared.explains_failures {
            error.message = format!("{}: {refusal}", error.message);
        }
        error
    }

    fn span(&self, lazy_flow: &LazyFlow) -> Span {
        let span = info_span!(
            "round",
            flow = %lazy_flow.flow_progress(&self.shared.environment).flow(),
            round = lazy_flow.round(),
            method = &*self.request.method,
            name = self.name,
            asked = field::Empty,
            answered = field::Empty,
            outcome = field::Empty,
            state_bytes = field::Empty,
        );
        // What is not logged is not kept: there is nothing to note in it.
        if span.is_disabled() { span } else { self.span.get_or_init(|| span).clone() }
    }

    fn is_logged(&self) -> bool {
        self.span.get().is_some()
    }

    /// Notes a fact of the round for the log. Its own span is asked, and not whichever is current: where the log wants
    /// no rounds, that would be another one's.
    fn note<V: field::Value>(&self, fact: &str, value: V) {
        if let Some(span) = self.span.get() {
            span.record(fact, value);
        }
    }

    /// What the flow knows: what the state carries, with the answers to what it says is pending; or, without a state,
    /// nothing, with the answers apart.
    fn journal(&self, opened: Option<Opened<Journal>>) -> (Journal, Vec<Pending>) {
        let Some(opened) = opened else {
            let mut journal = Journal::default();
            let may_count = self.settings.guard.is_none() && !self.settings.strict;
            if let Some(answers) = self.answers.as_ref().filter(|answers| may_count && !answers.index.is_empty()) {
                let text = self.request.share(answers.text);
                journal.put_unsealed(UnsealedAnswers::new(text, answers.index.clone()));
            }
            return (journal, Vec::new());
        };
        let mut journal = opened.into_payload();
        let pending = journal.settle_pending(|key| {
            let answer = self.answers.as_ref().and_then(|answers| answers.get(key));
            answer.inspect(|_| metrics::answered())
        });
        (journal, pending)
    }

    /// Runs the handler, and makes the reply of what the run left. `finish` sees a complete result before it goes out.
    async fn run<R: FlowOutput>(
        &self,
        prepared: Box<Prepared<'_>>,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<RoundEnd, ErrorObject> {
        if let Some(live) = self.request.context.live() {
            return Box::pin(self.run_live(&**live, prepared, handler, arguments, finish)).await;
        }
        let running = LoadGuard::begin(&self.shared.load);
        if running.is_held {
            running.wait_for_release().await;
        }
        // Out of the box go only what the run takes: the rest stays where it is.
        let Prepared { journal, context, .. } = *prepared;
        let ran = run(async |flow| handler.call(flow, arguments.as_raw()).await, journal, context).await;
        let (binding, lazy_flow, pending) = (&prepared.binding, &prepared.lazy_flow, &prepared.pending);
        drop(running);
        let RunReport { outcome, journal, must_carry, seen, .. } =
            resolve_manual_questions(ran, &self.shared.environment, Output::into_manual);
        if self.is_logged() {
            self.note("answered", field::debug(seen.answered(&journal)));
        }
        unmatched::warn(&outcome, &seen, pending, self.answers.as_ref());
        let FlowSettings { guard, tasks, strict, .. } = self.settings;
        let must_carry = must_carry || guard.is_some() || *tasks == TaskPolicy::ByFlow || *strict;
        let result = match outcome {
            Outcome::Done(mut result) => {
                finish(&mut result);
                self.complete(result, "done")
            }
            Outcome::Waiting(questions) => self.interim::<R>(questions, &journal, must_carry, binding, lazy_flow),
            Outcome::Yielded { .. } => self.interim::<R>(Vec::new(), &journal, true, binding, lazy_flow),
            Outcome::IntoTask => return Ok(RoundEnd::IntoTask(Box::new(journal))),
            Outcome::Stopped(_) => {
                self.concluded("abandoned");
                Err(internal_error())
            }
            Outcome::Failed(failure) => self.failed::<R>(failure),
        };
        result.map(RoundEnd::Result)
    }

    fn complete<R: FlowOutput>(&self, result: R, outcome: &'static str) -> Result<String, ErrorObject> {
        self.concluded(outcome);
        self.identity.write_output(result, self.revision())
    }

    fn concluded(&self, outcome: &'static str) {
        self.note("outcome", outcome);
        metrics::round(&self.request.info, outcome);
    }

    /// A reply that asks, carries, or both.
    fn interim<R: FlowOutput>(
        &self,
        questions: Vec<Question>,
        journal: &Journal,
        must_carry: bool,
        binding: &Binding<'_>,
        lazy_flow: &LazyFlow,
    ) -> Result<String, ErrorObject> {
        if !self.request.may_ask() {
            let (method, revision) = (&self.request.method, self.revision());
            return self.failed::<R>(misuse(format!("{revision} lets nobody ask on `{method}`")));
        }
        self.note("asked", field::debug(Keys(&questions)));
        let requests = questions.iter().map(|question| &question.request);
        let gate = check_capabilities(requests, &self.request.capabilities, self.revision());
        gate.inspect_err(|_| self.concluded("missing_capability")).map_err(ProtocolError::into_object)?;
        let carries = must_carry || self.settings.policy == StatePolicy::Always || !journal.is_empty();
        let state = match carries.then(|| self.seal(journal, &questions, binding, lazy_flow)).transpose() {
            Ok(state) => state,
            Err(error) => return self.unsealed::<R>(&error, journal),
        };
        let state_bytes = state.as_ref().map_or(0, RequestState::len);
        self.note("state_bytes", state_bytes);
        metrics::asked(questions.iter().map(|question| &question.request), state_bytes);
        let outcome = if questions.is_empty() { "yielded" } else { "asked" };
        let requests: InputRequests = questions.into_iter().map(|question| (question.key, question.request)).collect();
        match self.identity.write_interim(requests, state, self.revision()) {
            Some(interim) => {
                self.concluded(outcome);
                interim
            }
            None => self.failed::<R>(misuse("a reply would neither ask nor carry anything")),
        }
    }

    fn seal(
        &self,
        journal: &Journal,
        questions: &[Question],
        binding: &Binding<'_>,
        lazy_flow: &LazyFlow,
    ) -> Result<RequestState, SealError> {
        let sealer = self.sealer();
        // The time at which it goes out: what the round did before must not count against the client.
        let now = self.shared.clock.now();
        // The state must outlive the question that may take longest.
        let usual = sealer.round_lifetime();
        let longest = questions.iter().map(|question| question.patience(usual)).max();
        let options = |flow_progress: FlowProgress| match longest.filter(|longest| *longest != usual) {
            Some(longest) => SealOptions::new(flow_progress.lasting_until(now + longest)).valid_for(longest),
            None => SealOptions::new(flow_progress),
        };
        let options = |flow_progress| options(flow_progress).handler_version(&self.settings.version);
        match lazy_flow.known() {
            Some(flow_progress) => sealer.seal_as(journal, binding, options(flow_progress), now),
            None => sealer.seal_first(journal, binding, options, now),
        }
    }

    fn unsealed<R: FlowOutput>(&self, error: &SealError, journal: &Journal) -> Result<String, ErrorObject> {
        match error {
            SealError::TooManyRounds { .. } | SealError::FlowEnded => {
                let ended = R::ended("This call has gone on for too long; begin it anew".to_owned());
                self.complete(ended.inspect_err(|_| self.concluded("too_long"))?, "too_long")
            }
            SealError::TooLong { .. } => {
                let limit = self.shared.environment.limit();
                if let Some(key) = journal.excess_beside_carried(limit.total()) {
                    return self.failed::<R>(too_much(key, limit.usable()));
                }
                let largest = journal.largest().unwrap_or_default();
                self.failed::<R>(misuse(format!("{error}; {largest}")))
            }
            error => self.failed::<R>(misuse(with_causes(error))),
        }
    }

    /// By who is to read about it: the model of some failures, the caller of others, the operator of the rest.
    fn failed<R: FlowOutput>(&self, failure: Failure) -> Result<String, ErrorObject> {
        match failure.into_kind() {
            FailureKind::Tool(text) => {
                let failed = R::failed(text).inspect_err(|_| self.concluded("failed"))?;
                self.complete(failed, "failed")
            }
            FailureKind::Unanswered(error) => {
                let unanswered = R::unanswered(&error).inspect_err(|_| self.concluded("declined"))?;
                self.complete(unanswered, "failed")
            }
            FailureKind::Protocol(error) => {
                self.concluded("protocol_error");
                Err(error.into_object())
            }
            FailureKind::Internal(error) => {
                let failed = internal_failure::<R>(self.shared, self.name, error);
                self.concluded("internal_error");
                self.identity.write(&failed?, self.revision())
            }
        }
    }
}

/// The keys of questions, as the log shows them: where nothing is logged, no list of them is made.
struct Keys<'a>(&'a [Question]);

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|question| &question.key)).finish()
    }
}

#[cold]
fn no_answer(key: &str) -> ErrorObject {
    let message = format!("`inputResponses`: the answer to `{}` is not an object", echo::name(key));
    ProtocolError::invalid_params(message).into_object()
}
