//! One round of a call: open the state, run the handler over its journal, and seal what it knows now.

pub(crate) mod live;
pub(crate) mod others;
pub(crate) mod request;
mod single_use;
pub(crate) mod tool;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use mrtr_flow::for_server::{
    LazyFlow, RoundJournal, SeenQuestions, UnsealedAnswers, echo, internal_error, resolve_manual_questions, too_much,
    with_causes,
};
use mrtr_flow::{
    Failure, FailureKind, Journal, JournalSink, Outcome, Pending, ProtocolError, Question, RunContext, RunReport,
    StopSignal, check_capabilities, run,
};
use mrtr_schema::{ErrorObject, InputRequests, Json, MemberIndex, RawMembers, RequestState, Revision};
use mrtr_state::single_use::StepRecord;
use mrtr_state::{
    AnswersDigest, Binding, FlowProgress, Opened, Refusal, SealError, SealOptions, Sealer, Timestamp, TokenUse,
};
use serde_json::value::RawValue;
use tracing::{Instrument, Span, field, info_span};

use crate::definition::flow_output::{FlowOutput, internal_failure};
use crate::definition::handler::{Handler, RunningHandler};
use crate::definition::output::Output;
use crate::definition::parts::{Parts, ResultWriter, Shared};
use crate::definition::settings::{FlowSettings, StatePolicy, TaskPolicy};
use crate::error::{invalid_params, misuse};
use crate::support::metrics;
use crate::support::shed::LoadGuard;
use request::Request;

/// A request whose handler is a flow: taken apart, its state opened, and what its flow knows at hand.
pub(crate) struct Round<'a> {
    shared: &'a Arc<Shared>,
    results: &'a ResultWriter,
    request: &'a Request<'a>,
    /// The tool, prompt or resource.
    name: &'a str,
    settings: &'a FlowSettings,
    answers: Option<Answers<'a>>,
    binding: Binding<'a>,
    began: Timestamp,
    lazy_flow: LazyFlow,
    /// The questions of the round before, as its state says.
    pending: Vec<Pending>,
    journal: Journal,
    /// The request to a store for single use, if the state may be used once.
    token_use: Option<Box<TokenUse>>,
    reservation: Option<ReservationContext>,
    /// True if the flow continues where it is although it would become a task.
    goes_on_in_place: bool,
    /// The span that tells the log of the round, once it runs.
    span: OnceLock<Span>,
}

/// The answers of a request, as they came. They are indexed and not parsed, since a client may send as many as its
/// message holds.
struct Answers<'a> {
    text: &'a RawValue,
    index: MemberIndex,
}

impl<'a> Answers<'a> {
    /// Reads the answers that a request brings, each of which is an object.
    fn of(request: &Request<'a>) -> Result<Option<Self>, ErrorObject> {
        let mut odd: Option<Box<str>> = None;
        let answers = request.params.indexed_object("inputResponses", |key, answer| {
            if !answer.get().starts_with('{') {
                odd.get_or_insert_with(|| key.into());
            }
        });
        let answers = answers.map_err(invalid_params)?;
        match odd {
            Some(key) => Err(no_answer(&key)),
            None => Ok(answers.map(|(text, index)| Self { text, index })),
        }
    }

    /// The digest by which a store for single use knows answers, or their absence.
    fn digest(answers: Option<&Self>) -> Result<AnswersDigest, ErrorObject> {
        let members = answers.map(|answers| RawMembers::of(answers.text)).transpose().map_err(invalid_params)?;
        let digest = AnswersDigest::of(members.as_ref());
        digest.map_err(|error| ProtocolError::invalid_params(error.to_string()).into_object())
    }

    fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.index.find(self.text.get().as_bytes(), key)
    }
}

/// The part of a round that a reservation adds: where steps are kept, and the signal to stop once the client is gone.
struct ReservationContext {
    sink: Arc<dyn JournalSink>,
    stop: StopSignal,
}

/// The end of a round.
pub(crate) enum RoundEnd {
    /// The round ends with this result, as JSON text.
    Result(String),
    /// The flow wants to continue as a task.
    IntoTask(Box<Journal>),
}

impl<'a> Round<'a> {
    /// Reads what a request brings of its flow, and opens its state, which happens only here, once a round.
    ///
    /// The round is boxed because it is large, and moved from one future to the next.
    pub(crate) fn open(
        parts: &'a Parts,
        request: &'a Request<'a>,
        name: &'a str,
        settings: &'a FlowSettings,
    ) -> Result<Box<Self>, ErrorObject> {
        let (shared, results) = (&parts.shared, &parts.results);
        // On a request on which the server may not ask, members of these names have no meaning (TY-6).
        let (answers, state) = if request.brings_answers() {
            (Answers::of(request)?, request.params.text("requestState").map_err(invalid_params)?)
        } else {
            (None, None)
        };
        let (began, binding) = (shared.clock.now(), binding(request));
        let open = |state: Cow<'_, str>| shared.sealer(settings.lifetimes).open_text(&state, &binding, began);
        let opened = state.map(open).transpose().map_err(|refusal| refused(shared, request, name, refusal))?;
        let lazy_flow = match &opened {
            Some(opened) => opened.next_round().into(),
            None => LazyFlow::beginning(settings.lifetimes, began),
        };
        let mut round = Box::new(Self {
            shared,
            results,
            request,
            name,
            settings,
            answers,
            binding,
            began,
            lazy_flow,
            pending: Vec::new(),
            journal: Journal::default(),
            token_use: None,
            reservation: None,
            goes_on_in_place: false,
            span: OnceLock::new(),
        });
        match opened {
            Some(opened) => round.take_state(opened)?,
            None => round.take_unsealed_answers(),
        }
        Ok(round)
    }

    /// Takes the journal from the opened state, and puts the answers to the questions that were asked into it.
    fn take_state(&mut self, opened: Opened<Journal>) -> Result<(), ErrorObject> {
        if self.settings.guard.is_some() {
            let answers = Answers::digest(self.answers.as_ref())?;
            self.token_use = Some(Box::new(opened.token_use(answers)));
        }
        self.journal = opened.into_payload();
        let answers = self.answers.as_ref();
        self.pending = self.journal.settle_pending(|key| {
            let answer = answers.and_then(|answers| answers.get(key));
            answer.inspect(|_| metrics::answered())
        });
        Ok(())
    }

    /// Keeps answers without a state apart: no state says what they answer.
    fn take_unsealed_answers(&mut self) {
        let may_count = self.settings.guard.is_none() && !self.settings.strict;
        if let Some(answers) = self.answers.as_ref().filter(|answers| may_count && !answers.index.is_empty()) {
            let text = self.request.share(answers.text);
            self.journal.put_unsealed(UnsealedAnswers::new(text, answers.index.clone()));
        }
    }

    /// Puts the steps that earlier holders of the reservation recorded into the journal, so that the flow continues
    /// from them.
    fn reserve(&mut self, reservation: ReservationContext, recorded: &[StepRecord]) -> Result<(), ErrorObject> {
        for StepRecord { name, outcome, .. } in recorded {
            match outcome {
                Some(entry) => self.journal.replay(entry).map_err(|_| internal_error())?,
                None => self.journal.put_step_started(name),
            }
        }
        self.reservation = Some(reservation);
        Ok(())
    }

    /// Runs the whole round of a handler that cannot become a task.
    pub(crate) async fn run_round<R: FlowOutput>(
        mut self: Box<Self>,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<String, ErrorObject> {
        let span = self.span();
        let ended = self.run_handler(handler, arguments, finish).instrument(span).await?;
        match ended {
            RoundEnd::Result(result) => Ok(result),
            RoundEnd::IntoTask(_) => self.failed::<R>(misuse("only a tool can become a task")),
        }
    }

    /// The context of a run: all that it has besides its journal.
    #[expect(clippy::inline_always, reason = "what it makes is large: it is made where it is kept")]
    #[inline(always)]
    fn run_context(&self, now: Timestamp) -> RunContext {
        let environment = Arc::clone(&self.shared.environment);
        let capabilities = Arc::clone(&self.request.capabilities);
        let mut context = RunContext::new(environment, self.revision(), self.lazy_flow.clone(), capabilities);
        context.identity.clone_from(&self.request.context.identity);
        context.notifications.clone_from(&self.request.notifier);
        context.deadline = self.settings.run_deadline.unwrap_or(context.deadline);
        context.strict = self.settings.strict;
        context.goes_on_in_place = self.goes_on_in_place;
        context.sheds = self.shared.sheds(self.request.context.received, now);
        if let Some(ReservationContext { sink, stop }) = &self.reservation {
            (context.sink, context.stop) = (Some(Arc::clone(sink)), Some(stop.clone()));
        }
        context
    }

    fn revision(&self) -> Revision {
        self.request.context.revision
    }

    fn sealer(&self) -> Cow<'_, Sealer> {
        self.shared.sealer(self.settings.lifetimes)
    }

    fn span(&self) -> Span {
        let span = info_span!(
            "round",
            flow = %self.lazy_flow.flow_progress(&self.shared.environment).flow(),
            round = self.lazy_flow.round(),
            method = &*self.request.method,
            name = self.name,
            asked = field::Empty,
            answered = field::Empty,
            outcome = field::Empty,
            state_bytes = field::Empty,
        );
        // A span that is not logged is not kept: nothing can be noted in it.
        if span.is_disabled() { span } else { self.span.get_or_init(|| span).clone() }
    }

    fn is_logged(&self) -> bool {
        self.span.get().is_some()
    }

    /// Notes a fact of the round for the log. It goes to the round's own span, and not to the current one: where the
    /// log wants no rounds, the current span is another's.
    fn note<V: field::Value>(&self, fact: &str, value: V) {
        if let Some(span) = self.span.get() {
            span.record(fact, value);
        }
    }

    /// Runs the handler, and makes the reply of what the run left. `finish` sees a complete result before it goes out.
    async fn run_handler<R: FlowOutput>(
        &mut self,
        handler: &Handler<R>,
        arguments: &Json,
        finish: impl FnOnce(&mut R),
    ) -> Result<RoundEnd, ErrorObject> {
        if let Some(live) = self.request.context.live() {
            return Box::pin(self.run_live(&**live, handler, arguments, finish)).await;
        }
        let running = LoadGuard::begin(&self.shared.load);
        if running.is_held {
            running.wait_for_release().await;
        }
        let (journal, context) = (std::mem::take(&mut self.journal), self.run_context(self.began));
        let ran = run(
            async |flow| match handler.start(flow, arguments.as_raw()) {
                Ok(RunningHandler(running)) => running.await,
                Err(ended) => ended,
            },
            journal,
            context,
        )
        .await;
        drop(running);
        let RunReport { outcome, journal, must_carry, seen, .. } =
            resolve_manual_questions(ran, &self.shared.environment, Output::into_manual);
        if self.is_logged() {
            self.note("answered", field::debug(seen.answered(&journal)));
        }
        if !self.pending.is_empty() || self.answers.is_some() {
            warn_of_unmatched(&outcome, &seen, &self.pending, self.answers.as_ref());
        }
        let FlowSettings { guard, tasks, strict, .. } = self.settings;
        let must_carry = must_carry || guard.is_some() || *tasks == TaskPolicy::ByFlow || *strict;
        let result = match outcome {
            Outcome::Done(mut result) => {
                finish(&mut result);
                self.complete(result, "done")
            }
            Outcome::Waiting(questions) => self.interim::<R>(questions, &journal, must_carry),
            Outcome::Yielded { .. } => self.interim::<R>(Vec::new(), &journal, true),
            Outcome::IntoTask => return Ok(RoundEnd::IntoTask(Box::new(journal))),
            Outcome::Stopped(_) => {
                self.concluded("abandoned");
                Err(internal_error())
            }
            Outcome::Failed(failure) => self.failed::<R>(failure),
        };
        result.map(RoundEnd::Result)
    }

    fn complete<R: FlowOutput>(&self, mut result: R, outcome: &'static str) -> Result<String, ErrorObject> {
        self.concluded(outcome);
        match result.meta() {
            None => self.results.write(&result, self.revision()),
            Some(_) => self.results.write_output(result, self.revision()),
        }
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
    ) -> Result<String, ErrorObject> {
        if !self.request.may_ask() {
            let (method, revision) = (&self.request.method, self.revision());
            return self.failed::<R>(misuse(format!("no question can be asked on `{method}` in {revision}")));
        }
        self.note("asked", field::debug(Keys(&questions)));
        let requests = questions.iter().map(|question| &question.request);
        let gate = check_capabilities(requests, &self.request.capabilities, self.revision());
        gate.inspect_err(|_| self.concluded("missing_capability")).map_err(ProtocolError::into_object)?;
        let carries = must_carry || self.settings.policy == StatePolicy::Always || !journal.is_empty();
        let state = match carries.then(|| self.seal(journal, &questions)).transpose() {
            Ok(state) => state,
            Err(error) => return self.unsealed::<R>(&error, journal),
        };
        let state_bytes = state.as_ref().map_or(0, RequestState::len);
        self.note("state_bytes", state_bytes);
        metrics::asked(questions.iter().map(|question| &question.request), state_bytes);
        let outcome = if questions.is_empty() { "yielded" } else { "asked" };
        let requests: InputRequests = questions.into_iter().map(|question| (question.key, question.request)).collect();
        match self.results.write_interim(requests, state, self.revision()) {
            Some(interim) => {
                self.concluded(outcome);
                interim
            }
            None => self.failed::<R>(misuse("the reply would have neither a question nor a state")),
        }
    }

    fn seal(&self, journal: &Journal, questions: &[Question]) -> Result<RequestState, SealError> {
        let sealer = self.sealer();
        // The time at which the state goes out: the time that the round took must not count against the client.
        let now = self.shared.clock.now();
        // The state must outlive the question that may take longest.
        let usual = sealer.round_lifetime();
        let longest = questions.iter().map(|question| question.patience(usual)).max();
        let options = |flow_progress: FlowProgress| match longest.filter(|longest| *longest != usual) {
            Some(longest) => SealOptions::new(flow_progress.lasting_until(now + longest)).valid_for(longest),
            None => SealOptions::new(flow_progress),
        };
        let options = |flow_progress| options(flow_progress).handler_version(&self.settings.version);
        match self.lazy_flow.known() {
            Some(flow_progress) => sealer.seal_as(journal, &self.binding, options(flow_progress), now),
            None => sealer.seal_first(journal, &self.binding, options, now),
        }
    }

    fn unsealed<R: FlowOutput>(&self, error: &SealError, journal: &Journal) -> Result<String, ErrorObject> {
        match error {
            SealError::TooManyRounds { .. } | SealError::FlowEnded => {
                let ended = R::ended("This call has lasted too long; make it again".to_owned());
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

    /// Reports a failure to its reader: the model reads of some, the caller of others, and the operator of the rest.
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
                self.results.write(&failed?, self.revision())
            }
        }
    }
}

#[cold]
fn refused(shared: &Shared, request: &Request<'_>, name: &str, refusal: Refusal) -> ErrorObject {
    metrics::refused(refusal.label());
    let (reason, method) = (refusal.label(), &*request.method);
    let why = match refusal {
        // The refusal alone would read like an attack, and most often the server was restarted. The keys of all processes
        // have one name, so that such a state looks like one that was changed.
        Refusal::Forged if !shared.sealer.outlives_process() => {
            "the state was changed, or another process sealed it, such as this server before a restart: this server \
             seals with a key of its process, and `.sealer(Sealer::from_env(\"MRTR_STATE_KEYS\")?)`, or `mrtr serve` \
             --state-keys FILE, gives it one that stays"
                .to_owned()
        }
        Refusal::UnknownKey if !shared.sealer.outlives_process() => {
            "this server seals with a key of its process, and another process sealed the state, such as this server \
             before a restart: give the builder `.sealer(Sealer::from_env(\"MRTR_STATE_KEYS\")?)`, or `mrtr serve` \
             --state-keys FILE"
                .to_owned()
        }
        refusal => refusal.to_string(),
    };
    tracing::info!(reason, method, name, why, "a request state was refused");
    let mut error = refusal.to_error();
    if shared.explains_failures {
        error.message = format!("{}: {refusal}", error.message);
    }
    error
}

/// The request that a state belongs to.
fn binding<'a>(request: &'a Request<'a>) -> Binding<'a> {
    let Request { method, name, params, context, .. } = request;
    let name = name.as_deref().unwrap_or_default();
    let binding = Binding::named(context.revision, method, name, params.members());
    context.identity.bind(binding)
}

/// The keys of questions, as the log shows them. Without a log, no list of them is made.
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

/// Warns of answers that no question of the run wanted, and of questions of the round before that were not asked again.
/// A new version of the handler explains either; so does a name that differs from run to run, which is a mistake.
///
/// The log shows only names that the server chose, and the number of those that a client made up.
fn warn_of_unmatched<R>(
    outcome: &Outcome<R>,
    seen: &SeenQuestions,
    pending: &[Pending],
    answers: Option<&Answers<'_>>,
) {
    if pending.is_empty() && answers.is_none() {
        return;
    }
    // After any other outcome, the handler did not get as far as it would have.
    if !matches!(outcome, Outcome::Waiting(_) | Outcome::Done(_)) {
        return;
    }
    let is_answered = |question: &&Pending| answers.is_some_and(|answers| answers.get(question.key()).is_some());
    if !seen.raced && pending.iter().any(|question| !seen.contains(question.key())) {
        let gone = pending.iter().filter(|question| !seen.contains(question.key()));
        let (unread, unasked): (Vec<_>, Vec<_>) = gone.partition(is_answered);
        warn_of(&unread, "the client answered questions of the round before that this run did not ask");
        warn_of(&unasked, "the round before asked questions that this run did not ask");
    }
    let Some(answers) = answers else { return };
    // Without a state, any answer may be one that the client gives before it is asked.
    let asked_for = match pending {
        [] => seen.names().filter(|key| answers.get(key).is_some()).count(),
        pending => pending.iter().filter(is_answered).count(),
    };
    let strangers = answers.index.len() - asked_for;
    if strangers > 0 {
        tracing::warn!(answers = strangers, "the client sent answers that this flow did not ask for; they are ignored");
    }
}

fn warn_of(questions: &[&Pending], what: &'static str) {
    if !questions.is_empty() {
        let keys: Vec<_> = questions.iter().map(|question| question.key()).collect();
        tracing::warn!(?keys, "{what}");
    }
}
