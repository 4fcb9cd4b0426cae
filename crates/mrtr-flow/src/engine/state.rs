//! What a running handler and its runner share: the journal, the open questions, and why the run must end.

mod held;
mod questions;
mod races;
mod settling;
mod steps;
mod unpolled;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;

use super::branches::{BranchId, Branches, PassedOver};
use super::contained::{AtDrop, Contained, Panicked, contain};
use super::name::{is_name, unescaped};
use super::outbox::{Batch, Outbox};
use super::pace::Pace;
use super::place::{self, Making, Within};
use super::stop::{StopReason, StopSignal};
use super::watch::{Watch, Watcher};
use super::{Outcome, Question, RunReport, SeenQuestions, SinkError};
use crate::engine::context::{JournalLimit, RunContext};
use crate::engine::journal::{Journal, Leaf, PER_ENTRY};
use crate::error::{Failure, FlowError, ToolError, too_much};
use crate::support::by_name::{ByName, Names};

pub(crate) use held::HeldCall;
use held::HeldCalls;
pub(crate) use questions::{Evaluation, FIRST_PAUSE};
pub(crate) use races::RaceStart;
use settling::{HeldQuestion, LookAgain};
pub(crate) use settling::{Otherwise, Unsettled};
pub(crate) use steps::StepStart;
use steps::StepUse;
pub(super) use unpolled::Unpolled;

pub(crate) struct Run {
    pub(crate) context: RunContext,
    state: Mutex<State>,
    /// Wakes the runner when something happens that its handler's own wakers do not tell of.
    runner: AtomicWaker,
    /// Watches the first of the steps that are under way.
    pub(super) watch: Watch,
    pub(super) pace: Pace,
}

struct State {
    journal: Journal,
    /// Roughly how many bytes the journal takes, sealed.
    size: usize,
    /// How many it may take.
    limit: JournalLimit,
    /// Open questions, in the order in which they were asked.
    open: ByName<Box<Question>>,
    /// How often something happened for which the handler is polled once more before the run may end: a question was
    /// opened, or calls that were held may begin.
    turns: usize,
    branches: Branches<HeldQuestion>,
    held_calls: HeldCalls,
    /// What was read under each name in this run: the same name must mean the same thing. A name that was only looked
    /// up by hand has no meaning yet.
    read: Names<Option<u64>>,
    /// The steps and races of this run, and whether each was begun in it.
    steps: Names<StepUse>,
    /// The last step that gave an outcome: where and when it was made, and its place among the steps.
    last_outcome: Option<(Making, usize)>,
    /// The run's own watch, while it watches no step.
    free_watcher: Option<Watcher>,
    /// How many steps and checks must end before the run may.
    in_flight: usize,
    /// Steps that wait for ever, because the handler dropped them in an earlier run.
    given_up: Vec<String>,
    /// Whether a race was run: what lost was asked for and is not looked at.
    raced: bool,
    /// What the sink has not been told of yet.
    outbox: Outbox,
    /// What of the flow was used inside a step or a check, where only the handler's own code may use it.
    misused: Option<String>,
    unsealed: Unsealed,
    must_carry: bool,
    /// How far an earlier run had come.
    resumed: Option<Leaf>,
    ending: Option<Ending>,
    /// Whether the run has ended: its flow is closed.
    over: bool,
}

/// What becomes of answers that came without a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unsealed {
    /// A question may use them.
    MayCount,
    /// One did: before anything is done, they go out in a state.
    Used,
    /// A step was begun or read: they count no more.
    Closed,
}

/// Why a run ends though its handler would go on.
pub(crate) enum Ending {
    IntoTask,
    Yielded,
    Stopped(StopReason),
    Failed(Failure),
}

/// Whether a run may end.
pub(super) enum Rest {
    /// It goes on.
    None,
    /// Something waits for the steps and checks that are under way.
    AfterSteps,
    /// There is nothing to wait for but answers; the handler was to be polled once more so often.
    At(usize),
}

/// Whether a call on the flow goes on.
pub(crate) enum Admission {
    /// It does, in this branch.
    To(BranchId),
    /// It waits for the end of the run.
    Park,
    /// It never will: the run has ended, or the call does not come from its handler.
    Closed,
}

impl Run {
    pub(crate) fn new(mut journal: Journal, context: RunContext) -> Self {
        if context.sink.is_some() {
            // Which questions are open, this run says anew.
            journal.forget_opened();
        }
        let state = State {
            size: journal.size(),
            limit: context.journal_limit,
            resumed: journal.progress(),
            journal,
            open: ByName::default(),
            turns: 0,
            branches: Branches::default(),
            held_calls: HeldCalls::default(),
            read: Names::new(),
            steps: Names::new(),
            last_outcome: None,
            free_watcher: Some(Watcher::Run),
            in_flight: 0,
            given_up: Vec::new(),
            raced: false,
            outbox: Outbox::default(),
            misused: None,
            // To which wording they were given is not known, and a strict tool wants to know.
            unsealed: if context.strict { Unsealed::Closed } else { Unsealed::MayCount },
            must_carry: false,
            ending: None,
            over: false,
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

    /// Where and when the handler makes something now.
    pub(crate) fn making(&self) -> Option<Making> {
        place::making(self.id())
    }

    /// Drops what lost a race, which is no mistake of the handler's.
    pub(crate) fn drop_lost<T>(&self, lost: T) {
        place::inside(self.id(), Within::Lost, || drop(lost));
        self.end_if_misused(Within::Lost, "race");
    }

    /// Polls a member of a join: what it calls now, it calls in its branch.
    pub(crate) fn in_branch<R>(&self, branch: BranchId, poll: impl FnOnce() -> R) -> R {
        place::in_branch(self.id(), branch, poll)
    }

    /// A branch for a member of a join, under the branch that polls it first; beside another member, if there is one.
    pub(crate) fn fork(&self, beside: Option<BranchId>) -> BranchId {
        let parent = place::here(self.id()).map_or(BranchId::BODY, |(branch, _)| branch);
        let mut state = self.state();
        let parent = state.branches.living(parent);
        state.branches.fork(parent, beside)
    }

    /// The branch that is being polled, as far as it has not lost a race.
    fn branch_here(&self, state: &State) -> BranchId {
        let branch = place::here(self.id()).map_or(BranchId::BODY, |(branch, _)| branch);
        state.branches.living(branch)
    }

    /// Whether there is nothing to wait for but answers: not if the handler gave way, and may ask more. The waker is kept
    /// for what happens from now on: first it, then the look, so that nothing falls between.
    pub(super) fn rest(&self, runner: &Waker, gave_way: bool) -> Rest {
        self.runner.register(runner);
        let state = self.state();
        let over = state.ending.is_some() || !gave_way && state.asks() || self.stopped().is_some();
        match state.in_flight {
            0 if over && state.outbox.is_empty() => Rest::At(state.turns),
            0 => Rest::None,
            _ if over || !state.held_calls.is_empty() => Rest::AfterSteps,
            _ => Rest::None,
        }
    }

    /// Ready when no step is under way, as one may be that the handler has let out of its hands.
    pub(super) fn poll_idle(&self, runner: &Waker) -> Poll<()> {
        self.runner.register(runner);
        if self.state().in_flight == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn stopped(&self) -> Option<StopReason> {
        self.context.stop.as_ref().and_then(StopSignal::raised)
    }

    /// Closes the flow if no step is under way, and says whether it did.
    pub(super) fn close_if_idle(&self) -> bool {
        let mut state = self.state();
        state.over = state.in_flight == 0;
        state.over
    }

    /// What the sink is to be told next.
    pub(super) fn take_batch(&self) -> Option<Batch> {
        self.context.sink.as_ref()?;
        self.state().outbox.take()
    }

    /// The sink has kept a batch, or has failed.
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

    /// Closes the flow: whatever still holds it has no effect any more, and what its handler drops now, the runner
    /// dropped.
    pub(super) fn close(&self) {
        self.state().over = true;
    }

    #[expect(
        clippy::inline_always,
        reason = "rounds and sessions call it: apart from them, it takes 100 instructions more"
    )]
    #[inline(always)]
    pub(super) fn finish<T>(&self, returned: Option<Result<T, Failure>>) -> RunReport<T> {
        let stopped = self.stopped();
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        let seen = SeenQuestions { questions: std::mem::replace(&mut state.read, Names::new()), raced: state.raced };
        let must_carry = state.must_carry || state.journal.gave_keys() || state.journal.has_steps();
        // What another version may still want goes along, as far as it may count and does not take too much room.
        let room = match state.unsealed {
            Unsealed::Closed => 0,
            Unsealed::MayCount | Unsealed::Used => (state.limit.total() / 2).saturating_sub(state.size),
        };
        state.journal.carry_unsealed(room, |key| open.contains_key(key));
        if !open.is_empty() {
            state.ensure_room_to_ask();
        }
        let next_look = state.visits().min_by_key(|look| look.pause);
        let decisions = open.values().filter_map(|question| question.look_again);
        let look_again = decisions.chain(next_look.map(|look| look.pause)).min();
        let outcome = match (state.ending.take(), returned) {
            (Some(Ending::IntoTask), _) => Outcome::IntoTask,
            (Some(Ending::Stopped(reason)), _) => Outcome::Stopped(reason),
            // A reply that asks carries the answers just as well as one that does not.
            (None | Some(Ending::Yielded), _) if !open.is_empty() => {
                let questions: Vec<_> = open.into_values().map(|question| *question).collect();
                for question in &questions {
                    state.journal.put_opened(question);
                }
                Outcome::Waiting(questions)
            }
            (Some(Ending::Yielded), _) => Outcome::Yielded { count: state.journal.sheds(), pause: Duration::ZERO },
            // What a handler returns past a visit that it waits for counts as little as past an open question.
            (None, _) if let Some(LookAgain { count, pause }) = next_look => Outcome::Yielded { count, pause },
            (None, Some(Ok(value))) => Outcome::Done(value),
            (Some(Ending::Failed(failure)), _) | (None, Some(Err(failure))) => Outcome::Failed(failure),
            (None, None) => {
                debug_assert!(stopped.is_some(), "a run at rest has an ending or a question");
                Outcome::Stopped(stopped.unwrap_or(StopReason::Disconnected))
            }
        };
        state.journal.run_ended();
        RunReport { outcome, journal: std::mem::take(&mut state.journal), must_carry, look_again, seen }
    }

    /// Ends the run for a reason. The first one stands.
    pub(crate) fn end(&self, ending: Ending) {
        self.state().ending.get_or_insert(ending);
    }

    pub(crate) fn misuse(&self, text: String) {
        self.end(Ending::Failed(Failure::misuse(text)));
    }

    /// The handler panicked. If it did so past an open question, that counts as little as what it might have returned.
    pub(super) fn panicked(&self, Panicked(text): &Panicked) {
        let mut state = self.state();
        let went_on = state.branches.passed_over().any(|(_, how)| how == PassedOver::ByHandler);
        if went_on && state.asks() {
            tracing::warn!(
                panic = &*crate::support::echo::logged(text),
                "the handler panicked after it had dropped an open question"
            );
        } else {
            let failure = Failure::misuse(format!("the handler panicked: {text}"));
            state.ending.get_or_insert(Ending::Failed(failure));
        }
    }

    /// The handler panicked when the runner dropped it. Whatever the run would have said, it is not to be trusted.
    pub(super) fn panicked_at_its_end(&self, Panicked(text): &Panicked) {
        let failure = Failure::misuse(format!("the handler panicked when its run ended: {text}"));
        self.state().ending = Some(Ending::Failed(failure));
    }

    /// Fails a run that took longer than it may. Says what it was waiting for, to the log and to the caller.
    pub(super) fn fail_overdue(&self) {
        let mut state = self.state();
        let limit = self.context.deadline;
        let failure = match state.given_up.first() {
            Some(step) if state.in_flight == 0 => FlowError::Interrupted { step: step.clone() }.into(),
            _ => {
                let (waited_for, remedy) = (state.waited_for(), self.context.runner.remedy());
                let text = format!("It was not done after {limit:?}, when it was waiting for {waited_for}{remedy}");
                ToolError::new(text).into()
            }
        };
        tracing::error!(
            flow = %self.context.flow_id(),
            ?limit,
            steps = ?state.steps_under_way(),
            checks = ?state.checks_under_way().collect::<Vec<_>>(),
            dropped_before = ?state.given_up,
            "a run took longer than it may, and was ended"
        );
        if !matches!(state.ending, Some(Ending::Failed(_))) {
            state.ending = Some(Ending::Failed(failure));
        }
    }

    fn sink_failed(&self, error: SinkError) {
        self.end(match error {
            SinkError::Lost => {
                // Steps that listen hear of it, and need not run to their end for nothing.
                if let Some(signal) = &self.context.stop {
                    signal.raise(StopReason::LeaseLost);
                }
                Ending::Stopped(StopReason::LeaseLost)
            }
            SinkError::Store(error) => {
                tracing::error!(error = crate::error::with_causes(&*error), "an entry could not be kept");
                Ending::Failed(crate::error::ProtocolError::from(crate::error::internal_error()).into())
            }
        });
    }

    /// Polls a step's own work, or what says whether a question is settled elsewhere. `None` if it panicked, or used
    /// the flow as only the handler may: then the run ends.
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

    /// Ends the run if the flow was used inside something as only the handler may: that would wait for ever, and the run
    /// for it. Says whether it was.
    fn end_if_misused(&self, within: Within, name: &str) -> bool {
        let Some(what) = self.state().misused.take() else { return false };
        self.misuse(format!(
            "{what} was used inside {} `{name}`, which cannot wait for the client: ask before it, and hand it the answer; \
             take another step before or after it",
            within.noun()
        ));
        true
    }

    /// Waits for a question that runs code of the application's. If that panics the run ends, whatever the handler makes
    /// of it: it has no answer, and must not go on as if it had.
    pub(crate) async fn contained<F: Future>(&self, key: &str, question: F) -> F::Output {
        let what = EndsRun { run: self, what: "the question", name: key };
        match self.or_end(Contained::telling(question, what).await, || format!("the question `{key}`")) {
            Some(output) => output,
            None => std::future::pending().await,
        }
    }

    /// Runs code of the application's that only computes, such as a check of an answer. `None` if it panicked: then
    /// the run ends, whatever the handler makes of it.
    pub(crate) fn contain<R>(&self, what: &str, name: &str, run: impl FnOnce() -> R) -> Option<R> {
        self.or_end(contain(run), || format!("{what} `{name}`"))
    }

    fn or_end<R>(&self, ended: Result<R, Panicked>, what: impl FnOnce() -> String) -> Option<R> {
        ended.map_err(|Panicked(text)| self.misuse(format!("{} panicked: {text}", what()))).ok()
    }

    /// Ends the run if its signal was raised. True if the run is ending, for this reason or another: then whatever calls
    /// now must stop. Each call looks, since a handler that is never pending does not give the runner a turn to look.
    fn end_if_stopped(&self, state: &mut State) -> bool {
        if let Some(reason) = self.stopped() {
            state.ending.get_or_insert(Ending::Stopped(reason));
        }
        state.ending.is_some()
    }

    /// Looks at where a call on the flow comes from, and whether the flow goes on.
    fn admit(&self, state: &mut State, what: impl FnOnce() -> String) -> Admission {
        if state.over {
            return Admission::Closed;
        }
        match place::here(self.id()) {
            None => {
                let text = format!(
                    "{} was used outside the handler's own code, as by a spawned task: a flow belongs to its handler; \
                     `flow.join` with `flow.branch` does several things at once",
                    what()
                );
                state.ending.get_or_insert(Ending::Failed(Failure::misuse(text)));
                self.runner.wake();
                Admission::Closed
            }
            Some((_, Within::Step | Within::Until | Within::Validate | Within::Lost)) => {
                state.misused.get_or_insert_with(what);
                Admission::Park
            }
            Some(_) if self.end_if_stopped(state) => Admission::Park,
            Some((branch, Within::Handler)) => Admission::To(state.branches.living(branch)),
        }
    }

    /// Checks besides that the name is one.
    fn admit_name(&self, state: &mut State, what: &str, name: &str) -> Admission {
        let admission = self.admit(state, || format!("{what} `{name}`"));
        if matches!(admission, Admission::To(_)) && !unescaped(name).map_or(is_name(name), |name| is_name(&name)) {
            let text = format!("{name:?} cannot name a {what}: 1 to 128 printable characters");
            state.ending = Some(Ending::Failed(Failure::misuse(text)));
            return Admission::Park;
        }
        admission
    }
}

/// Ends a run in which something panicked when it was dropped, as by `select!`: what the handler goes on without must
/// not have failed unnoticed.
struct EndsRun<'a> {
    run: &'a Run,
    what: &'static str,
    name: &'a str,
}

impl AtDrop for EndsRun<'_> {
    fn panicked(&self, Panicked(text): &Panicked) {
        let Self { run, what, name } = self;
        run.misuse(format!("{what} `{name}` panicked when it was dropped: {text}"));
    }
}

/// Waits for the end of the run, if a call does not go on. A call on a flow whose run has ended, or by a spawned task,
/// would wait for ever, and has no way to say so but this one.
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

/// Roughly what an entry takes in a sealed journal.
fn cost(name: &str, size: usize) -> usize {
    name.len() + size + PER_ENTRY
}

impl State {
    /// Whether no answers that came without a state were used. If some were, the run ends: first they go out in one,
    /// so that a retry is the same flow, and does nothing twice.
    fn checkpoint_unsealed(&mut self) -> bool {
        if self.unsealed != Unsealed::Used {
            return true;
        }
        if self.ensure_room_to_ask() {
            self.ending = Some(Ending::Yielded);
        }
        false
    }

    /// Something was begun or read after which answers that came without a state count no more: nor are they kept.
    fn close_unsealed(&mut self) {
        if self.unsealed != Unsealed::Closed {
            self.unsealed = Unsealed::Closed;
            self.journal.drop_unsealed();
        }
    }

    /// Whether the run may end though its handler would go on: something was asked, or is looked for again later.
    fn asks(&self) -> bool {
        !self.open.is_empty() || self.visits().next().is_some()
    }

    /// What a run that is overdue was waiting for, in words for the caller.
    fn waited_for(&self) -> String {
        let steps = self.steps_under_way().into_iter().map(|name| format!("step `{name}`"));
        let all: Vec<_> = steps.chain(self.checks_under_way().map(|key| format!("`until` of `{key}`"))).collect();
        if all.is_empty() { "something outside its steps".to_owned() } else { all.join(" and ") }
    }

    /// Steps that were begun in this run and have not ended.
    fn steps_under_way(&self) -> Vec<&str> {
        let steps = self.steps.iter().filter(|(_, step)| matches!(step, StepUse::UnderWay(_)));
        steps.map(|(name, _)| name).collect()
    }

    /// The limit is checked as each entry of the handler's is made, so that the error can name the one that was too
    /// much.
    fn check_size(&mut self, what: &str, name: &str, size: usize, freed: usize) {
        self.size = (self.size + cost(name, size)).saturating_sub(freed);
        let (total, limit) = (self.size, self.limit.usable());
        if total > limit {
            let text =
                format!("the journal holds {total} bytes with the {size} of {what} `{name}`; {limit} are allowed");
            self.ending.get_or_insert(Ending::Failed(Failure::misuse(text)));
        }
    }

    /// Makes sure that a state can carry the answers that came. If not, the run ends. Only the last answer of a flow may take
    /// more: nothing has to carry it.
    fn ensure_room_to_ask(&mut self) -> bool {
        let excess = self.answers_in_excess();
        let has_room = excess.is_none();
        if let Some(failure) = excess {
            self.ending.get_or_insert(Ending::Failed(failure));
        }
        has_room
    }

    /// Makes sure that there is room for an effect that was not recorded yet. If not, the run ends before it: what was done and
    /// cannot be kept would be done again.
    fn ensure_room_to_begin(&mut self, what: impl FnOnce() -> String) -> bool {
        let usable = self.limit.usable();
        if self.size <= usable {
            return true;
        }
        let failure = self.answers_in_excess().unwrap_or_else(|| {
            let (total, what) = (self.size, what());
            let largest = self.journal.largest().unwrap_or_default();
            Failure::misuse(format!("the journal holds {total} bytes before {what}; {usable} are allowed; {largest}"))
        });
        self.ending.get_or_insert(Ending::Failed(failure));
        false
    }

    /// The client's mistake, if answers fill the journal: they are refused when they come, and not a round later. Those
    /// that take no more than is kept free for them are not to blame for what stood there before.
    fn answers_in_excess(&self) -> Option<Failure> {
        let (total, usable) = (self.limit.total(), self.limit.usable());
        let is_large = self.size > total || self.journal.new_answers() > self.limit.for_answers();
        let excess = if self.size > usable && is_large { self.journal.excess(usable) } else { None };
        excess.map(|key| too_much(key, usable))
    }
}
