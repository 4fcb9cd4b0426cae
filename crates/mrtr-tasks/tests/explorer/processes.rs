//! A world of processes with several runs each: when one of them ends its process, all of them are lost.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::record::{Event, TransitionError};
use mrtr_tasks::store::{Choice, Trials, Turns, Wanted};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};

use crate::invariants;
use crate::rules::Rule;
use crate::search::{Model, Step};

/// Processes that run tasks which do nothing wrong, and one that ends its process; plain calls may do so too.
pub(crate) struct Processes {
    count: usize,
    /// The number of tasks that do nothing wrong. The task behind them ends its process.
    innocent: usize,
    transition: fn(&mut TaskRecord, Event<'_>, Timestamp) -> Result<(), TransitionError>,
    habit: Habit,
}

/// The way in which an instance treats a run on trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// The instance does as the runner does.
    Sound,
    /// A handler of a plain call does not wait until the store knows.
    CallsBeginAtOnce,
    /// The instance claims other tasks beside it.
    ClaimsBesideTrials,
}

impl Processes {
    pub(crate) fn new(
        count: usize,
        innocent: usize,
        transition: fn(&mut TaskRecord, Event<'_>, Timestamp) -> Result<(), TransitionError>,
        habit: Habit,
    ) -> Self {
        Self { count, innocent, transition, habit }
    }
}

/// The most lost runs in a row that the model counts: what follows is more of the same.
const FAR_ENOUGH: u32 = 4;

/// The time that passes in one step: longer than any pause, so that each task that is put off is due after it; and as
/// long as a lease.
const TICK: Duration = Duration::from_mins(10);
const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct World {
    now: Timestamp,
    tasks: Vec<TaskRecord>,
    processes: Vec<Process>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Process {
    /// Its runs: a task, and its fence.
    runs: Vec<(usize, u64)>,
    /// True if a handler of a plain call runs.
    has_call: bool,
    makes_room: bool,
    is_dead: bool,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    /// Time goes on, and processes that live renew the leases of their runs.
    Tick,
    Claim(usize),
    /// A plain call comes: if a run is on trial alone, the instance tells the store first.
    Call(usize),
    CallEnds(usize),
    /// A task or a plain call ends the process.
    Abort(usize),
    Restart(usize),
    Record(usize, usize),
    Finish(usize, usize),
    Retry(usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Action {
    now: Timestamp,
    deed: Deed,
}

impl Model for Processes {
    type State = World;
    type Action = Action;

    fn initial(&self) -> World {
        let task = |number: usize| {
            let number = u8::try_from(number).expect("they are few");
            let (id, flow) = (TaskId::from_bytes([number; 16]), FlowId::from_bytes([number; 16]));
            TaskRecord::new(id, Owner::from_kept(""), flow, "", Revision::V2026_07_28, NOON)
        };
        let processes = vec![Process::default(); self.count];
        World { now: NOON + TICK, tasks: (0..=self.innocent).map(task).collect(), processes }
    }

    fn steps(&self, world: &World) -> Vec<Step<Self>> {
        if self.end(world).is_some() {
            return Vec::new();
        }
        let mut deeds = vec![Deed::Tick];
        deeds.extend((0..world.tasks.len()).filter(|&task| world.tasks[task].set_aside.is_some()).map(Deed::Retry));
        for (at, process) in world.processes.iter().enumerate() {
            if process.is_dead {
                deeds.push(Deed::Restart(at));
                continue;
            }
            deeds.extend([Deed::Claim(at), if process.has_call { Deed::CallEnds(at) } else { Deed::Call(at) }]);
            let ends_it = process.has_call || process.runs.iter().any(|(task, _)| *task == self.innocent);
            deeds.extend(ends_it.then_some(Deed::Abort(at)));
            for &(task, _) in &process.runs {
                if task != self.innocent {
                    deeds.extend([Deed::Record(at, task), Deed::Finish(at, task)]);
                }
            }
        }
        let steps = deeds.into_iter().map(|deed| self.step(world, deed));
        steps.filter(|step| step.next != *world).collect()
    }

    fn broken(&self, world: &World) -> Vec<Rule> {
        let innocent = &world.tasks[..self.innocent];
        let is_beside = |at: usize, process: &Process| {
            let has_it = |run: &(usize, u64)| *run == (at, world.tasks[at].fence);
            process.runs.iter().any(has_it) && (process.runs.len() > 1 || process.has_call)
        };
        let alone = (0..world.tasks.len()).filter(|&at| world.tasks[at].alone);
        let mut alone = alone.flat_map(|at| world.processes.iter().map(move |process| (at, process)));
        // While its second run goes on, it has lost one at most.
        let is_tried =
            |task: &TaskRecord| task.is_on_trial() && task.fence < 2 + u64::from(task.leased_until.is_some());
        let rules = [
            (innocent.iter().any(|task| task.counted_losses > 0), Rule::InnocentNotCounted),
            (alone.any(|(at, process)| is_beside(at, process)), Rule::TrialIsAlone),
            (world.tasks.iter().any(is_tried), Rule::FirstLossIsNoTrial),
        ];
        let broken = rules.into_iter().filter_map(|(is_broken, rule)| is_broken.then_some(rule));
        broken
            .chain(world.tasks.iter().filter_map(|task| invariants::broken(task, world.now)).map(Rule::Record))
            .collect()
    }

    fn canonical(&self, mut world: World) -> World {
        let now = world.now;
        let ahead = |moment: Timestamp| if moment <= now { NOON } else { NOON + TICK * 2 };
        for process in &mut world.processes {
            process.runs.iter_mut().for_each(|(_, fence)| *fence = (*fence).min(3));
            process.runs.sort_unstable();
        }
        for task in &mut world.tasks {
            *task = TaskRecord {
                created: NOON,
                updated: NOON,
                fence: task.fence.min(3),
                leased_until: task.leased_until.map(ahead),
                due: task.due.map(ahead),
                reserved_until: task.reserved_until.map(ahead),
                set_aside: task.set_aside.map(|_| NOON),
                ended: task.ended.map(|(end, _)| (end, NOON)),
                lost_runs: if task.ended.is_some() { 0 } else { task.lost_runs },
                counted_losses: if task.ended.is_some() { 0 } else { task.counted_losses },
                ..task.clone()
            };
        }
        world.processes.sort_unstable();
        World { now: NOON + TICK, ..world }
    }

    fn is_benign(&self, action: &Action) -> bool {
        !matches!(action.deed, Deed::Call(_))
    }

    /// The end of a world. The task that ends its process never completes; only the others count.
    fn end(&self, world: &World) -> Option<&'static str> {
        let is_far = world.tasks.iter().any(|task| task.lost_runs >= FAR_ENOUGH);
        let is_done = world.tasks[..self.innocent].iter().all(|task| task.ended.is_some());
        is_done.then_some("the innocent have completed").or_else(|| is_far.then_some("far enough"))
    }
}

impl Processes {
    fn step(&self, before: &World, deed: Deed) -> Step<Self> {
        let mut next = before.clone();
        // What is refused changes nothing.
        let _ = self.carry_out(&mut next, deed);
        next.drop_lost_runs();
        next.round_times();
        let broken = before.tasks.iter().zip(&next.tasks).filter_map(|(before, after)| {
            let is_claim = matches!(deed, Deed::Claim(_));
            // A claim may count a lost run and take the task at once.
            if is_claim { None } else { invariants::broken_step(before, after).map(Rule::Record) }
        });
        Step { action: Action { now: before.now, deed }, broken: broken.collect(), next }
    }

    fn carry_out(&self, world: &mut World, deed: Deed) -> Result<(), TransitionError> {
        let now = world.now;
        match deed {
            Deed::Tick => self.tick(world),
            Deed::Claim(at) => self.claim(world, at),
            Deed::Call(at) => {
                if self.habit != Habit::CallsBeginAtOnce {
                    for (task, fence) in world.processes[at].runs.clone() {
                        let _ = (self.transition)(&mut world.tasks[task], Event::Accompany { fence }, now);
                    }
                }
                world.processes[at].has_call = true;
            }
            Deed::CallEnds(at) => world.processes[at].has_call = false,
            Deed::Abort(at) => world.processes[at] = Process { is_dead: true, ..Process::default() },
            Deed::Restart(at) => world.processes[at] = Process::default(),
            Deed::Record(at, task) => {
                let (fence, change) = (
                    world.fence(at, task),
                    mrtr_tasks::record::Change { progressed: true, ..mrtr_tasks::record::Change::default() },
                );
                (self.transition)(&mut world.tasks[task], Event::Record { fence, change }, now)?;
            }
            Deed::Finish(at, task) => {
                let fence = world.fence(at, task);
                world.processes[at].runs.retain(|(run, _)| *run != task);
                let end = End::Completed { is_error: false };
                (self.transition)(&mut world.tasks[task], Event::Finish { fence, end }, now)?;
            }
            Deed::Retry(task) => (self.transition)(&mut world.tasks[task], Event::Retry, now)?,
        }
        Ok(())
    }

    fn tick(&self, world: &mut World) {
        world.now = world.now + TICK;
        for (task, fence) in world.processes.iter().flat_map(|process| process.runs.clone()).collect::<Vec<_>>() {
            let _ = (self.transition)(&mut world.tasks[task], Event::Renew { fence, lease: TICK }, world.now);
        }
    }

    /// Claims tasks as the runner and a store do it.
    fn claim(&self, world: &mut World, at: usize) {
        let process = world.processes[at].clone();
        let on_trial = |(task, fence): &(usize, u64)| {
            let record = &world.tasks[*task];
            // A trial is over with an entry, and lasts a lease at most.
            record.fence == *fence && record.is_on_trial() && !record.progressed
        };
        if self.habit != Habit::ClaimsBesideTrials && process.runs.iter().any(on_trial) {
            return;
        }
        let trials = match (process.runs.is_empty(), process.makes_room) {
            (true, false) => Trials::Idle,
            (true, true) => Trials::Takes { alone: !process.has_call },
            (false, true) => Trials::MakesRoom,
            (false, false) => Trials::Busy,
        };
        if self.acquire(world, at, trials) && trials == Trials::Idle {
            self.acquire(world, at, Trials::Takes { alone: !process.has_call });
        }
    }

    /// Takes tasks, and returns whether a task on trial waits.
    fn acquire(&self, world: &mut World, at: usize, trials: Trials) -> bool {
        let wanted = Wanted {
            tools: vec![String::new()],
            lease: TICK,
            most: world.tasks.len(),
            trials,
            running: Vec::new(),
            turns: Turns::default(),
        };
        let now = world.now;
        for task in world.tasks.iter_mut().filter(|task| task.trial().is_some()) {
            let _ = (self.transition)(task, Event::Lapse, now);
        }
        let is_reserved = world.tasks.iter().any(|task| task.reserved_until.is_some_and(|until| until > now));
        let trial = (0..world.tasks.len()).filter_map(|at| world.tasks[at].trial().map(|due| (due, at))).min();
        let others = world.tasks.iter().filter_map(TaskRecord::attention).filter(|moment| *moment <= now).min();
        let choice = wanted.choose(trial.map(|(due, _)| due), others, is_reserved, now);
        match (choice, trial) {
            (Choice::Others, _) => {
                for task in 0..world.tasks.len() {
                    if world.tasks[task].attention().is_some_and(|moment| moment <= now) {
                        self.take(world, at, task, wanted.event());
                    }
                }
            }
            (Choice::Trial, Some((_, task))) => self.take(world, at, task, wanted.trial_event()),
            (Choice::Reserve, Some((_, task))) => {
                let _ = (self.transition)(&mut world.tasks[task], wanted.reserve_event(), now);
            }
            _ => {}
        }
        let waits = matches!(choice, Choice::Reserve | Choice::Tell);
        world.processes[at].makes_room = waits && trials != Trials::Idle;
        waits
    }

    fn take(&self, world: &mut World, at: usize, task: usize, event: Event<'_>) {
        let now = world.now;
        let record = &mut world.tasks[task];
        let fence = record.fence;
        if (self.transition)(record, event, now).is_ok() && record.fence > fence {
            let fence = record.fence;
            world.processes[at].runs.push((task, fence));
        }
    }
}

impl World {
    /// Drops the runs whose tasks were taken over or have ended: they do nothing more.
    fn drop_lost_runs(&mut self) {
        let Self { tasks, processes, .. } = self;
        for process in processes {
            process.runs.retain(|(task, fence)| tasks[*task].fence == *fence && tasks[*task].leased_until.is_some());
        }
    }

    /// Rounds all times to a tick before now or after it: worlds that differ in less are one.
    fn round_times(&mut self) {
        let now = self.now;
        let before = Timestamp::from_millis(now.as_millis() - millis(TICK));
        let round = |moment: Timestamp| if moment <= now { before } else { now + TICK };
        for task in &mut self.tasks {
            task.due = task.due.map(round);
            task.leased_until = task.leased_until.map(round);
            task.reserved_until = task.reserved_until.map(round);
        }
    }

    fn fence(&self, at: usize, task: usize) -> u64 {
        let run = self.processes[at].runs.iter().find(|(run, _)| *run == task);
        run.map_or(0, |(_, fence)| *fence)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("worlds are short")
}

/// The parts in which two records in their canonical form may differ.
fn of_record(task: &TaskRecord) -> impl Hash + use<> {
    let TaskRecord { fence, leased_until, due, progressed, lost_runs, counted_losses, alone, .. } = *task;
    let rest = (alone, task.reserved_until, task.set_aside, task.ended.is_some());
    (leased_until, due, lost_runs, fence, progressed, counted_losses, rest)
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.now, &self.processes).hash(state);
        self.tasks.iter().for_each(|task| of_record(task).hash(state));
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:>4} s] {:?}", self.now.since(NOON).as_secs(), self.deed)
    }
}
