//! The state that a running handler and its runner share: the journal, the open questions, and the reason to end the
//! run.

mod held;
mod kept;
mod phase;
mod questions;
mod settling;
mod steps;
mod unpolled;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;

use super::branches::{BranchId, PassedOver};
use super::contained::{AtDrop, Contained, Panicked, contain};
use super::name::{is_name, unescaped};
use super::pace::Pace;
use super::place::{self, Making, Within};
use super::sink::{Batch, Outbox};
use super::stop::{StopReason, StopSignal};
use super::watch::Watch;
use super::{Outcome, RunReport, SeenQuestions, SinkError};
use crate::engine::context::RunContext;
use crate::engine::journal::Journal;
use crate::error::{Failure, FlowError, ToolError};

pub(crate) use held::HeldCall;
use kept::{Kept, Unsealed, cost};
pub(crate) use phase::Ending;
use phase::Phase;
use questions::Questions;
pub(crate) use questions::{Evaluation, FIRST_PAUSE};

use settling::LookAgain;
pub(crate) use settling::{Otherwise, Unsettled};
pub(crate) use steps::{RaceStart, StepStart};
use steps::{StepUse, Steps};
pub(super) use unpolled::Unpolled;

/// A run under way: what its handler and its runner share.
pub(crate) struct ActiveRun {
    pub(crate) context: RunContext,
    state: Mutex<State>,
    /// Wakes the runner when something happens that its handler's own wakers do not tell of.
    runner: AtomicWaker,
    /// Watches the first of the steps that are under way.
    pub(super) watch: Watch,
    pub(super) pace: Pace,
}

struct State {
    phase: Phase,
    kept: Kept,
    questions: Questions,
    steps: Steps,
    /// Counts the steps and checks that must end before the run may.
    in_flight: usize,
    /// The entries that the sink has not been told of yet.
    outbox: Outbox,
    /// The call on the flow that came from inside a step or a check, where only the handler's own code may make it.
    misused: Option<String>,
}

/// The decision whether a run may end.
pub(super) enum Rest {
    /// The run continues.
    None,
    /// Something waits for the steps and checks that are under way.
    AfterSteps,
    /// There is nothing to wait for but answers. The number counts the events after which to poll the handler once
    /// more.
    At(usize),
}

/// The decision on a call that the handler makes on its flow.
pub(crate) enum Admission {
    /// The call proceeds, in this branch.
    To(BranchId),
    /// The call waits for the end of the run.
    Park,
    /// The call can never proceed: the run has ended, or the call does not come from its handler.
    Closed,
}

impl ActiveRun {
    pub(crate) fn new(mut journal: Journal, context: RunContext) -> Self {
        if context.sink.is_some() {
            // This run says anew which questions are open.
            journal.forget_opened();
        }
        let state = State {
            phase: Phase::Active,
            kept: Kept::new(journal, &context),
            questions: Questions::default(),
            steps: Steps::default(),
            in_flight: 0,
            outbox: Outbox::default(),
            misused: None,
        };
        let (state, runner) = (Mutex::new(state), AtomicWaker::new());
        Self { context, state, runner, watch: Watch::default(), pace: Pace::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Polls the handler: what it calls now, it calls in its body.
    pub(super) fn in_body<R>(&self, turn: u32, poll: impl FnOnce() -> R) -> R {
        place::in_body(self.id(), turn, poll)
    }

    /// Returns the place and time at which the handler makes something now.
    pub(crate) fn making(&self) -> Option<Making> {
        place::making(self.id())
    }

    /// Drops the member that lost a race. To drop it is no mistake of the handler's here, as it is elsewhere.
    pub(crate) fn drop_lost<T>(&self, lost: T) {
        place::inside(self.id(), Within::Lost, || drop(lost));
        self.end_if_misused(Within::Lost, "race");
    }

    /// Polls a member of a join: what it calls now, it calls in its branch.
    pub(crate) fn in_branch<R>(&self, branch: BranchId, poll: impl FnOnce() -> R) -> R {
        place::in_branch(self.id(), branch, poll)
    }

    /// Makes a branch for a member of a join, under the branch that polls it first; beside another member, if there is
    /// one.
    pub(crate) fn fork(&self, beside: Option<BranchId>) -> BranchId {
        let parent = place::here(self.id()).map_or(BranchId::BODY, |(branch, _)| branch);
        let mut state = self.state();
        let parent = state.questions.branches.living(parent);
        state.questions.branches.fork(parent, beside)
    }

    /// Returns the branch that is being polled, or the one around it if it lost a race.
    fn branch_here(&self, state: &State) -> BranchId {
        let branch = place::here(self.id()).map_or(BranchId::BODY, |(branch, _)| branch);
        state.questions.branches.living(branch)
    }

    /// Decides whether the run waits for nothing but answers. It does not if the handler gave way, and may ask more.
    /// The waker is registered before the state is read, so that nothing is missed between the two.
    pub(super) fn rest(&self, runner: &Waker, gave_way: bool) -> Rest {
        self.runner.register(runner);
        let state = self.state();
        let over = state.phase.is_ending() || !gave_way && state.asks() || self.stopped().is_some();
        match state.in_flight {
            0 if over && state.outbox.is_empty() => Rest::At(state.questions.turns),
            0 => Rest::None,
            _ if over || !state.questions.held_calls.is_empty() => Rest::AfterSteps,
            _ => Rest::None,
        }
    }

    /// Ready when no step is under way, not even one that the handler has let out of its hands.
    pub(super) fn poll_idle(&self, runner: &Waker) -> Poll<()> {
        self.runner.register(runner);
        if self.state().in_flight == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn stopped(&self) -> Option<StopReason> {
        self.context.stop.as_ref().and_then(StopSignal::raised)
    }

    /// Closes the flow if no step is under way, and returns true if it did.
    pub(super) fn close_if_idle(&self) -> bool {
        let mut state = self.state();
        let is_idle = state.in_flight == 0;
        if is_idle {
            state.phase.close();
        }
        is_idle
    }

    /// Takes the next batch for the sink.
    pub(super) fn take_batch(&self) -> Option<Batch> {
        self.context.sink.as_ref()?;
        self.state().outbox.take()
    }

    /// Notes that the sink has kept a batch, or has failed.
    pub(super) fn batch_ended(&self, batch: &Batch, kept: Result<(), SinkError>) {
        let woken = match kept {
            Ok(()) => self.state().outbox.kept(batch),
            Err(error) => {
                self.sink_failed(error);
                self.state().outbox.fail()
            }
        };
        woken.into_iter().for_each(Waker::wake);
    }

    /// Closes the flow: code that still holds it has no effect any more, and the runner counts as the one who dropped
    /// what its handler drops now.
    pub(super) fn close(&self) {
        self.state().phase.close();
    }

    #[expect(
        clippy::inline_always,
        reason = "rounds and sessions call it: apart from them, it takes 100 instructions more"
    )]
    #[inline(always)]
    pub(super) fn finish<T>(&self, returned: Option<Result<T, Failure>>) -> RunReport<T> {
        let stopped = self.stopped();
        let mut state = self.state();
        let open = std::mem::take(&mut state.questions.open);
        let seen = SeenQuestions { questions: std::mem::take(&mut state.questions.read), raced: state.steps.raced };
        let must_carry = state.kept.must_carry || state.kept.journal.gave_keys() || state.kept.journal.has_steps();
        // Answers that another version may still want go along, as far as they may count and do not take too much room.
        let room = match state.kept.unsealed {
            Unsealed::Closed => 0,
            Unsealed::MayCount | Unsealed::Used => (state.kept.limit.total() / 2).saturating_sub(state.kept.size),
        };
        state.kept.journal.carry_unsealed(room, |key| open.contains_key(key));
        if !open.is_empty() {
            state.ensure_room_to_ask();
        }
        let next_look = state.visits().min_by_key(|look| look.pause);
        let decisions = open.values().filter_map(|question| question.look_again);
        let look_again = decisions.chain(next_look.map(|look| look.pause)).min();
        let outcome = match (state.phase.take(), next_look, returned) {
            (Some(Ending::IntoTask), ..) => Outcome::IntoTask,
            (Some(Ending::Stopped(reason)), ..) => Outcome::Stopped(reason),
            // A reply that asks carries the answers just as well as one that does not.
            (None | Some(Ending::Yielded), ..) if !open.is_empty() => {
                let questions: Vec<_> = open.into_values().map(|question| *question).collect();
                for question in &questions {
                    state.kept.journal.put_opened(question);
                }
                Outcome::Waiting(questions)
            }
            (Some(Ending::Yielded), ..) => {
                Outcome::Yielded { count: state.kept.journal.sheds(), pause: Duration::ZERO }
            }
            // A handler's output past a visit that it waits for counts as little as past an open question.
            (None, Some(LookAgain { count, pause }), _) => Outcome::Yielded { count, pause },
            (None, None, Some(Ok(value))) => Outcome::Done(value),
            (Some(Ending::Failed(failure)), ..) | (None, None, Some(Err(failure))) => Outcome::Failed(failure),
            (None, None, None) => {
                debug_assert!(stopped.is_some(), "a run at rest has an ending or a question");
                Outcome::Stopped(stopped.unwrap_or(StopReason::Disconnected))
            }
        };
        state.kept.journal.run_ended();
        RunReport { outcome, journal: std::mem::take(&mut state.kept.journal), must_carry, look_again, seen }
    }

    /// Ends the run for a reason. The first one stands.
    pub(crate) fn end(&self, ending: Ending) {
        self.state().phase.end(ending);
    }

    pub(crate) fn misuse(&self, text: String) {
        self.end(Ending::Failed(Failure::misuse(text)));
    }

    /// Notes that the handler panicked. Past an open question, a panic counts as little as a returned value.
    pub(super) fn panicked(&self, Panicked(text): &Panicked) {
        let mut state = self.state();
        let went_on = state.questions.branches.passed_over().any(|(_, how)| how == PassedOver::ByHandler);
        if went_on && state.asks() {
            tracing::warn!(
                panic = &*crate::support::echo::logged(text),
                "the handler panicked after it had dropped an open question"
            );
        } else {
            let failure = Failure::misuse(format!("the handler panicked: {text}"));
            state.phase.fail(failure);
        }
    }

    /// Notes that the handler panicked when the runner dropped it. Then nothing that the run would have said can be
    /// trusted.
    pub(super) fn panicked_at_its_end(&self, Panicked(text): &Panicked) {
        let failure = Failure::misuse(format!("the handler panicked when its run ended: {text}"));
        self.state().phase.overrule(failure);
    }

    /// Fails a run that took longer than it may. Tells the log and the caller what it was waiting for.
    pub(super) fn fail_overdue(&self) {
        let mut state = self.state();
        let limit = self.context.deadline;
        let failure = match state.steps.given_up.first() {
            Some(step) if state.in_flight == 0 => FlowError::Interrupted { step: step.clone() }.into(),
            _ => {
                let (waited_for, remedy) = (state.waited_for(), self.context.runner.remedy());
                let text = format!("The run did not end within {limit:?}: it was waiting for {waited_for}{remedy}");
                ToolError::new(text).into()
            }
        };
        tracing::error!(
            flow = %self.context.flow_id(),
            ?limit,
            steps = ?state.steps_under_way(),
            checks = ?state.checks_under_way().collect::<Vec<_>>(),
            dropped_before = ?state.steps.given_up,
            "a run exceeded its time limit and was ended"
        );
        state.phase.fail_late(failure);
    }

    fn sink_failed(&self, error: SinkError) {
        self.end(match error {
            SinkError::Lost => {
                // Steps that listen to the signal need not run to their end for nothing.
                if let Some(signal) = &self.context.stop {
                    signal.raise(StopReason::LeaseLost);
                }
                Ending::Stopped(StopReason::LeaseLost)
            }
            SinkError::Store(error) => {
                tracing::error!(error = crate::error::with_causes(&*error), "an entry could not be stored");
                Ending::Failed(crate::error::ProtocolError::from(crate::error::internal_error()).into())
            }
        });
    }

    /// Polls a step's own work, or the check that says whether a question is settled elsewhere. `None` if it panicked,
    /// or used the flow as only the handler may: then the run ends.
    pub(crate) async fn inside<F: Future>(&self, within: Within, name: &str, work: F) -> Option<F::Output> {
        let what = EndsRun { run: self, what: within.noun(), name };
        let mut work = std::pin::pin!(Contained::telling(work, what));
        std::future::poll_fn(|cx| {
            let polled = place::inside(self.id(), within, || work.as_mut().poll(cx));
            if self.end_if_misused(within, name) {
                return Poll::Ready(None);
            }
            polled.map(|ended| self.or_end(ended, || format!("{} `{name}`", within.noun())))
        })
        .await
    }

    /// Runs a handler's own check of an answer. `None` if it used the flow as only the handler may: then the run ends.
    pub(crate) fn judge<R>(&self, key: &str, check: impl FnOnce() -> R) -> Option<R> {
        let judged = place::inside(self.id(), Within::Validate, check);
        (!self.end_if_misused(Within::Validate, key)).then_some(judged)
    }

    /// Ends the run if code inside a step or a check used the flow as only the handler may: that call would wait for
    /// ever, and the run for it. Returns true if so.
    fn end_if_misused(&self, within: Within, name: &str) -> bool {
        let Some(what) = self.state().misused.take() else { return false };
        self.misuse(format!(
            "{what} was used inside {} `{name}`, which cannot wait for the client: ask before it and pass it the \
             answer; begin another step before or after it",
            within.noun()
        ));
        true
    }

    /// Waits for a question that runs code of the application's. If that code panics, the run ends, even if the handler
    /// catches the panic: the handler has no answer, and must not continue as if it had.
    pub(crate) async fn contained<F: Future>(&self, key: &str, question: F) -> F::Output {
        let what = EndsRun { run: self, what: "the question", name: key };
        match self.or_end(Contained::telling(question, what).await, || format!("the question `{key}`")) {
            Some(output) => output,
            None => std::future::pending().await,
        }
    }

    /// Runs code of the application's that only computes, such as a check of an answer. `None` if it panicked: then the
    /// run ends, even if the handler continues.
    pub(crate) fn contain<R>(&self, what: &str, name: &str, run: impl FnOnce() -> R) -> Option<R> {
        self.or_end(contain(run), || format!("{what} `{name}`"))
    }

    fn or_end<R>(&self, ended: Result<R, Panicked>, what: impl FnOnce() -> String) -> Option<R> {
        ended.map_err(|Panicked(text)| self.misuse(format!("{} panicked: {text}", what()))).ok()
    }

    /// Ends the run if its signal was raised. Returns true if the run is ending, for this reason or another: then the
    /// present call must stop. Each call looks, since a handler that is never pending does not give the runner a turn
    /// to look.
    fn end_if_stopped(&self, state: &mut State) -> bool {
        if let Some(reason) = self.stopped() {
            state.phase.end(Ending::Stopped(reason));
        }
        state.phase.is_ending()
    }

    /// Decides on a call on the flow, by where the call comes from and whether the run still continues.
    fn admit(&self, state: &mut State, what: impl FnOnce() -> String) -> Admission {
        if state.phase.is_closed() {
            return Admission::Closed;
        }
        match place::here(self.id()) {
            None => {
                let text = format!(
                    "{} was used outside the handler's own code, as by a spawned task: a flow belongs to its handler; \
                     `flow.join` with `flow.branch` does several things at once",
                    what()
                );
                state.phase.fail(Failure::misuse(text));
                self.runner.wake();
                Admission::Closed
            }
            Some((_, Within::Step | Within::Until | Within::Validate | Within::Lost)) => {
                state.misused.get_or_insert_with(what);
                Admission::Park
            }
            Some(_) if self.end_if_stopped(state) => Admission::Park,
            Some((branch, Within::Handler)) => Admission::To(state.questions.branches.living(branch)),
        }
    }

    /// Looks as `admit` does, and also checks that the name is one.
    fn admit_name(&self, state: &mut State, what: &str, name: &str) -> Admission {
        let admission = self.admit(state, || format!("{what} `{name}`"));
        if matches!(admission, Admission::To(_)) && !unescaped(name).map_or(is_name(name), |name| is_name(&name)) {
            let text = format!("{name:?} cannot name a {what}: use 1 to 128 printable characters");
            state.phase.fail(Failure::misuse(text));
            return Admission::Park;
        }
        admission
    }
}

/// Ends a run in which something panicked when it was dropped, as by `select!`: the handler continues without it, so
/// its failure must not pass unnoticed.
struct EndsRun<'a> {
    run: &'a ActiveRun,
    what: &'static str,
    name: &'a str,
}

impl AtDrop for EndsRun<'_> {
    fn panicked(&self, Panicked(text): &Panicked) {
        let Self { run, what, name } = self;
        run.misuse(format!("{what} `{name}` panicked when it was dropped: {text}"));
    }
}

/// Waits for the end of the run, for a call that may not proceed. A call on a flow whose run has ended, or by a spawned
/// task, would wait for ever: it has no other way to say so than to panic.
pub(crate) async fn park<T>(admission: Admission, what: &str) -> T {
    let closed = matches!(admission, Admission::Closed) && !std::thread::panicking();
    assert!(!closed, "{what}: {}", FlowError::Closed);
    std::future::pending().await
}

impl Within {
    fn noun(self) -> &'static str {
        match self {
            Self::Handler => "the handler",
            Self::Step => "step",
            Self::Until => "`until` of",
            Self::Validate => "`validate` of",
            Self::Lost => "what lost",
        }
    }
}

impl State {
    /// Returns true if the run may end though its handler would continue: it asked something, or looks for something
    /// again later.
    fn asks(&self) -> bool {
        !self.questions.open.is_empty() || self.visits().next().is_some()
    }

    /// Says in words for the caller what a run that is overdue was waiting for.
    fn waited_for(&self) -> String {
        let steps = self.steps_under_way().into_iter().map(|name| format!("step `{name}`"));
        let all: Vec<_> = steps.chain(self.checks_under_way().map(|key| format!("`until` of `{key}`"))).collect();
        if all.is_empty() { "something outside its steps".to_owned() } else { all.join(" and ") }
    }

    /// Returns the steps that have begun in this run and have not ended.
    fn steps_under_way(&self) -> Vec<&str> {
        let steps = self.steps.uses.iter().filter(|(_, step)| matches!(step, StepUse::UnderWay(_)));
        steps.map(|(name, _)| name).collect()
    }
}
