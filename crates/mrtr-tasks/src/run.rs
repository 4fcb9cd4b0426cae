//! The runner: it takes tasks whose runs are due, runs them under a lease, and keeps their outcomes.

mod claim;
mod conclude;
mod keys;
mod lease;
mod progress;
mod sink;
mod trial;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mrtr_flow::{Journal, StopSignal};
use mrtr_server::extend::ToolCall;
use tokio::time::Instant;
use tracing::Instrument;

use crate::body::{CallBody, QuestionBody};
use crate::store::{AcquiredTask, Run};
use crate::tasks::{Inner, Tasks};
use crate::vault::{Kind, Unreadable};
use crate::{TaskRecord, count};
use claim::{Claims, Worker};
use keys::Keys;
pub(crate) use keys::fresh_key;
use lease::Lease;
use progress::Progress;
use sink::Sink;
use trial::{Acquitted, OnTrial};

impl Tasks {
    /// Starts the runner, once there is a server and a runtime.
    pub(crate) fn start(&self) {
        let inner = &self.0;
        if inner.attached().is_none() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        if !inner.is_started.swap(true, Ordering::AcqRel) {
            tokio::spawn(run_tasks(Arc::clone(inner)));
        }
    }
}

/// Runs tasks until the server is gone or the instance shuts down.
async fn run_tasks(inner: Arc<Inner>) {
    let listening = inner.hub.listen(&inner.store);
    tokio::select! {
        () = look_for_work(&inner) => {}
        () = listening => {}
        () = keep_sweeping(&inner) => {}
    }
}

async fn look_for_work(inner: &Arc<Inner>) {
    let mut claims = Claims::new(inner);
    let mut phase = inner.phase.subscribe();
    while let (Some(tools), true) = (inner.tools(), inner.takes_work()) {
        let pause = claims.look(tools).await;
        tokio::select! {
            () = inner.work.notified() => {}
            () = tokio::time::sleep(pause) => {}
            _ = phase.changed() => {}
        }
    }
}

/// Runs one task that this instance has just acquired.
async fn run(inner: Arc<Inner>, task: AcquiredTask, asked: Instant, worker: Worker, trial: Option<OnTrial>) {
    let run = Run { id: task.record.id, fence: task.record.fence };
    let span = tracing::info_span!(
        "task",
        id = %run.id,
        run = run.fence,
        tool = task.record.tool,
        outcome = tracing::field::Empty
    );
    let signal = StopSignal::new();
    // Dropped last: it makes the runner look for work, for which there must be a worker by then.
    let _running = inner.running(run, &signal);
    let _worker = worker;
    // The lease is held from before the handler is first polled, since a poll may block this thread, until the outcome
    // is kept.
    let lease = lease::hold(&inner, run, &signal, asked);
    let acquitted = trial.map(|trial| trial.begin(signal.clone()));
    run_acquired(&inner, run, task, signal, lease, acquitted).instrument(span).await;
}

async fn run_acquired(
    inner: &Arc<Inner>,
    run: Run,
    task: AcquiredTask,
    signal: StopSignal,
    mut lease: Lease,
    acquitted: Option<Acquitted>,
) {
    let expires = remaining(&task.record, inner.options.lease);
    let opened = match OpenedTask::open(inner, &task) {
        Ok(prepared) => prepared,
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a task of which this instance cannot read the stored bytes is left for another one"
            );
            conclude::hand_over(inner, run, PAUSE_OF_THE_UNREADABLE).await;
            return;
        }
    };
    let OpenedTask { call, journal, keys } = opened;
    compact(inner, run, &task, &journal).await;
    let progress = Progress::default();
    let sink = Sink::new(inner, run, &call, &journal, keys, progress.clone(), signal.clone());
    let sink = Arc::new(sink.on_trial(acquitted.clone()));
    // The supervisor of the run watches the task's own time: a question may extend it.
    let lasts = inner.options.run_deadline;
    let limit = inner.options.journal_limit;
    let running = call.run(journal, |context| {
        let context = context.as_task(limit).deadline(lasts).stop(signal.clone());
        context.sink(Arc::clone(&sink) as _).notifications(Arc::new(progress.clone()))
    });
    let ran = tokio::select! {
        ran = running => Some(ran),
        () = lease::supervise(inner, run, &signal, &progress, &mut lease, expires) => None,
    };
    // The handler does not run any more, whatever the store does with the outcome.
    if let Some(acquitted) = acquitted {
        acquitted.tell();
    }
    conclude::conclude(inner, run, &call, &sink, &signal, ran).await;
}

/// Compacts a journal in which entries take the place of others, as those of yield points do.
async fn compact(inner: &Inner, run: Run, task: &AcquiredTask, journal: &Journal) {
    let kept: usize = task.entries.iter().map(Vec::len).sum();
    if kept < COMPACTED_FROM && task.entries.len() < ENTRIES_OF_A_RUN {
        return;
    }
    let entries = journal.to_bytes();
    if entries.len() > kept / 2 && task.entries.len() < ENTRIES_OF_A_RUN {
        return;
    }
    let Some(attached) = inner.attached() else { return };
    let sealed = attached.vault.seal(Kind::Entries, run.id, &entries);
    // If this fails, the journal stays as long as it was. The next entry tells whether this run still has the task.
    if let Err(error) = inner.store.compact(run, task.entries.len(), sealed).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "the journal of a task was not compacted");
    }
}

/// The time that is left to a task that was just acquired for this long.
fn remaining(record: &TaskRecord, lease: Duration) -> Option<Duration> {
    let (expires, leased_until) = (record.expires()?, record.leased_until?);
    Some((expires.since(leased_until) + lease).saturating_sub(leased_until.since(expires)))
}

/// A task whose stored bytes were opened and read, so that it can be run.
struct OpenedTask {
    call: ToolCall,
    journal: Journal,
    keys: Keys,
}

impl OpenedTask {
    fn open(inner: &Inner, task: &AcquiredTask) -> Result<Self, Unreadable> {
        let attached = inner.attached().ok_or(Unreadable::NoKeys)?;
        let (vault, id) = (&attached.vault, task.record.id);
        let call: CallBody = vault.open_body(Kind::Call, id, &task.call)?;
        let mut entries = Vec::new();
        for kept in &task.entries {
            entries.append(&mut vault.open(Kind::Entries, id, kept)?);
        }
        let journal = Journal::from_bytes(entries).map_err(|error| Unreadable::Form(error.to_string()))?;
        let mut keys = Keys::new(task.used.iter().cloned());
        for question in &task.open {
            let body: QuestionBody = vault.open_body(Kind::Question, id, &question.body)?;
            keys.note_open(question.key.clone(), body);
        }
        Ok(Self { call: call.into_call(&attached.host, &task.record), journal, keys })
    }
}

/// A journal that is shorter than this is left as it is.
const COMPACTED_FROM: usize = 64 * 1024;
/// After this many entries a run makes way for another, which begins with a compacted journal.
const ENTRIES_OF_A_RUN: usize = 1000;
/// The pause of a task whose journal has a newer form, or is sealed with a key that this instance lacks: another
/// instance may be able to read it.
const PAUSE_OF_THE_UNREADABLE: Duration = Duration::from_mins(1);

/// Sweeps now and then, for as long as it is polled. The instance acquires tasks meanwhile, and does not wait for it.
async fn keep_sweeping(inner: &Inner) {
    loop {
        sweep(inner).await;
        tokio::time::sleep(BETWEEN_SWEEPS).await;
    }
}

/// Sweeps in batches until nothing is left. After each batch it leaves the store to others for as long as the batch
/// took.
async fn sweep(inner: &Inner) {
    loop {
        let begin = Instant::now();
        match inner.store.sweep(SWEPT_AT_ONCE).await {
            Ok(swept) => {
                count::swept(swept);
                if swept.expired < SWEPT_AT_ONCE && swept.removed < SWEPT_AT_ONCE {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "expired tasks cannot be removed");
                return;
            }
        }
        tokio::time::sleep(begin.elapsed()).await;
    }
}

const BETWEEN_SWEEPS: Duration = Duration::from_secs(10);
const SWEPT_AT_ONCE: usize = 256;
