//! A call as a pure state machine: it takes what came in, and says what to do next. It does no I/O and has no clock.

mod action;
mod backoff;
mod reply;
mod task;

use std::collections::HashSet;
use std::time::Duration;

use mrtr_schema::input::InputKind;
use mrtr_schema::{ErrorCode, ErrorObject, InputRequest, Json, JsonObject, RequestState, Revision, Wire};
use serde_json::value::RawValue;

pub use action::{Action, CallOutcome, Outgoing, Stop};

use crate::answer::AnswerError;
use crate::limits::Limits;
use crate::pending::{PendingCall, Questions};
use crate::raw::RawObject;
use backoff::Pauses;
use reply::ReplyKind;

/// A call on its way. Ask it what to do, do that, and tell it the result.
///
/// ```
/// use mrtr_client::{Action, Call, Limits, CallOutcome};
/// use mrtr_schema::{Json, JsonObject, Revision};
/// use mrtr_schema::roots::ListRootsResult;
///
/// let params = JsonObject::parse(r#"{"name": "greet"}"#)?;
/// let mut call = Call::new(Revision::V2026_07_28, "tools/call", params, Limits::default(), 1);
/// let Action::Send(request) = call.action() else { panic!("it sends first") };
/// assert_eq!(request.method, "tools/call");
///
/// let interim = r#"{"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}"#;
/// call.replied(Ok(Json::parse(interim)?.as_raw()), None);
/// let Action::Gather(questions) = call.action() else { panic!("it was asked") };
/// assert_eq!(questions[0].0, "r");
///
/// call.answered("r", &ListRootsResult::new([]))?;
/// let Action::Send(retry) = call.action() else { panic!("all is answered") };
/// assert_eq!(retry.params.get(), r#"{"name":"greet","inputResponses":{"r":{"roots":[]}}}"#);
///
/// call.replied(Ok(Json::parse(r#"{"resultType": "complete", "content": []}"#)?.as_raw()), None);
/// assert!(matches!(call.action(), Action::Done));
/// assert!(matches!(call.end(), (Some(CallOutcome::Complete(_)), _)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Call {
    pending: PendingCall,
    limits: Limits,
    phase: Phase,
    pauses: Pauses,
    /// Revisions that the server does not have.
    refused: Vec<Revision>,
    /// The revision that the server has, if it is not the first.
    agreed: Option<Revision>,
    /// True if the server refused the parameters of a request about the task.
    was_task_refused: bool,
}

/// The phase that a call is in.
#[derive(Debug, Clone)]
enum Phase {
    /// This request is to be sent, or was sent and has no reply yet.
    Sending(Sending),
    /// Some questions have no answer yet.
    Gathering,
    /// A pause comes first, and then the questions that were just asked are to be answered.
    AskingLater(Duration),
    /// A pause comes first, and then this request is to be sent.
    Waiting(Duration, Sending),
    Over(CallOutcome),
}

/// The request to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// The call itself, or a retry of it.
    Call,
    /// A poll of the task.
    GetTask,
    /// A request of the older revisions for the task's result or its questions.
    TaskResult,
    /// Answers for the task.
    AnswerTask,
}

impl Call {
    /// Creates a call that has not been sent yet. `seed` varies the pauses between retries.
    pub fn new(revision: Revision, method: impl Into<String>, params: JsonObject, limits: Limits, seed: u64) -> Self {
        Self::resume(PendingCall::new(revision, method, params), limits, seed)
    }

    /// Resumes a saved call where it stopped. If the call has used up a limit, it may go one further.
    pub fn resume(pending: PendingCall, limits: Limits, seed: u64) -> Self {
        let polls = pending.task.as_ref().map_or(0, |task| task.polls);
        let limits = Limits {
            rounds: limits.rounds.max(pending.rounds.saturating_add(1)),
            state_only_rounds: limits.state_only_rounds.max(pending.state_only_rounds.saturating_add(1)),
            polls: limits.polls.max(polls.saturating_add(1)),
            ..limits
        };
        // A task's questions may be answered or over by now, unless an answer is on its way.
        let polls_first = pending.task.is_some() && pending.answers.is_empty();
        let phase = match (&pending.asked, &pending.task) {
            (_, Some(_)) if polls_first => Phase::Sending(Sending::GetTask),
            (Some(_), _) => Phase::Gathering,
            (None, Some(_)) => Phase::Sending(Sending::GetTask),
            (None, None) => Phase::Sending(Sending::Call),
        };
        let (pauses, refused) = (Pauses::new(seed), Vec::new());
        let mut call = Self { pending, limits, phase, pauses, refused, agreed: None, was_task_refused: false };
        // A saved call may hold more than this client takes, as a reply may.
        if let Err(stop) = call.check_size(call.pending.asked.as_ref(), call.pending.state.as_ref()) {
            call.phase = Phase::stopped(stop);
        }
        call.proceed();
        call
    }

    /// Returns the call as it is now, in the form in which it can be saved.
    pub fn pending(&self) -> &PendingCall {
        &self.pending
    }

    /// Returns the outcome of the call, if it has ended, and what is left of it.
    pub fn end(self) -> (Option<CallOutcome>, PendingCall) {
        match self.phase {
            Phase::Over(outcome) => (Some(outcome), self.pending),
            _ => (None, self.pending),
        }
    }

    /// Returns the next thing to do. Asking twice gives the same.
    pub fn action(&self) -> Action {
        match &self.phase {
            Phase::Sending(sending) => Action::Send(self.outgoing(*sending)),
            Phase::Gathering => Action::Gather(self.open_questions()),
            Phase::Waiting(duration, _) | Phase::AskingLater(duration) => Action::Wait(*duration),
            Phase::Over(_) => Action::Done,
        }
    }

    /// True if the call waits to poll its task: what was sent before has arrived.
    pub(crate) fn polls_next(&self) -> bool {
        matches!(self.phase, Phase::Waiting(_, Sending::GetTask))
    }

    /// True if the server refused the parameters of a request about the task: most likely it does not know the task.
    pub(crate) fn was_task_refused(&self) -> bool {
        self.was_task_refused
    }

    fn open_questions(&self) -> Vec<(String, InputRequest)> {
        let open = self.pending.unanswered();
        open.filter_map(|key| Some((key.to_owned(), self.pending.question(key)?.clone()))).collect()
    }

    /// Tells the call that the wait is over.
    pub fn waited(&mut self) {
        match self.phase {
            Phase::Waiting(_, then) => self.phase = Phase::Sending(then),
            Phase::AskingLater(_) => {
                self.phase = Phase::Gathering;
                self.proceed();
            }
            Phase::Sending(_) | Phase::Gathering | Phase::Over(_) => {}
        }
    }

    /// Takes the answer to a question: see [`PendingCall::answer`].
    pub fn answered<A: Wire>(&mut self, key: &str, answer: &A) -> Result<(), AnswerError> {
        self.pending.answer(key, answer)?;
        self.proceed();
        Ok(())
    }

    /// Leaves out a question of a kind that this client does not know: the others are answered without it (NS-3).
    pub fn skipped(&mut self, key: &str) -> Result<(), AnswerError> {
        self.pending.skip(key)?;
        self.proceed();
        Ok(())
    }

    /// Goes on once every question is answered or skipped.
    fn proceed(&mut self) {
        if !matches!(self.phase, Phase::Gathering) || !self.pending.is_fully_answered() {
            return;
        }
        self.phase = if self.pending.answers.is_empty() {
            // Another client that picks the call up may know these kinds.
            Phase::stopped(Stop::Unanswerable(std::mem::take(&mut self.pending.skipped)))
        } else if self.pending.task.is_some() {
            Phase::Sending(Sending::AnswerTask)
        } else {
            Phase::Sending(Sending::Call)
        };
    }

    /// Takes the server's reply: a result or an error, and how long the server wants to be left alone if it is busy.
    pub fn replied(&mut self, reply: Result<&RawValue, ErrorObject>, retry_after: Option<Duration>) {
        let Phase::Sending(sending) = self.phase else { return };
        let reply = match reply.map(Json::from_raw) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => return self.phase = Phase::stopped(error.into()),
            Err(error) => Err(error),
        };
        if reply.is_ok() && !self.refused.is_empty() {
            self.agreed = Some(self.pending.revision);
        }
        let next = match reply {
            // The server has not begun with the request, and says when to come again: a code alone may be an
            // application's own.
            Err(error) if error.code == ErrorCode::BUSY && retry_after.is_some() => {
                Ok(self.pause(sending, retry_after))
            }
            Err(error) => Ok(self.after_error(sending, error)),
            Ok(result) if sending == Sending::Call => self.after_call(result, retry_after),
            Ok(result) => self.after_task_message(sending, result.as_raw()),
        };
        self.phase = next.unwrap_or_else(Phase::stopped);
    }

    /// Tells the call that the server was too busy to take the request: it is sent again later.
    pub fn back_off(&mut self, retry_after: Option<Duration>) {
        if let Phase::Sending(sending) = self.phase {
            self.phase = self.pause(sending, retry_after);
        }
    }

    /// Stops the call: the reply is none that the protocol allows, or is too long.
    pub fn refuse_reply(&mut self, reason: Stop) {
        if let Phase::Sending(_) = self.phase {
            self.phase = Phase::stopped(reason);
        }
    }

    fn after_call(&mut self, result: Json, retry_after: Option<Duration>) -> Result<Phase, Stop> {
        match ReplyKind::of(result, &self.pending)? {
            ReplyKind::Complete(result) => Ok(Phase::Over(CallOutcome::Complete(result))),
            ReplyKind::Interim { asked, state } => {
                self.check_size(asked.as_ref(), state.as_ref())?;
                let again = asked.as_ref().is_some_and(|asked| self.has_url_again(asked));
                self.end_round(asked, state);
                Ok(match self.pending.asked {
                    Some(_) if again => self.ask_later(),
                    Some(_) => self.ask(),
                    None => self.pause(Sending::Call, retry_after),
                })
            }
            ReplyKind::Task(mut task) => {
                self.end_round(None, None);
                self.pending.state_only_rounds = 0;
                task.server.clone_from(&self.pending.server);
                task.name = self.pending.name();
                self.pending.task = Some(task);
                Ok(self.poll_later())
            }
        }
    }

    /// Ends a round: its state and its answers are of no further use, and those of the next take their place (CL-2).
    fn end_round(&mut self, asked: Option<Questions>, state: Option<RequestState>) {
        // A retry that brought no answers belongs to the round before it.
        if self.pending.rounds == 0 || !self.pending.answers.is_empty() {
            self.pending.rounds = self.pending.rounds.saturating_add(1);
        }
        self.pending.asked = asked;
        self.pending.state = state;
        self.pending.answers.clear();
        self.pending.skipped.clear();
    }

    fn check_size(&self, asked: Option<&Questions>, state: Option<&RequestState>) -> Result<(), Stop> {
        let questions = asked.map_or(0, |asked| asked.requests.len());
        let asked = asked.map_or(0, |asked| asked.raw.as_str().len());
        let length = state.map_or(0, RequestState::len);
        if asked > self.limits.reply_bytes {
            Err(Stop::ReplyTooLong(asked))
        } else if questions > self.limits.questions {
            Err(Stop::TooManyQuestions(questions))
        } else if length > self.limits.state_bytes {
            Err(Stop::StateTooLong(length))
        } else {
            Ok(())
        }
    }

    /// Has the questions answered, if there is a round left to send the answers in: no answer is given for nothing.
    fn ask(&mut self) -> Phase {
        self.pending.state_only_rounds = 0;
        self.pending.same_url_rounds = 0;
        if self.pending.rounds >= self.limits.rounds {
            return Phase::stopped(Stop::TooManyRounds(self.pending.rounds));
        }
        Phase::Gathering
    }

    /// True if the server asks for a URL that it asked for in this round already: what the URL is for is not done.
    fn has_url_again(&self, asked: &Questions) -> bool {
        let Some(before) = &self.pending.asked else { return false };
        let shown: HashSet<_> = before.requests.iter().filter_map(|(_, request)| url(request)).collect();
        asked.requests.iter().filter_map(|(_, request)| url(request)).any(|url| shown.contains(url))
    }

    /// Has the questions answered after a pause, longer each time: a person needs time to do what a URL is for, and
    /// should not see it over and over meanwhile.
    fn ask_later(&mut self) -> Phase {
        let times = self.pending.same_url_rounds;
        let phase = self.ask();
        self.pending.same_url_rounds = times.saturating_add(1);
        match phase {
            Phase::Gathering => Phase::AskingLater(self.pauses.next(self.limits.url_pause, times, None)),
            over => over,
        }
    }

    /// Waits before the same request is sent again, longer each time. A server that is busy and one that asks nothing are
    /// one case: neither brings the call further, so both count against one limit, and anything that does resets it.
    fn pause(&mut self, then: Sending, retry_after: Option<Duration>) -> Phase {
        let times = self.pending.state_only_rounds;
        self.pending.state_only_rounds = times.saturating_add(1);
        if times >= self.limits.state_only_rounds {
            return Phase::stopped(Stop::TooManyStateOnlyRounds(times));
        }
        Phase::Waiting(self.pauses.next(self.limits.backoff, times, retry_after), then)
    }

    fn outgoing(&self, sending: Sending) -> Outgoing {
        if sending != Sending::Call {
            return self.task_message(sending);
        }
        let is_retry = !self.pending.answers.is_empty() || self.pending.state.is_some();
        let params = if is_retry { self.retry_params() } else { self.pending.params.as_raw().to_owned() };
        Outgoing { method: self.pending.method.clone(), params, is_retry }
    }

    /// The original parameters, with the answers and the state of this retry and of no other (CL-2, CL-4, CL-5).
    fn retry_params(&self) -> Box<RawValue> {
        let mut params = RawObject::of(self.pending.params.as_raw());
        if !self.pending.answers.is_empty() {
            params.set("inputResponses", &self.pending.answers);
        }
        if let Some(state) = &self.pending.state {
            params.set("requestState", state);
        }
        params.finish()
    }
}

/// The URL that a question is about, if it is about one.
fn url(request: &InputRequest) -> Option<&str> {
    match request.kind() {
        InputKind::Url(params) => Some(params.url.as_str()),
        InputKind::Form(_)
        | InputKind::Sample(_)
        | InputKind::Roots
        | InputKind::Namespaced(_)
        | InputKind::Unknown(_) => None,
    }
}

impl Phase {
    fn stopped(stop: Stop) -> Self {
        Self::Over(CallOutcome::Stopped(stop))
    }
}
