//! Steps in a run, races, and everything else that must not happen twice or half.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{ActiveRun, Admission, Ending, HeldCall, State, Unsealed, cost};
use crate::engine::branches::BranchId;
use crate::engine::journal::{Entries, EntryKind, Leaf, StepEntry};
use crate::engine::name::unescaped;
use crate::engine::place::here;
use crate::engine::{Making, Watcher};
use crate::error::Failure;
use crate::support::by_name::Names;

/// The use of a step's or a race's name in a run.
#[derive(Debug)]
pub(super) enum StepUse {
    /// The run met this name, and began nothing.
    Named,
    /// A step was begun, and has not ended.
    UnderWay(Watcher),
    /// The run has given it up, since nothing polls it.
    Left,
    /// It has ended, or was dropped.
    Ended,
}

/// The steps and races of a run.
pub(super) struct Steps {
    /// The use of each name in this run.
    pub(super) uses: Names<StepUse>,
    /// The last step that gave an outcome: where and when it was made, and its place among the steps.
    last_outcome: Option<(Making, usize)>,
    /// The run's own watch, while it watches no step.
    free_watcher: Option<Watcher>,
    /// Steps that wait for ever, because the handler dropped them in an earlier run.
    pub(super) given_up: Vec<String>,
    /// True if the run had a race: the handler made the members that lost, and nothing looks at them.
    pub(super) raced: bool,
}

impl Default for Steps {
    fn default() -> Self {
        let free_watcher = Some(Watcher::Run);
        Self { uses: Names::default(), last_outcome: None, free_watcher, given_up: Vec::new(), raced: false }
    }
}

/// The result of looking up a step in the journal, under its name.
pub(crate) enum StepStart {
    /// It waits for the end of the run.
    Park,
    /// Its run has ended.
    Closed,
    /// It begins, watched by this.
    Start(Watcher),
    Interrupted,
    Recorded(StepEntry),
}

impl ActiveRun {
    /// Begins a step, or returns its record, as soon as its branch is free.
    pub(crate) async fn begin_step(&self, name: &str, idempotent: bool, making: Option<Making>) -> StepStart {
        let mut call = HeldCall::default();
        let start = poll_fn(|cx| self.poll_begin_step(name, idempotent, &mut call, cx)).await;
        if let StepStart::Recorded(_) = start {
            self.state().note_outcome(name, making);
        }
        start
    }

    fn poll_begin_step(&self, name: &str, idempotent: bool, call: &mut HeldCall, cx: &Context<'_>) -> Poll<StepStart> {
        let mut state = self.state();
        Poll::Ready(match self.admit_name(&mut state, "step", name) {
            Admission::To(branch) if !state.begin_or_hold(branch, call, cx) => return Poll::Pending,
            Admission::To(_) => state.start_step(name, idempotent),
            Admission::Park => StepStart::Park,
            Admission::Closed => StepStart::Closed,
        })
    }

    /// Holds the end of the run off until a step that has begun has ended, or is dropped.
    pub(crate) fn step_guard<'a>(&'a self, name: &'a str) -> StepGuard<'a> {
        StepGuard { run: self, name, ended: false }
    }

    pub(crate) fn finish_step(&self, name: &str, entry: &StepEntry, making: Option<Making>) {
        let mut state = self.state();
        state.note_outcome(name, making);
        let before = state.kept.journal.put_step(name, entry);
        let freed = before.map_or(0, |size| cost(name, size));
        state.check_size("step", name, entry.size(), freed);
    }

    /// Waits until the sink has kept an entry of a step, before anything else happens. `None` if it fails: then the run
    /// ends.
    pub(crate) async fn record_step(&self, name: &str, entry: &StepEntry) -> Option<()> {
        if self.context.sink.is_none() {
            return Some(());
        }
        let number = self.state().outbox.push(|entries| entries.push_step(name, entry));
        if here(self.id()).is_none() {
            self.runner.wake();
        }
        poll_fn(|cx| self.state().outbox.poll_kept(number, cx.waker())).await
    }

    /// Ready when an idempotency key may be handed out. Before that, the run may have to end with its answers in a
    /// state.
    pub(crate) fn poll_key(&self, name: &str, call: &mut HeldCall, cx: &Context<'_>) -> Poll<Admission> {
        use crate::engine::place::Within;
        let mut state = self.state();
        // A step that has begun is finished, even if the run around it ends.
        let in_step = here(self.id()).filter(|(_, within)| *within == Within::Step && !state.phase.is_closed());
        let admission = match in_step {
            Some((branch, _)) => Admission::To(branch),
            None => match self.admit_beginning(&mut state, call, cx, || format!("idempotency key `{name}`")) {
                None => return Poll::Pending,
                Some(Admission::To(_)) if !state.checkpoint_unsealed() => Admission::Park,
                Some(Admission::To(_))
                    if !state.kept.journal.gave_keys() && !state.ensure_room_to_begin(|| format!("key `{name}`")) =>
                {
                    Admission::Park
                }
                Some(admission) => admission,
            },
        };
        if matches!(admission, Admission::To(_)) {
            state.close_unsealed();
            self.give_key(&mut state);
        }
        Poll::Ready(admission)
    }

    /// Ends the run to continue as a task. The flow first asks the open questions of all branches: a task begins when
    /// the rounds are over (TK-21).
    pub(crate) fn poll_become_task(&self, call: &mut HeldCall, cx: &Context<'_>) -> Poll<Admission> {
        let mut state = self.state();
        match self.admit_beginning(&mut state, call, cx, || "`into_task`".to_owned()) {
            None => Poll::Pending,
            Some(Admission::Closed) => Poll::Ready(Admission::Closed),
            Some(Admission::Park) => Poll::Ready(Admission::Park),
            Some(Admission::To(_)) if !state.questions.branches.is_all_free() => {
                state.hold_call(call, cx);
                Poll::Pending
            }
            Some(Admission::To(_)) => {
                if state.kept.unsealed != Unsealed::Used || state.checkpoint_unsealed() {
                    // A task keeps its journal elsewhere, so that no state has to hold it.
                    state.phase.end(Ending::IntoTask);
                }
                Poll::Ready(Admission::Park)
            }
        }
    }

    /// Notes that the flow gives an id of its own to the outside.
    pub(super) fn give_key(&self, state: &mut State) {
        if state.kept.journal.put_key_given() {
            self.tell(state, |entries| entries.push("", EntryKind::KeyGiven));
        }
    }

    /// Returns the progress of an earlier run.
    pub(crate) fn resumed(&self) -> Option<Leaf> {
        self.state().kept.resumed.clone()
    }

    /// Keeps the progress of the flow, and decides whether it continues from here.
    pub(crate) fn poll_progress(&self, progress: &Leaf, call: &mut HeldCall, cx: &Context<'_>) -> Poll<Admission> {
        let mut state = self.state();
        let admission = self.admit_beginning(&mut state, call, cx, || "a yield point".to_owned());
        Poll::Ready(match admission {
            None => return Poll::Pending,
            Some(Admission::To(branch)) => self.record_progress(&mut state, branch, progress.clone()),
            Some(admission) => admission,
        })
    }

    fn record_progress(&self, state: &mut State, branch: BranchId, progress: Leaf) -> Admission {
        let size = progress.len();
        // Progress is no effect: if an answer takes too much and may be the last, that matters only if it goes out now.
        let has_large_answer = state.answers_in_excess().is_some();
        self.tell(state, |entries| entries.push_leaf("", EntryKind::Progress, &progress));
        let freed = state.kept.journal.put_progress(progress).map_or(0, |before| cost(PROGRESS, before));
        state.kept.must_carry = true;
        if has_large_answer || cost(PROGRESS, size) <= freed {
            state.kept.size = (state.kept.size + cost(PROGRESS, size)).saturating_sub(freed);
        } else {
            state.check_size("entry", PROGRESS, size, freed);
        }
        if state.phase.is_active() && self.context.sheds_after(state.kept.journal.sheds()) && state.ensure_room_to_ask()
        {
            metrics::counter!("mrtr_sheds_total").increment(1);
            let times = state.kept.journal.count_shed();
            self.tell(state, |entries| entries.push_count("", EntryKind::Shed, times));
            state.phase.end(Ending::Yielded);
        }
        if state.phase.is_active() { Admission::To(branch) } else { Admission::Park }
    }
}

impl State {
    /// Returns the record of a step or a race. Older versions did not escape the `/` in names: a record under such a
    /// name counts too, if nothing in this run has that name itself.
    pub(super) fn recorded_step(&mut self, name: &str) -> Option<StepEntry> {
        let recorded = self.kept.journal.step(name);
        if recorded.is_some() || !name.contains('/') {
            return recorded;
        }
        let older = unescaped(name).filter(|older| !self.steps.uses.contains(older))?;
        let recorded = self.kept.journal.step(&older)?;
        self.steps.uses.insert_new(&older, StepUse::Ended);
        Some(recorded)
    }

    /// Notes that a step gave its outcome.
    fn note_outcome(&mut self, name: &str, making: Option<Making>) {
        self.steps.last_outcome = making.and_then(|making| Some((making, self.steps.uses.place(name)?)));
    }

    /// Returns a watcher for the next step: the run itself, if it does not watch another.
    fn watcher(&mut self) -> Watcher {
        self.steps.free_watcher.take().unwrap_or_else(|| Watcher::Own(Arc::default()))
    }

    fn start_step(&mut self, name: &str, idempotent: bool) -> StepStart {
        if !self.steps.uses.insert_new(name, StepUse::Named) {
            let text =
                format!("two steps are named `{name}`: give each a name of its own; in a loop, `flow.scope(i)` does");
            self.phase.fail(Failure::misuse(text));
            return StepStart::Park;
        }
        if !self.checkpoint_unsealed() {
            return StepStart::Park;
        }
        self.close_unsealed();
        let recorded = self.recorded_step(name);
        // A record has its room already, even if an answer came since: only a step that begins now needs more.
        let begins = matches!(recorded, None | Some(StepEntry::Started)) && (recorded.is_none() || idempotent);
        if begins && !self.ensure_room_to_begin(|| format!("step `{name}`")) {
            return StepStart::Park;
        }
        match recorded {
            // The other arm that the handler took has its own entry, and the handler takes it again.
            Some(StepEntry::Dropped) => {
                self.steps.given_up.push(name.to_owned());
                StepStart::Park
            }
            Some(StepEntry::Started) if !idempotent => StepStart::Interrupted,
            Some(StepEntry::Started) | None => {
                if self.kept.journal.put_step(name, &StepEntry::Started).is_none() {
                    self.kept.size += cost(name, 0);
                }
                self.in_flight += 1;
                let watcher = self.watcher();
                *self.steps.uses.get_or_insert(name, StepUse::Named) = StepUse::UnderWay(watcher.clone());
                StepStart::Start(watcher)
            }
            Some(entry) => StepStart::Recorded(entry),
        }
    }
}

/// Holds the end of a run off while a step is under way.
pub(crate) struct StepGuard<'a> {
    run: &'a ActiveRun,
    name: &'a str,
    ended: bool,
}

impl StepGuard<'_> {
    /// Notes that the step has ended by itself.
    pub(crate) fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.run.state();
        // If the runner drops a step at the end, or a panic does, the handler has not given it up: the step is in
        // doubt.
        if !self.ended && !state.phase.is_closed() && !std::thread::panicking() {
            self.run.mark_dropped(&mut state, self.name);
        }
        self.run.leave(state, self.name);
    }
}

impl ActiveRun {
    /// Counts one less thing to wait for. If the handler has let the step out of its hands, this wakes the runner.
    fn leave(&self, mut state: std::sync::MutexGuard<'_, State>, name: &str) {
        let step = state.steps.uses.get_or_insert(name, StepUse::Named);
        if let StepUse::UnderWay(watcher) = std::mem::replace(step, StepUse::Ended) {
            state.in_flight -= 1;
            if let Watcher::Run = watcher {
                self.watch.clear();
                state.steps.free_watcher = Some(Watcher::Run);
            }
        }
        drop(state);
        if here(self.id()).is_none() {
            self.runner.wake();
        }
    }
}

impl ActiveRun {
    /// Notes that the handler dropped a step that it had made and never begun. If another step that was made beside it
    /// gave its outcome, both may stand in a `select!`. The next run polls its arms in another order, and may begin
    /// this one.
    pub(crate) fn dropped_unbegun(&self, name: &str, making: Making) {
        if std::thread::panicking() || self.making().is_none() {
            return;
        }
        let state = self.state();
        let Some((_, beside)) =
            state.steps.last_outcome.filter(|(outcome, _)| *outcome == making && !state.phase.is_closed())
        else {
            return;
        };
        let beside = state.steps.uses.name_at(beside).unwrap_or_default().to_owned();
        drop(state);
        tracing::warn!(
            flow = %self.context.flow_id(),
            step = name,
            beside,
            "a step was created and never begun, while another one beside it ended: if a `select!` chose between \
             them, a later run may begin the one that lost. Use `flow.race`, which records what came first"
        );
    }

    /// Notes that the handler gave a step up, as a `select!` that took another branch does. The handler saw no outcome
    /// of the step, so no later run sees one.
    fn mark_dropped(&self, state: &mut State, name: &str) {
        state.kept.journal.put_step(name, &StepEntry::Dropped);
        self.tell(state, |entries| entries.push_step(name, &StepEntry::Dropped));
    }

    /// Tells the sink of something, if there is a sink, before anything else is done.
    pub(super) fn tell(&self, state: &mut State, write: impl FnOnce(&mut Entries)) {
        if self.context.sink.is_some() {
            state.outbox.push(write);
        }
    }
}

/// The name of a yield point's progress where entries are named.
const PROGRESS: &str = "progress";

/// The result of a race's look under its name.
pub(crate) enum RaceStart {
    /// It waits for the end of the run.
    Park,
    /// Its run has ended.
    Closed,
    /// No member has won it yet.
    Open,
    /// This member won it in an earlier run.
    Won(usize),
}

impl ActiveRun {
    /// Begins a race among this many members, or returns the winner.
    pub(crate) fn begin_race(&self, name: &str, members: usize) -> RaceStart {
        let mut state = self.state();
        match self.admit(&mut state, || format!("race `{name}`")) {
            Admission::To(_) => {}
            Admission::Park => return RaceStart::Park,
            Admission::Closed => return RaceStart::Closed,
        }
        let mistake = if state.steps.uses.insert_new(name, StepUse::Named) {
            match state.recorded_step(name) {
                None => {
                    state.steps.raced = true;
                    return RaceStart::Open;
                }
                Some(StepEntry::Value(winner)) => match winner.as_str().parse() {
                    Ok(winner) if winner < members => return RaceStart::Won(winner),
                    _ => format!("the recorded winner of the race `{name}` is not one of its members"),
                },
                Some(_) => format!("a race and a step are both named `{name}`: give each a name of its own"),
            }
        } else {
            format!("two races have the same members, `{name}`: put one of them in a `flow.scope`")
        };
        state.phase.fail(Failure::misuse(mistake));
        RaceStart::Park
    }

    /// Returns true if the handler's own code is being polled, in a run that continues: the run must not record a race
    /// after the reply, which a handler could begin and then hand to a spawned task.
    pub(crate) fn is_at_home(&self) -> bool {
        here(self.id()).is_some() && !self.state().phase.is_closed()
    }

    /// Records the winner, before the handler hears of it. `None` if that fails: then the run ends.
    ///
    /// The run knows the winner at once, before its sink does: the race is won even if the handler drops it meanwhile.
    pub(crate) async fn record_winner(&self, name: &str, winner: usize) -> Option<()> {
        let entry = StepEntry::Value(Leaf::of(&winner).expect("a number is JSON"));
        self.finish_step(name, &entry, None);
        self.record_step(name, &entry).await
    }
}
