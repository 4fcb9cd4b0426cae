//! Random verbs with time passing, asked of stores and of the model in lock-step.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_schema::Revision;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::record::Event;
use mrtr_tasks::store::{
    Acquired, Answer, Changed, Cursor, KeptQuestion, KeptTask, Limits, NewTask, Recorded, Run, StoreError, TaskStore,
    Trials, Turn, Turns, Wanted,
};
use mrtr_tasks::{Account, End, Owner, TaskId, TaskRecord};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::clock::{NOON, SetClock};
use crate::model::Model;

#[derive(Debug, Clone)]
pub(crate) enum Verb {
    Create {
        owner: usize,
        flow: u8,
        tool: usize,
        ttl: Option<Duration>,
        retention: Duration,
        most_open: usize,
    },
    /// An acquire by an instance in which one of the runs so far may still be, and whose workers have these owners'
    /// runs.
    Acquire(Wanted, Option<Index>, Vec<usize>),
    /// A verb under one of the runs so far, which may be lost since.
    OfRun(Index, RunVerb),
    /// A verb on one of the tasks so far, which may be gone since; by an owner, or the operator.
    OfTask(Index, Option<usize>, TaskVerb),
    Sweep(usize),
    /// The clock moves by so many milliseconds, back or forth.
    ClockMoves(i64),
}

#[derive(Debug, Clone)]
pub(crate) enum RunVerb {
    Renew(Duration, Option<Vec<u8>>),
    Accompany,
    Record(Recorded),
    Compact(usize, Vec<u8>),
    Park(Recorded, Option<Duration>),
    HandOver(Duration),
    Finish(End),
}

#[derive(Debug, Clone)]
pub(crate) enum TaskVerb {
    Answer(Vec<Answer>),
    AskAnew(String, KeptQuestion),
    Wake,
    Cancel,
    Retry,
}

pub(crate) fn verb() -> impl Strategy<Value = Verb> {
    let create = (0..OWNERS.len(), 0..4_u8, 0..TOOLS.len(), option::of(duration()), duration(), 1..4_usize).prop_map(
        |(owner, flow, tool, ttl, retention, most_open)| Verb::Create { owner, flow, tool, ttl, retention, most_open },
    );
    let running = option::of(any::<Index>());
    let busy = vec(0..OWNERS.len(), 0..4);
    let acquire = (subsequence(TOOLS.to_vec(), 0..=TOOLS.len()), duration(), 0..4_usize, trials(), running, busy)
        .prop_map(|(tools, lease, most, trials, running, busy)| {
            let tools = tools.into_iter().map(ToOwned::to_owned).collect();
            Verb::Acquire(
                Wanted { tools, lease, most, trials, running: Vec::new(), turns: Turns::default() },
                running,
                busy,
            )
        });
    prop_oneof![
        3 => create,
        4 => acquire,
        8 => (any::<Index>(), run_verb()).prop_map(|(run, verb)| Verb::OfRun(run, verb)),
        4 => (any::<Index>(), option::of(0..OWNERS.len()), task_verb())
            .prop_map(|(task, owner, verb)| Verb::OfTask(task, owner, verb)),
        1 => (0..3_usize).prop_map(Verb::Sweep),
        3 => (duration(), prop::bool::weighted(0.2)).prop_map(|(duration, back)| {
            let millis = i64::try_from(duration.as_millis()).unwrap();
            Verb::ClockMoves(if back { -millis } else { millis })
        }),
    ]
}

fn trials() -> impl Strategy<Value = Trials> {
    prop_oneof![
        3 => Just(Trials::Busy),
        1 => Just(Trials::MakesRoom),
        2 => Just(Trials::Idle),
        3 => any::<bool>().prop_map(|alone| Trials::Takes { alone }),
    ]
}

fn run_verb() -> impl Strategy<Value = RunVerb> {
    prop_oneof![
        1 => (duration(), option::of(bytes())).prop_map(|(lease, message)| RunVerb::Renew(lease, message)),
        1 => Just(RunVerb::Accompany),
        4 => recorded().prop_map(RunVerb::Record),
        1 => (0..4_usize, bytes()).prop_map(|(first, entries)| RunVerb::Compact(first, entries)),
        3 => (recorded(), option::of(duration())).prop_map(|(recorded, again)| RunVerb::Park(recorded, again)),
        1 => duration().prop_map(RunVerb::HandOver),
        1 => select(End::ALL.to_vec()).prop_map(RunVerb::Finish),
    ]
}

fn task_verb() -> impl Strategy<Value = TaskVerb> {
    let answer = (key(), bytes()).prop_map(|(key, entry)| Answer { key, entry });
    prop_oneof![
        6 => vec(answer, 0..3).prop_map(TaskVerb::Answer),
        3 => (key(), key(), bytes()).prop_map(|(key, again, body)| {
            TaskVerb::AskAnew(key, KeptQuestion { key: again, body })
        }),
        2 => Just(TaskVerb::Wake),
        1 => Just(TaskVerb::Cancel),
        1 => Just(TaskVerb::Retry),
    ]
}

fn recorded() -> impl Strategy<Value = Recorded> {
    let question = (key(), bytes()).prop_map(|(key, body)| KeptQuestion { key, body });
    let parts = (option::of(bytes()), vec(question, 0..3), vec(key(), 0..2), any::<bool>());
    (parts, option::of(duration()), option::of(bytes())).prop_map(|(parts, lasts, message)| {
        let (entries, opened, retired, progressed) = parts;
        Recorded { entries, opened, retired, progressed, lasts, message }
    })
}

fn key() -> impl Strategy<Value = String> {
    select(vec!["name", "role", "age", "name.2", "Ärger \"x\"", ""]).prop_map(ToOwned::to_owned)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..4)
}

/// One of a few durations, so that leases, pauses and ends meet.
fn duration() -> impl Strategy<Value = Duration> {
    select(vec![0, 1, 1_000, 2_000, 30_000, 30_001, 600_000]).prop_map(Duration::from_millis)
}

/// Plays the verbs on the stores, which go by this clock, and compares them with the model.
pub(crate) async fn play(verbs: Vec<Verb>, clock: &SetClock, model: Model, stores: Vec<Arc<dyn TaskStore>>) {
    let mut players = Vec::new();
    for store in stores {
        players.push(Player::new(store).await);
    }
    let mut game = Game { model, players, tasks: Vec::new(), runs: Vec::new(), turn: None };
    for verb in verbs {
        let now = clock.now();
        if let Verb::ClockMoves(millis) = verb {
            clock.set(Timestamp::from_millis(now.as_millis().checked_add_signed(millis).unwrap()));
            continue;
        }
        game.model.see(now);
        let before = game.kept(now);
        game.play(verb, now).await;
        game.compare(&before, now).await;
    }
}

struct Game {
    model: Model,
    players: Vec<Player>,
    tasks: Vec<TaskId>,
    runs: Vec<Run>,
    /// The place where turns go on.
    turn: Option<Turn>,
}

impl Game {
    async fn play(&mut self, verb: Verb, now: Timestamp) {
        match verb {
            Verb::Create { owner, flow, tool, ttl, retention, most_open } => {
                let id = TaskId::from_bytes([u8::try_from(self.tasks.len()).unwrap(); 16]);
                let flow = FlowId::from_bytes([flow; 16]);
                let record = TaskRecord::new(id, self::owner(owner), flow, TOOLS[tool], Revision::Sep2322, NOON);
                let record = TaskRecord { ttl, retention, ..record };
                let task = NewTask { record, call: vec![flow.as_bytes()[0]], entries: ttl.map(|_| b"known".to_vec()) };
                let limits = Limits { open: most_open, ..Limits::NONE };
                let expected = told(self.model.create(task.clone(), most_open, now));
                for player in &self.players {
                    assert_eq!(told(player.store.create(task.clone(), limits).await), expected);
                }
                self.tasks.push(id);
            }
            Verb::Acquire(mut wanted, running, busy) => {
                // A runner that has no run has no owners of them either.
                let busy = if matches!(wanted.trials, Trials::Busy | Trials::MakesRoom) { busy } else { Vec::new() };
                wanted.turns = Turns::new(self.turn, 4, busy.into_iter().map(|number| Account::from(&owner(number))));
                let running = running.filter(|_| !self.runs.is_empty()).map(|run| run.get(&self.runs).id);
                wanted.running.extend(running);
                let expected = sorted(self.model.acquire(&wanted, now));
                for player in &self.players {
                    assert_eq!(sorted(player.store.acquire(&wanted).await.unwrap()), expected);
                }
                self.turn = expected.turn;
                let runs = expected.tasks.iter().map(|task| Run { id: task.record.id, fence: task.record.fence });
                self.runs.extend(runs);
            }
            Verb::OfRun(run, verb) if !self.runs.is_empty() => {
                // Mostly the newest, for the others are mostly lost.
                let run =
                    self.runs[(self.runs.len() - 1).saturating_sub(run.index(self.runs.len() + 3).saturating_sub(3))];
                let expected = told(of_run(&mut self.model, run, verb.clone(), now));
                for player in &self.players {
                    assert_eq!(told(player.of_run(run, verb.clone()).await), expected, "{verb:?}");
                }
            }
            Verb::OfTask(task, owner, verb) if !self.tasks.is_empty() => {
                let (id, owner) = (self.tasks[task.index(self.tasks.len())], owner.map(self::owner));
                let expected = told(of_task(&mut self.model, id, owner.as_ref(), verb.clone(), now));
                for player in &self.players {
                    assert_eq!(told(player.of_task(id, owner.as_ref(), verb.clone()).await), expected, "{verb:?}");
                }
            }
            Verb::Sweep(most) => {
                let expected = self.model.sweep(most, now);
                for player in &self.players {
                    assert_eq!(player.store.sweep(most).await.unwrap(), expected);
                }
            }
            Verb::OfRun(..) | Verb::OfTask(..) | Verb::ClockMoves(_) => {}
        }
    }

    fn kept(&mut self, now: Timestamp) -> Vec<Option<KeptTask>> {
        self.tasks.iter().map(|&id| self.model.get(id, None, now).ok()).collect()
    }

    /// Checks that all that can be read is as in the model, and that every change was told.
    async fn compare(&mut self, before: &[Option<KeptTask>], now: Timestamp) {
        let after = self.kept(now);
        let is_changed = |at: usize| match (before.get(at), &after[at]) {
            (Some(Some(before)), Some(after)) => {
                before.record.updated != after.record.updated
                    || before.message != after.message
                    || before.record.ended != after.record.ended
            }
            (None | Some(None), Some(_)) => true,
            _ => false,
        };
        let changed: Vec<_> = (0..after.len()).filter(|&at| is_changed(at)).map(|at| self.tasks[at]).collect();
        for player in &mut self.players {
            for owner in [None, Some(0), Some(1)].map(|owner| owner.map(self::owner)) {
                for &id in &self.tasks {
                    let expected = told(self.model.get(id, owner.as_ref(), now));
                    assert_eq!(told(player.store.get(id, owner.as_ref()).await), expected);
                }
                let mut records = player.store.records(&self.tasks).await.unwrap();
                let mut all = self.model.list(None);
                records.sort_by_key(|record| record.id);
                all.sort_by_key(|record| record.id);
                assert_eq!(records, all);
                let listed = player.store.list(owner.as_ref(), None, usize::MAX).await.unwrap();
                let listed: Vec<_> = listed.into_iter().map(|task| task.record).collect();
                assert_eq!(listed, self.model.list(owner.as_ref()));
            }
            player.expect_told(&changed).await;
        }
    }
}

struct Player {
    store: Arc<dyn TaskStore>,
    since: Cursor,
}

impl Player {
    async fn new(store: Arc<dyn TaskStore>) -> Self {
        let since = store.cursor().await.unwrap();
        Self { store, since }
    }

    async fn of_run(&self, run: Run, verb: RunVerb) -> Result<(), StoreError> {
        match verb {
            RunVerb::Renew(lease, message) => self.store.renew(run, lease, message).await,
            RunVerb::Accompany => self.store.accompany(run).await,
            RunVerb::Record(recorded) => self.store.record(run, recorded).await,
            RunVerb::Compact(first, entries) => self.store.compact(run, first, entries).await,
            RunVerb::Park(recorded, look_again) => self.store.park(run, recorded, look_again).await,
            RunVerb::HandOver(pause) => self.store.hand_over(run, pause).await,
            RunVerb::Finish(end) => self.store.finish(run, end, end.as_str().into()).await,
        }
    }

    async fn of_task(&self, id: TaskId, owner: Option<&Owner>, verb: TaskVerb) -> Result<Vec<String>, StoreError> {
        let done = match verb {
            TaskVerb::Answer(answers) => {
                return self.store.answer(id, owner.unwrap_or(&self::owner(0)), answers).await;
            }
            TaskVerb::AskAnew(key, again) => {
                let asked = self.store.ask_anew(id, owner.unwrap_or(&self::owner(0)), &key, again).await?;
                return Ok(if asked { vec![key] } else { Vec::new() });
            }
            TaskVerb::Wake => self.store.wake(id).await,
            TaskVerb::Cancel => self.store.cancel(id, owner).await,
            TaskVerb::Retry => self.store.retry(id).await,
        };
        done.map(|()| Vec::new())
    }

    async fn expect_told(&mut self, expected: &[TaskId]) {
        let cursor = self.store.cursor().await.unwrap();
        if cursor == self.since {
            assert_eq!(expected, []);
            return;
        }
        let changes = self.store.changed(self.since).await.unwrap();
        let is_told = |id: &TaskId| matches!(&changes.changed, Changed::These(ids) if ids.contains(id));
        assert!(expected.iter().all(is_told), "{changes:?} leaves out some of {expected:?}");
        assert_eq!(changes.until, cursor);
        self.since = cursor;
    }
}

fn of_run(model: &mut Model, run: Run, verb: RunVerb, now: Timestamp) -> Result<(), StoreError> {
    match verb {
        RunVerb::Renew(lease, message) => model.renew(run, lease, message, now),
        RunVerb::Accompany => model.apply(run.id, None, Event::Accompany { fence: run.fence }, now),
        RunVerb::Record(recorded) => model.record(run, recorded, now),
        RunVerb::Compact(first, entries) => model.compact(run, first, entries, now),
        RunVerb::Park(recorded, look_again) => model.park(run, recorded, look_again, now),
        RunVerb::HandOver(pause) => model.apply(run.id, None, Event::HandOver { fence: run.fence, pause }, now),
        RunVerb::Finish(end) => model.finish(run, end, end.as_str().into(), now),
    }
}

fn of_task(
    model: &mut Model,
    id: TaskId,
    owner: Option<&Owner>,
    verb: TaskVerb,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let (owner, event) = match verb {
        TaskVerb::Answer(answers) => return model.answer(id, owner.unwrap_or(&self::owner(0)), answers, now),
        TaskVerb::AskAnew(key, again) => {
            let asked = model.ask_anew(id, owner.unwrap_or(&self::owner(0)), &key, again, now)?;
            return Ok(if asked { vec![key] } else { Vec::new() });
        }
        TaskVerb::Wake => (None, Event::Wake),
        TaskVerb::Cancel => (owner, Event::Cancel),
        TaskVerb::Retry => (None, Event::Retry),
    };
    model.apply(id, owner, event, now).map(|()| Vec::new())
}

/// Used keys have no order.
fn sorted(mut acquired: Acquired) -> Acquired {
    acquired.set_aside.sort_unstable();
    acquired.tasks.iter_mut().for_each(|task| task.used.sort_unstable());
    acquired
}

/// Errors are compared by what they say.
fn told<T: Debug>(result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn owner(number: usize) -> Owner {
    Owner::from_kept(OWNERS[number])
}

const OWNERS: [&str; 3] = ["ann", "bob", "carl"];
const TOOLS: [&str; 3] = ["index", "post", "charge"];
