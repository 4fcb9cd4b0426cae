//! Our side: the store, with as many callers at once as a server has.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use mrtr_schema::Revision;
use mrtr_sqlite::SqliteTaskStore;
use mrtr_state::{FlowId, ProcessRandom, Random, Timestamp};
use mrtr_tasks::store::{Answer, KeptQuestion, Limits, NewTask, Recorded, Run, TaskStore, Trials, Turns, Wanted};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::{CALL, ENTRY, KEY, Keeper, Phase, QUESTION, RESULT};

pub(crate) struct Store {
    runtime: Runtime,
    kept: Arc<dyn TaskStore>,
    random: ProcessRandom,
    /// A tool of this process alone, so that others do not acquire its tasks.
    tool: String,
    tasks: usize,
    at_once: usize,
    runs: Vec<Run>,
}

impl Store {
    pub(super) fn open(file: &Path, tasks: usize, at_once: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self::over(runtime, Arc::new(SqliteTaskStore::open(file)?), tasks, at_once))
    }

    /// A store that belongs to this runtime.
    pub(crate) fn over(runtime: Runtime, kept: Arc<dyn TaskStore>, tasks: usize, at_once: usize) -> Self {
        let tool = format!("update_{}", std::process::id());
        Self { runtime, kept, random: ProcessRandom::new(), tool, tasks, at_once, runs: Vec::new() }
    }

    /// Starts a caller for each of these calls, `at_once` at a time.
    fn each<F>(&self, calls: impl Iterator<Item = F>) -> Result<()>
    where
        F: Future<Output = Result<(), mrtr_tasks::store::StoreError>> + Send + 'static,
    {
        self.runtime.block_on(async {
            let mut callers = JoinSet::new();
            for call in calls {
                if callers.len() >= self.at_once {
                    callers.join_next().await.expect("some are under way")??;
                }
                callers.spawn(call);
            }
            while let Some(done) = callers.join_next().await {
                done??;
            }
            Ok(())
        })
    }

    fn create(&mut self) -> Result<()> {
        let new: Vec<_> = (0..self.tasks).map(|_| new_task(&self.random, &self.tool)).collect();
        self.runs = new.iter().map(|task| Run { id: task.record.id, fence: 0 }).collect();
        let store = &self.kept;
        self.each(new.into_iter().map(|task| {
            let store = Arc::clone(store);
            async move { store.create(task, Limits::NONE).await.map(drop) }
        }))
    }

    fn claim(&mut self) -> Result<()> {
        let mut runs = Vec::new();
        while runs.len() < self.tasks {
            let wanted = Wanted {
                tools: vec![self.tool.clone()],
                lease: LEASE,
                most: self.at_once,
                trials: Trials::Busy,
                running: Vec::new(),
                turns: Turns::default(),
            };
            let acquired = self.runtime.block_on(self.kept.acquire(&wanted))?.tasks;
            ensure!(!acquired.is_empty(), "no task is due");
            runs.extend(acquired.iter().map(|task| Run { id: task.record.id, fence: task.record.fence }));
        }
        self.runs = runs;
        Ok(())
    }

    fn each_run<F>(&self, call: impl Fn(Arc<dyn TaskStore>, Run) -> F) -> Result<()>
    where
        F: Future<Output = Result<(), mrtr_tasks::store::StoreError>> + Send + 'static,
    {
        self.each(self.runs.iter().map(|run| call(Arc::clone(&self.kept), *run)))
    }
}

impl Keeper for Store {
    fn go(&mut self, phase: Phase) -> Result<()> {
        match phase {
            Phase::Create => self.create(),
            Phase::Claim | Phase::ClaimAgain => self.claim(),
            Phase::Step => self.each_run(|store, run| async move { store.record(run, step()).await }),
            Phase::Ask => self.each_run(|store, run| async move { store.park(run, question(), None).await }),
            Phase::Answer => self.each_run(|store, run| async move {
                let answer = Answer { key: KEY.to_owned(), entry: ENTRY.to_vec() };
                store.answer(run.id, &owner(), vec![answer]).await.map(drop)
            }),
            Phase::Complete => self.each_run(|store, run| async move {
                store.finish(run, End::Completed { is_error: false }, RESULT.to_vec()).await
            }),
            Phase::Get => self.each_run(|store, run| async move {
                store.get(run.id, Some(&owner())).await.map(std::hint::black_box).map(drop)
            }),
        }
    }
}

pub(super) fn new_task(random: &ProcessRandom, tool: &str) -> NewTask {
    let now = Timestamp::from(SystemTime::now());
    let mut flow = [0; 16];
    random.fill(&mut flow);
    let flow = FlowId::from_bytes(flow);
    let record = TaskRecord {
        ttl: Some(Duration::from_hours(24)),
        ..TaskRecord::new(TaskId::random(random), owner(), flow, tool, Revision::V2026_07_28, now)
    };
    NewTask { record, call: CALL.to_vec(), entries: None }
}

pub(crate) fn owner() -> Owner {
    Owner::new("bench", None, None)
}

fn step() -> Recorded {
    Recorded { entries: Some(ENTRY.to_vec()), progressed: true, ..Recorded::default() }
}

pub(super) fn question() -> Recorded {
    let question = KeptQuestion { key: KEY.to_owned(), body: QUESTION.to_vec() };
    Recorded { opened: vec![question], ..step() }
}

pub(super) const LEASE: Duration = Duration::from_secs(30);
