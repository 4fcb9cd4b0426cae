//! A trial of a store, with its clock: verbs with expected answers, and the helpers that the promises have in common.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::Clock;
use mrtr_schema::Revision;
use mrtr_server::Caller;
use mrtr_server::transport::CallerKey;
use mrtr_state::{FlowId, ProcessRandom, Timestamp};
use tokio::sync::watch;

use crate::record::TransitionError;
use crate::store::{
    Acquired, AcquiredTask, Answer, KeptQuestion, KeptTask, Limits, NewTask, Recorded, Run, StoreError, TaskStore,
    Trials, Turns, Wanted,
};
use crate::{Account, End, Owner, TaskId, TaskRecord};

pub(super) struct Trial {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) clock: Arc<SetClock>,
}

impl Trial {
    pub(super) async fn of(make: impl AsyncFn(Arc<dyn Clock>) -> Arc<dyn TaskStore>) -> Self {
        let clock = Arc::new(SetClock::at(NOON));
        let store = make(Arc::clone(&clock) as Arc<dyn Clock>).await;
        Self { store, clock }
    }

    /// Makes two stores that share their tasks and go by one clock.
    pub(super) async fn shared(
        make: impl AsyncFn(Arc<dyn Clock>) -> (Arc<dyn TaskStore>, Arc<dyn TaskStore>),
    ) -> (Self, Self) {
        let clock = Arc::new(SetClock::at(NOON));
        let (here, there) = make(Arc::clone(&clock) as Arc<dyn Clock>).await;
        (Self { store: here, clock: Arc::clone(&clock) }, Self { store: there, clock })
    }

    pub(super) async fn create(&self, task: NewTask) -> TaskRecord {
        let created = self.store.create(task, Limits::NONE).await.expect("the owner has few tasks");
        assert!(created.is_new, "a task of a new flow is new");
        created.record
    }

    /// Acquires at most `most` tasks of the usual tool.
    pub(super) async fn acquire(&self, most: usize) -> Acquired {
        self.acquire_of(&[TOOL], most).await
    }

    /// Acquires tasks of these tools as a runner that has no run.
    pub(super) async fn acquire_of(&self, tools: &[&str], most: usize) -> Acquired {
        let acquired = self.ask(tools, most, Trials::Idle).await;
        if acquired.trial_waits { self.ask(tools, most, Trials::Takes { alone: true }).await } else { acquired }
    }

    /// Acquires tasks of these tools as a runner that treats tasks on trial in this way.
    pub(super) async fn ask(&self, tools: &[&str], most: usize, trials: Trials) -> Acquired {
        let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
        let wanted = Wanted { tools, lease: LEASE, most, trials, running: Vec::new(), turns: Turns::default() };
        self.store.acquire(&wanted).await.expect("a store that works gives work")
    }

    /// Acquires tasks as a runner that has other runs, in these turns.
    pub(super) async fn ask_in_turns(&self, most: usize, turns: Turns) -> Acquired {
        let (tools, trials, running) = (vec![TOOL.to_owned()], Trials::Busy, Vec::new());
        let wanted = Wanted { tools, lease: LEASE, most, trials, running, turns };
        self.store.acquire(&wanted).await.expect("a store that works gives work")
    }

    /// Loses the run that has this task, and lets the pause after it pass.
    pub(super) async fn lose(&self) {
        self.clock.pass(LEASE);
        self.lose_no_time().await;
    }

    /// Makes the store notice that the run whose lease is over was lost, and lets the pause after it pass.
    pub(super) async fn lose_no_time(&self) {
        let acquired = self.acquire(usize::MAX).await;
        assert_eq!(acquired.tasks, [], "a lost run delays the next");
        self.clock.pass(acquired.next.unwrap_or_default());
    }

    /// The one task that is due.
    pub(super) async fn take(&self) -> AcquiredTask {
        let mut acquired = self.acquire(usize::MAX).await;
        assert_eq!(acquired.tasks.len(), 1, "the one task that is due is taken");
        acquired.tasks.remove(0)
    }

    pub(super) async fn expect_nothing_due(&self) {
        assert_eq!(self.acquire(usize::MAX).await.tasks, [], "a task that is not due is not taken");
    }

    /// A new task, and the run that has it.
    pub(super) async fn running(&self) -> Run {
        let record = self.create(new_task(&ann())).await;
        let taken = self.take().await;
        assert_eq!(taken.record.id, record.id, "the task that was created is due");
        run_of(&taken)
    }

    /// A new task whose run has opened questions under these keys and ended.
    pub(super) async fn asking(&self, keys: &[&str]) -> TaskId {
        let run = self.running().await;
        self.store.park(run, opening(keys), None).await.expect("the run has the task");
        run.id
    }

    pub(super) async fn answer(&self, id: TaskId, answers: &[(&str, &str)]) -> Vec<String> {
        let answers = answers.iter().map(|&(key, entry)| answer(key, entry)).collect();
        self.store.answer(id, &ann(), answers).await.expect("the task has not ended")
    }

    pub(super) async fn get(&self, id: TaskId) -> KeptTask {
        self.store.get(id, Some(&ann())).await.expect("the owner finds the task")
    }

    pub(super) async fn expect_end(&self, id: TaskId, end: End, result: Option<&[u8]>) {
        let kept = self.get(id).await;
        let found = (kept.record.ended.map(|(end, _)| end), kept.result.as_deref());
        assert_eq!(found, (Some(end), result), "the first end of a task stands, with its result");
    }

    /// Calls every verb of a run, and returns the results with the verbs' names.
    pub(super) async fn every_verb_of(&self, run: Run) -> [(&'static str, Result<(), StoreError>); 5] {
        let recorded =
            || Recorded { entries: Some(b"stale".to_vec()), message: Some(b"stale".to_vec()), ..opening(&["stale"]) };
        [
            ("renew", self.store.renew(run, LEASE * 9, Some(b"stale".to_vec())).await),
            ("record", self.store.record(run, recorded()).await),
            ("hand_over", self.store.hand_over(run, Duration::ZERO).await),
            ("park", self.store.park(run, recorded(), Some(Duration::ZERO)).await),
            ("finish", self.store.finish(run, End::Failed, b"stale".to_vec()).await),
        ]
    }

    /// Asserts that every verb of the run is refused, and that none of them changes the task.
    pub(super) async fn expect_refused(&self, run: Run, refusal: TransitionError) {
        let before = self.get(run.id).await;
        for (verb, outcome) in self.every_verb_of(run).await {
            let refused = matches!(&outcome, Err(StoreError::Refused(found)) if *found == refusal);
            assert!(refused, "{verb} is refused since {refusal}, not {outcome:?}");
        }
        assert_eq!(self.get(run.id).await, before, "a verb that is refused changes nothing");
    }
}

pub(super) fn ann() -> Owner {
    owner("ann")
}

pub(super) fn owner(name: &str) -> Owner {
    Owner::new("tracker", Some(&Caller::new("https://id.example.com", name)), None)
}

/// The account of an anonymous caller at this address.
pub(super) fn account(address: &str) -> Account {
    let address = address.parse().expect("an address");
    Account::new(&Owner::new("tracker", None, None), Some(&CallerKey::address(address)))
}

/// A task of an anonymous caller at this address.
pub(super) fn anonymous_task(address: &str) -> NewTask {
    let task = new_task(&Owner::new("tracker", None, None));
    NewTask { record: TaskRecord { account: account(address), ..task.record }, ..task }
}

/// A task of the usual tool, for a flow of its own.
pub(super) fn new_task(owner: &Owner) -> NewTask {
    task_of(owner, flow(), TOOL)
}

pub(super) fn task_of(owner: &Owner, flow: FlowId, tool: &str) -> NewTask {
    let id = TaskId::random(&ProcessRandom::new());
    let record = TaskRecord {
        ttl: Some(TTL),
        ..TaskRecord::new(id, owner.clone(), flow, tool, Revision::V2026_07_28, Timestamp::from_millis(7))
    };
    NewTask { record, call: format!("call of {id}").into_bytes(), entries: None }
}

pub(super) fn flow() -> FlowId {
    FlowId::from_bytes(*TaskId::random(&ProcessRandom::new()).as_bytes())
}

pub(super) fn run_of(task: &AcquiredTask) -> Run {
    Run { id: task.record.id, fence: task.record.fence }
}

/// Opens a question under each key.
pub(super) fn opening(keys: &[&str]) -> Recorded {
    let question = |&key: &&str| KeptQuestion { key: key.to_owned(), body: format!("{key}?").into_bytes() };
    Recorded { opened: keys.iter().map(question).collect(), ..Recorded::default() }
}

/// An entry that was not known before.
pub(super) fn entry(bytes: &str) -> Recorded {
    Recorded { entries: Some(bytes.into()), progressed: true, ..Recorded::default() }
}

pub(super) fn answer(key: &str, entry: &str) -> Answer {
    Answer { key: key.to_owned(), entry: entry.into() }
}

pub(super) fn is_refused(outcome: &Result<(), StoreError>, refusal: TransitionError) -> bool {
    matches!(outcome, Err(StoreError::Refused(found)) if *found == refusal)
}

/// The moment a millisecond earlier.
pub(super) fn just_before(moment: Timestamp) -> Timestamp {
    Timestamp::from_millis(moment.as_millis() - 1)
}

/// A moment like any other.
pub(super) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(super) const TOOL: &str = "index";
pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const TTL: Duration = Duration::from_hours(1);

/// Limits that allow this many open tasks, whatever they keep.
pub(super) fn most_open(open: usize) -> Limits {
    Limits { open, ..Limits::NONE }
}

/// A clock that stands until it is set.
#[derive(Debug)]
pub(super) struct SetClock(watch::Sender<Timestamp>);

impl SetClock {
    pub(super) fn at(moment: Timestamp) -> Self {
        Self(watch::Sender::new(moment))
    }

    pub(super) fn set(&self, moment: Timestamp) {
        self.0.send_replace(moment);
    }

    pub(super) fn pass(&self, duration: Duration) {
        self.0.send_modify(|now| *now = *now + duration);
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let end = self.now() + duration;
        // A clock that is gone is not set any more, and neither is there anything left to wait for.
        drop(self.0.subscribe().wait_for(|now| *now >= end).await);
    }
}
