//! A call as a pure state machine: what came in, and what to do next. It does no I/O and has no clock.

mod reply;
mod task;

use std::time::Duration;

use mrtr_schema::{ErrorObject, InputRequest, InputResponse, Json, JsonObject, ReadError, Revision};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Limits, NotAsked, PendingCall};
use reply::ReplyKind;

/// A call on its way: ask it what to do, and tell it what came of that.
///
/// ```
/// use mrtr_client::{Action, Call, Limits};
/// use mrtr_schema::{Json, JsonObject, Revision};
///
/// let params = JsonObject::parse(r#"{"name": "greet"}"#)?;
/// let mut call = Call::new(Revision::Published, "tools/call", params, Limits::default(), 1);
/// let Action::Send(request) = call.action() else { panic!("it sends first") };
/// assert_eq!(request.method, "tools/call");
///
/// let interim = Json::parse(r#"{"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}"#)?;
/// call.replied(Ok(interim.as_raw()));
/// let Action::Gather(questions) = call.action() else { panic!("it was asked") };
/// assert_eq!(questions[0].0, "r");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Call {
    pending: PendingCall,
    limits: Limits,
    phase: Phase,
    /// Where the variation of pauses comes from.
    seed: u64,
}

/// Where a call is.
#[derive(Debug, Clone)]
enum Phase {
    /// This is to be sent, or was sent and has no reply yet.
    Sending(Sending),
    /// Some questions have no answer yet.
    Gathering,
    /// Nothing is to be done for a while, and then this is to be sent.
    Waiting(Duration, Sending),
    Over(Outcome),
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// The call itself, or a retry of it.
    Call,
    /// A look at the task.
    GetTask,
    /// The result of a task, or its questions: of the older revisions.
    TaskResult,
    /// Answers for the task.
    AnswerTask,
}

/// What is to be done next.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "whoever drives a call must do each of them")]
pub enum Action {
    /// Send this, and tell what was replied.
    Send(Outgoing),
    /// Answer these, each by its key, in any order.
    Gather(Vec<(String, InputRequest)>),
    /// Wait this long.
    Wait(Duration),
    /// Nothing: the call is over.
    Done(Outcome),
}

/// A request to be sent, without what the driver adds: an id and metadata.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: JsonObject,
}

/// How a call ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// With this result.
    Complete(Json),
    /// With this error of the server's.
    Failed(ErrorObject),
    /// It may be picked up again.
    Stopped(Stop),
}

/// Why a call stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// The server asks again, and all rounds are used.
    #[error("the server still asks after {0} rounds")]
    TooManyRounds(u32),
    /// The server keeps asking nothing.
    #[error("the server put the call off {0} times in a row")]
    TooManyStateOnlyRounds(u32),
    /// The server asks only for what this client does not know.
    #[error("the server asks for what this client does not know: {}", .0.join(", "))]
    Unanswerable(Vec<String>),
    /// The state is longer than is taken.
    #[error("the state has {0} bytes")]
    StateTooLong(usize),
    /// The reply is none that the protocol allows.
    #[error("the reply cannot be read: {0}")]
    BadReply(#[from] ReadError),
    /// The task goes on and on.
    #[error("the task was not done after {0} looks")]
    TooManyLooks(u32),
    /// The task was cancelled.
    #[error("the task was cancelled")]
    TaskCancelled,
}

impl Call {
    /// A call that has not been sent yet. `seed` varies the pauses between retries.
    pub fn new(revision: Revision, method: impl Into<String>, params: JsonObject, limits: Limits, seed: u64) -> Self {
        Self::resume(PendingCall::new(revision, method, params), limits, seed)
    }

    /// A call that was put down: it goes on where it was. One that had used all its rounds has one more.
    pub fn resume(pending: PendingCall, limits: Limits, seed: u64) -> Self {
        let mut call = Self { pending, limits, phase: Phase::Sending(Sending::Call), seed };
        if call.pending.asked.is_some() {
            call.phase = Phase::Gathering;
            call.settle();
        } else if call.pending.task.is_some() {
            call.phase = Phase::Sending(Sending::GetTask);
        }
        call
    }

    /// What was put down, as it is now.
    pub fn pending(&self) -> &PendingCall {
        &self.pending
    }

    /// The call, put down.
    pub fn into_pending(self) -> PendingCall {
        self.pending
    }

    /// What is to be done next. Asking twice gives the same.
    pub fn action(&self) -> Action {
        match &self.phase {
            Phase::Sending(sending) => Action::Send(self.outgoing(*sending)),
            Phase::Gathering => Action::Gather(self.open_questions()),
            Phase::Waiting(duration, _) => Action::Wait(*duration),
            Phase::Over(outcome) => Action::Done(outcome.clone()),
        }
    }

    fn open_questions(&self) -> Vec<(String, InputRequest)> {
        let questions = self.pending.questions().unwrap_or_default();
        let open: Vec<_> = self.pending.unanswered().collect();
        questions.into_iter().filter(|(key, _)| open.contains(key)).collect()
    }

    /// The wait is over.
    pub fn waited(&mut self) {
        if let Phase::Waiting(_, then) = self.phase {
            self.phase = Phase::Sending(then);
        }
    }

    /// A question was answered.
    pub fn answered(&mut self, key: &str, answer: &InputResponse) -> Result<(), NotAsked> {
        self.pending.answer(key, answer)?;
        self.settle();
        Ok(())
    }

    /// A question is of a kind that this client does not know: the others are answered without it.
    pub fn skipped(&mut self, key: &str) {
        if self.pending.question(key).is_some() && !self.pending.answers.contains_key(key) {
            self.pending.skipped.push(key.to_owned());
            self.settle();
        }
    }

    /// Goes on once every question is answered or skipped.
    fn settle(&mut self) {
        if !matches!(self.phase, Phase::Gathering) || self.pending.unanswered().next().is_some() {
            return;
        }
        let asks_nothing_known = self.pending.answers.is_empty() && !self.pending.skipped.is_empty();
        self.phase = if asks_nothing_known {
            Phase::Over(Outcome::Stopped(Stop::Unanswerable(self.pending.skipped.clone())))
        } else if self.pending.task.is_some() {
            Phase::Sending(Sending::AnswerTask)
        } else {
            Phase::Sending(Sending::Call)
        };
    }

    /// The server replied, with a result or with an error.
    pub fn replied(&mut self, reply: Result<&RawValue, ErrorObject>) {
        let Phase::Sending(sending) = self.phase else { return };
        let next = match reply {
            Err(error) => Ok(Phase::Over(Outcome::Failed(error))),
            Ok(result) if sending == Sending::Call => self.after_call(result),
            Ok(result) => self.after_task_message(sending, result),
        };
        self.phase = next.unwrap_or_else(|error| Phase::Over(Outcome::Stopped(error.into())));
    }

    fn after_call(&mut self, result: &RawValue) -> Result<Phase, ReadError> {
        if self.brings_answers() || self.pending.rounds == 0 {
            self.pending.rounds += 1;
        }
        match ReplyKind::of(result, self.pending.revision)? {
            ReplyKind::Complete(result) => Ok(Phase::Over(Outcome::Complete(result))),
            ReplyKind::Interim { asked, state } => {
                self.pending.state = state;
                self.pending.answers.clear();
                self.pending.skipped.clear();
                self.pending.asked = asked;
                Ok(self.after_interim())
            }
            ReplyKind::Task(task) => {
                self.pending.state = None;
                self.pending.asked = None;
                self.pending.answers.clear();
                self.pending.task = Some(task);
                Ok(Phase::Waiting(self.poll_interval(), Sending::GetTask))
            }
        }
    }

    /// Whether the last request brought anything new.
    fn brings_answers(&self) -> bool {
        !self.pending.answers.is_empty()
    }

    fn after_interim(&mut self) -> Phase {
        let stop = |stop| Phase::Over(Outcome::Stopped(stop));
        if let Some(length) = self.pending.state.as_ref().map(mrtr_schema::RequestState::len)
            && length > self.limits.state_bytes
        {
            return stop(Stop::StateTooLong(length));
        }
        if self.pending.asked.is_none() {
            self.pending.state_only_rounds += 1;
            let times = self.pending.state_only_rounds;
            if times > self.limits.state_only_rounds {
                return stop(Stop::TooManyStateOnlyRounds(self.limits.state_only_rounds));
            }
            let pause = self.varied(self.limits.backoff.saturating_mul(1 << (times - 1).min(16)));
            return Phase::Waiting(pause.min(LONGEST_PAUSE), Sending::Call);
        }
        self.pending.state_only_rounds = 0;
        if self.pending.rounds >= self.limits.rounds {
            return stop(Stop::TooManyRounds(self.limits.rounds));
        }
        Phase::Gathering
    }

    /// A pause of between half and all of this, so that clients put off together do not come back together.
    fn varied(&mut self, pause: Duration) -> Duration {
        // Knuth's generator: good enough to spread clients, and the same for the same seed.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let half = pause / 2;
        half + half.mul_f64(f64::from((self.seed >> 32) as u32) / f64::from(u32::MAX))
    }

    fn outgoing(&self, sending: Sending) -> Outgoing {
        match sending {
            Sending::Call => Outgoing { method: self.pending.method.clone(), params: self.retry_params() },
            other => self.task_message(other),
        }
    }

    /// The original parameters, with the answers and the state of this retry and of no other (CL-2, CL-4, CL-5).
    fn retry_params(&self) -> JsonObject {
        let mut params: Map<String, Value> = Map::new();
        let original = mrtr_schema::RawMembers::of(self.pending.params.as_raw()).unwrap_or_default();
        let mut raw: Vec<(String, Box<RawValue>)> =
            original.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if !self.pending.answers.is_empty() {
            raw.push(("inputResponses".to_owned(), answers(&self.pending)));
        }
        if let Some(state) = &self.pending.state {
            params.insert("requestState".to_owned(), state.untrusted_text().into());
        }
        object(raw, params)
    }
}

/// The longest pause between two retries, however often the server puts the call off.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The answers as they are sent.
fn answers(pending: &PendingCall) -> Box<RawValue> {
    serde_json::value::to_raw_value(&pending.answers).expect("answers are JSON")
}

/// An object of members that are kept as text, and of some more.
fn object(raw: Vec<(String, Box<RawValue>)>, more: Map<String, Value>) -> JsonObject {
    let mut members: indexmap::IndexMap<String, Box<RawValue>> = raw.into_iter().collect();
    for (key, value) in more {
        members.insert(key, serde_json::value::to_raw_value(&value).expect("a value is JSON"));
    }
    let text = serde_json::to_string(&members).expect("members are JSON");
    JsonObject::parse(&text).expect("members of an object make an object")
}
