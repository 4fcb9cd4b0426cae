//! The events in the world that is explored: each actor's deeds, and a store's effect on them.

use std::fmt;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::record::{Change, Company, Event, TransitionError};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};

use crate::canonical::canonical;
use crate::rules::{Rule, broken_by_state, broken_by_step};
use crate::search::{Model, Step};
use crate::world::{Client, Journal, KEYS, Next, Runner, STEPS, Sent, World};

/// The time that passes in one step: longer than any pause, and as long as a lease.
pub(crate) const TICK: Duration = Duration::from_mins(10);

/// A world in which a task runs.
pub(crate) struct Tasks {
    pub(crate) runners: usize,
    /// The transition that a store applies.
    pub(crate) transition: fn(&mut TaskRecord, Event<'_>, Timestamp) -> Result<(), TransitionError>,
    pub(crate) ttl_ticks: Option<u32>,
    /// True if the handler may refuse the first answer, and ask again.
    pub(crate) refused_answers: bool,
    /// True if acknowledgements may be lost.
    pub(crate) lossy: bool,
    /// True if a runner whose acknowledgement is lost sends its write again, rather than giving its run up.
    pub(crate) resends: bool,
}

impl Tasks {
    pub(crate) fn new(
        runners: usize,
        transition: fn(&mut TaskRecord, Event<'_>, Timestamp) -> Result<(), TransitionError>,
    ) -> Self {
        Self { runners, transition, ttl_ticks: None, refused_answers: false, lossy: true, resends: false }
    }
}

/// Something that an actor does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action {
    now: Timestamp,
    deed: Deed,
    /// True if the actor hears the outcome.
    is_heard: bool,
    refusal: Option<TransitionError>,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    /// Time goes on.
    Tick,
    /// The store looks for tasks whose time is over.
    Sweep,
    Acquire(usize),
    Write(usize, u64, Write),
    Die(usize),
    Restart(usize),
    Answer(usize, bool),
    Cancel,
    /// The operator makes a task run that is set aside.
    Retry,
}

/// A write of a run.
#[derive(Debug, Clone, Copy)]
enum Write {
    Ask(usize),
    AskAndPark(usize),
    Park,
    Begin(usize),
    Conclude(usize),
    Finish,
    Renew,
    HandOver,
}

impl Model for Tasks {
    type State = World;
    type Action = Action;

    fn initial(&self) -> World {
        let noon = Timestamp::from_millis(1_785_240_000_000);
        // The texts are empty, since millions of copies are made of them.
        let (id, owner) = (TaskId::from_bytes([1; 16]), Owner::from_kept(""));
        let record = TaskRecord::new(id, owner, FlowId::from_bytes([7; 16]), "", Revision::V2026_07_28, noon);
        World {
            now: noon,
            // The operator comes before a task that is set aside has been kept for too long.
            record: TaskRecord {
                ttl: self.ttl_ticks.map(|ticks| TICK * ticks),
                retention: Duration::from_hours(1_000_000),
                ..record
            },
            journal: Journal::default(),
            runners: vec![Runner::Idle; self.runners],
            client: Client { answers: [Sent::No; 3], cancel: Sent::No },
        }
    }

    fn steps(&self, world: &World) -> Vec<Step<Self>> {
        let mut deeds = vec![Deed::Tick, Deed::Cancel];
        deeds.extend(self.ttl_ticks.map(|_| Deed::Sweep));
        deeds.extend(world.record.set_aside.map(|_| Deed::Retry));
        self.add_answers(world, &mut deeds);
        world.runners.iter().enumerate().for_each(|(index, runner)| add_deeds(index, runner, &mut deeds));
        let heard = deeds.iter().map(|&deed| self.step(world, deed, true));
        let lost = deeds.iter().filter(|deed| self.lossy && deed.can_be_lost());
        let steps = heard.chain(lost.map(|&deed| self.step(world, deed, false)));
        steps.filter(|step| step.next != *world).collect()
    }

    fn broken(&self, world: &World) -> Vec<Rule> {
        broken_by_state(world)
    }

    fn canonical(&self, world: World) -> World {
        canonical(world)
    }

    fn is_benign(&self, action: &Action) -> bool {
        action.is_heard && !matches!(action.deed, Deed::Die(_) | Deed::Cancel | Deed::Answer(_, true))
    }

    fn end(&self, world: &World) -> Option<&'static str> {
        world.record.end(world.now).map(End::as_str)
    }
}

impl Tasks {
    /// Adds answers to every question that the client was ever shown, until it hears that the answer came.
    fn add_answers(&self, world: &World, deeds: &mut Vec<Deed>) {
        for key in 0..KEYS.len() {
            match world.client.answers[key] {
                Sent::No if world.journal.opened[key] > 0 => {
                    deeds.push(Deed::Answer(key, false));
                    deeds.extend((self.refused_answers && key == 0).then_some(Deed::Answer(key, true)));
                }
                Sent::Unacknowledged { is_refused } => deeds.push(Deed::Answer(key, is_refused)),
                _ => (),
            }
        }
    }

    fn step(&self, before: &World, deed: Deed, is_heard: bool) -> Step<Self> {
        let mut next = before.clone();
        let mut result = Ok(());
        match deed {
            Deed::Tick => next.now = next.now + TICK,
            Deed::Sweep => result = (self.transition)(&mut next.record, Event::Expire, next.now),
            Deed::Acquire(runner) => result = self.acquire(&mut next, runner, is_heard),
            Deed::Write(runner, fence, write) => result = self.write(&mut next, runner, fence, write, is_heard),
            Deed::Die(runner) => next.runners[runner] = Runner::Dead,
            Deed::Restart(runner) => next.runners[runner] = Runner::Idle,
            Deed::Answer(key, is_refused) => result = self.answer(&mut next, key, is_refused, is_heard),
            Deed::Cancel => result = self.cancel(&mut next, is_heard),
            Deed::Retry => result = (self.transition)(&mut next.record, Event::Retry, next.now),
        }
        let (fence, begun) = match deed {
            Deed::Write(_, fence, Write::Begin(step)) if result.is_ok() => (Some(fence), Some(step)),
            Deed::Write(_, fence, _) => (Some(fence), None),
            _ => (None, None),
        };
        let broken = broken_by_step(before, &next, fence, begun);
        Step { action: Action { now: before.now, deed, is_heard, refusal: result.err() }, next, broken }
    }

    fn acquire(&self, world: &mut World, runner: usize, is_heard: bool) -> Result<(), TransitionError> {
        (self.transition)(&mut world.record, Event::Acquire { lease: TICK, company: Company::Nothing }, world.now)?;
        if is_heard && world.record.leased_until.is_some() {
            world.runners[runner] = Runner::Running { fence: world.record.fence, view: world.journal, begun: None };
        }
        Ok(())
    }

    fn write(
        &self,
        world: &mut World,
        runner: usize,
        fence: u64,
        write: Write,
        is_heard: bool,
    ) -> Result<(), TransitionError> {
        let result = self.store(world, fence, write);
        let after = match world.runners[runner] {
            running @ Runner::Running { .. } if !is_heard && self.resends => running,
            Runner::Running { .. } if !is_heard => Runner::Unsure { fence },
            Runner::Running { mut view, begun, .. } if result.is_ok() && !write.ends_the_run() => {
                view.record(write);
                let begun = if let Write::Begin(step) = write { Some(step) } else { begun };
                Runner::Running { fence, view, begun }
            }
            _ => Runner::Idle,
        };
        world.runners[runner] = after;
        result
    }

    /// Keeps a write of a run as a store does: the record and the entries, or neither.
    fn store(&self, world: &mut World, fence: u64, write: Write) -> Result<(), TransitionError> {
        let opened: Vec<_> = write.asks().map(|key| KEYS[key].to_owned()).into_iter().collect();
        let is_known = matches!(write, Write::Begin(step) if world.journal.started[step]);
        let progressed = !is_known && !matches!(write, Write::Park);
        let change = Change { opened: &opened, progressed, ..Change::default() };
        let event = match write {
            Write::Ask(_) | Write::Begin(_) | Write::Conclude(_) => Event::Record { fence, change },
            Write::AskAndPark(_) | Write::Park => Event::Park { fence, change, look_again: None },
            Write::Finish => Event::Finish { fence, end: End::Completed { is_error: false } },
            Write::Renew => Event::Renew { fence, lease: TICK },
            Write::HandOver => Event::HandOver { fence, pause: Duration::ZERO },
        };
        (self.transition)(&mut world.record, event, world.now)?;
        world.journal.record(write);
        Ok(())
    }

    fn answer(&self, world: &mut World, key: usize, is_refused: bool, is_heard: bool) -> Result<(), TransitionError> {
        let is_open = world.record.open.iter().any(|open| open == KEYS[key]);
        let result = (self.transition)(&mut world.record, Event::Answer { keys: &[KEYS[key].to_owned()] }, world.now);
        if result.is_ok() && is_open {
            world.journal.answers[key] = twice_at_most(world.journal.answers[key]);
            world.journal.is_refused |= is_refused;
        }
        let is_acknowledged = is_heard && result.is_ok();
        world.client.answers[key] =
            if is_acknowledged { Sent::Acknowledged } else { Sent::Unacknowledged { is_refused } };
        result
    }

    fn cancel(&self, world: &mut World, is_heard: bool) -> Result<(), TransitionError> {
        (self.transition)(&mut world.record, Event::Cancel, world.now)?;
        world.client.cancel = if is_heard { Sent::Acknowledged } else { Sent::Unacknowledged { is_refused: false } };
        Ok(())
    }
}

/// Adds the deeds that a runner can do.
fn add_deeds(index: usize, runner: &Runner, deeds: &mut Vec<Deed>) {
    match *runner {
        Runner::Idle => deeds.push(Deed::Acquire(index)),
        Runner::Running { fence, view, begun } => {
            let write = |write| Deed::Write(index, fence, write);
            match view.next(begun) {
                Next::Ask(key) => deeds.extend([Write::Ask(key), Write::AskAndPark(key)].map(write)),
                Next::Wait => deeds.push(write(Write::Park)),
                Next::Begin(step) => deeds.push(write(Write::Begin(step))),
                Next::Conclude(step) => deeds.push(write(Write::Conclude(step))),
                Next::Finish => deeds.push(write(Write::Finish)),
            }
            deeds.extend([write(Write::Renew), write(Write::HandOver), Deed::Die(index)]);
        }
        Runner::Unsure { fence } => {
            deeds.extend([Deed::Write(index, fence, Write::HandOver), Deed::Die(index)]);
        }
        Runner::Dead => deeds.push(Deed::Restart(index)),
    }
}

impl Journal {
    fn record(&mut self, write: Write) {
        match write {
            Write::Ask(key) | Write::AskAndPark(key) => self.opened[key] = twice_at_most(self.opened[key]),
            Write::Begin(step) => self.started[step] = true,
            Write::Conclude(step) => self.outcomes[step] = twice_at_most(self.outcomes[step]),
            Write::Park | Write::Finish | Write::Renew | Write::HandOver => (),
        }
    }
}

fn twice_at_most(times: u8) -> u8 {
    (times + 1).min(2)
}

impl Write {
    fn asks(self) -> Option<usize> {
        if let Self::Ask(key) | Self::AskAndPark(key) = self { Some(key) } else { None }
    }

    fn ends_the_run(self) -> bool {
        matches!(self, Self::AskAndPark(_) | Self::Park | Self::Finish | Self::HandOver)
    }
}

impl Deed {
    /// Returns true if the actor waits for an acknowledgement, and does something else if none comes.
    fn can_be_lost(self) -> bool {
        match self {
            Self::Acquire(_) | Self::Answer(..) | Self::Cancel => true,
            // A renewal that is not confirmed is sent again.
            Self::Write(_, _, write) => !matches!(write, Write::Renew),
            Self::Tick | Self::Sweep | Self::Die(_) | Self::Restart(_) | Self::Retry => false,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { now, deed, is_heard, refusal } = self;
        let since = now.since(Timestamp::from_millis(1_785_240_000_000)).as_secs();
        write!(f, "[{since:>3} s] {deed}")?;
        refusal.map_or(Ok(()), |refusal| write!(f, ": refused, {refusal}"))?;
        if *is_heard { Ok(()) } else { f.write_str(" (the acknowledgement is lost)") }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Tick => write!(f, "time goes on"),
            Self::Sweep => write!(f, "the store looks for what has expired"),
            Self::Acquire(runner) => write!(f, "runner {runner} acquires the task"),
            Self::Write(runner, fence, write) => write!(f, "runner {runner}, run {fence}: {write}"),
            Self::Die(runner) => write!(f, "runner {runner} dies"),
            Self::Restart(runner) => write!(f, "runner {runner} starts again"),
            Self::Answer(key, false) => write!(f, "the client answers {}", KEYS[key]),
            Self::Answer(key, true) => write!(f, "the client answers {} with what will be refused", KEYS[key]),
            Self::Cancel => write!(f, "the client cancels"),
            Self::Retry => write!(f, "the operator retries"),
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ask(key) => write!(f, "asks {} and goes on", KEYS[key]),
            Self::AskAndPark(key) => write!(f, "asks {} and parks", KEYS[key]),
            Self::Park => write!(f, "parks"),
            Self::Begin(step) => write!(f, "begins step {}", STEPS[step]),
            Self::Conclude(step) => write!(f, "records the outcome of step {}", STEPS[step]),
            Self::Finish => write!(f, "finishes"),
            Self::Renew => write!(f, "renews its lease"),
            Self::HandOver => write!(f, "hands over"),
        }
    }
}
