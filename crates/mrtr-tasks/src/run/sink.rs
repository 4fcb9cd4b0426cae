//! The sink for the entries of a run: it keeps them in the store, sealed, with the questions that they open.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::{
    Entries, EntryKind, Journal, JournalSink, Question, SinkError, StopReason, StopSignal, check_capabilities,
};
use mrtr_schema::{ClientCapabilities, Feature, Revision};
use mrtr_server::ProtocolError;
use mrtr_server::extend::ToolCall;

use tokio::time::Instant;

use super::ENTRIES_OF_A_RUN;
use super::keys::{Asked, Keys};
use super::progress::Progress;
use super::trial::Acquitted;
use crate::body::QuestionBody;
use crate::record::TransitionError;
use crate::store::{KeptQuestion, Recorded, Run, StoreError};
use crate::tasks::Inner;
use crate::vault::Kind;

/// The sink of a run.
pub(super) struct Sink {
    inner: Arc<Inner>,
    run: Run,
    revision: Revision,
    /// The capabilities that the client declared when it created the task.
    capabilities: ClientCapabilities,
    progress: Progress,
    /// Stops the run, for another to continue.
    signal: StopSignal,
    /// Is told of the first new entry, if the run is on trial.
    acquitted: Option<Acquitted>,
    state: Mutex<State>,
}

struct State {
    keys: Keys,
    /// Steps that were begun, in this run or an earlier one.
    steps: HashSet<String>,
    /// Questions that this run has open, by name.
    asked: HashSet<String>,
    broken: Option<Broken>,
    /// The number of times that entries were kept.
    kept: usize,
}

/// The reason why a run could not continue.
pub(super) enum Broken {
    /// Another run has the task now, or it has ended.
    Lost,
    /// The store failed; whether it kept the last entries is not known.
    Store,
    /// The task ends with this.
    Ends(ProtocolError),
}

impl Sink {
    pub(super) fn new(
        inner: &Arc<Inner>,
        run: Run,
        call: &ToolCall,
        journal: &Journal,
        keys: Keys,
        progress: Progress,
        signal: StopSignal,
    ) -> Self {
        let steps = journal.steps().map(str::to_owned).collect();
        let state = State { keys, steps, asked: HashSet::new(), broken: None, kept: 0 };
        Self {
            inner: Arc::clone(inner),
            run,
            revision: call.revision,
            capabilities: call.capabilities.clone(),
            progress,
            signal,
            acquitted: None,
            state: Mutex::new(state),
        }
    }

    pub(super) fn on_trial(self, acquitted: Option<Acquitted>) -> Self {
        Self { acquitted, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the reason why the run could not continue, if there is one.
    pub(super) fn broken(&self) -> Option<Broken> {
        self.state().broken.take()
    }

    /// Prepares what the store keeps when the run ends with these questions open, those of a handler in manual mode
    /// included. It retires the questions that the run does not ask any more.
    pub(super) fn park(&self, questions: &[Question], shown: &[(String, QuestionBody)]) -> Result<Recorded, Broken> {
        let mut entries = StoredEntries::default();
        let unknown = questions.iter().filter(|question| !self.state().asked.contains(&question.key)).cloned();
        let unknown: Vec<_> = unknown.collect();
        self.open(&unknown, &mut entries)?;
        let names: HashSet<_> = questions.iter().map(|question| question.key.as_str()).collect();
        let gone = shown.iter().filter(|(_, body)| !names.contains(body.name.as_str()));
        entries.recorded.retired.extend(gone.map(|(key, _)| key.clone()));
        entries.recorded.message = self.message();
        Ok(entries.recorded)
    }

    fn message(&self) -> Option<Vec<u8>> {
        self.sealed(&self.progress.take()?)
    }

    /// The last progress message of the flow, or one that it waits for a visit.
    pub(super) fn message_of_visit(&self) -> Option<Vec<u8>> {
        self.message().or_else(|| self.sealed("Waiting for the visit to be completed"))
    }

    fn sealed(&self, text: &str) -> Option<Vec<u8>> {
        Some(self.inner.attached()?.vault.seal(Kind::Message, self.run.id, text.as_bytes()))
    }

    /// Turns entries into what a store keeps; `None` if there is nothing new in them.
    fn prepare(&self, entries: &Entries) -> Result<Option<StoredEntries>, Broken> {
        let mut prepared = StoredEntries::default();
        self.open(entries.questions(), &mut prepared)?;
        let mut is_news = false;
        for entry in entries.iter() {
            let limit = self.inner.options.entry_limit;
            if entry.as_bytes().len() > limit {
                let (name, size) = (entry.name(), entry.as_bytes().len());
                tracing::error!(name, size, limit, "an entry is larger than a task may hold: record less in this step");
                return Err(Broken::Ends(crate::body::internal_error("Internal error")));
            }
            let state = self.state();
            match entry.kind() {
                EntryKind::StepStarted => is_news |= !state.steps.contains(entry.name()),
                EntryKind::QuestionOpened => is_news |= !prepared.opened.is_empty(),
                EntryKind::QuestionWithdrawn => {
                    prepared.recorded.retired.extend(state.keys.key_of(entry.name()).map(str::to_owned));
                    prepared.withdrawn.push(entry.name().to_owned());
                    is_news = true;
                }
                _ => is_news = true,
            }
        }
        let only_asks_again = entries.iter().all(|entry| entry.kind() == EntryKind::QuestionOpened) && !is_news;
        if only_asks_again {
            self.state().asked.extend(entries.questions().iter().map(|question| question.key.clone()));
            return Ok(None);
        }
        let vault = &self.inner.attached().ok_or(Broken::Store)?.vault;
        // A question that is shown already may have been answered since this run began: to say again that it is open
        // would be to forget the answer.
        let is_new = |name: &str| prepared.opened.iter().any(|(_, body)| body.name == name);
        let kept = entries.iter().filter(|entry| entry.kind() != EntryKind::QuestionOpened || is_new(entry.name()));
        let kept: Vec<_> = kept.map(|entry| entry.as_bytes()).collect();
        prepared.recorded.entries = Some(vault.seal(Kind::Entries, self.run.id, &kept.concat()));
        prepared.recorded.progressed = is_news;
        prepared.recorded.message = self.message();
        // The visit that the flow waited for has come, so clients are not to see that message any longer.
        if prepared.recorded.message.is_none() && entries.iter().any(|entry| entry.kind() == EntryKind::Visited) {
            prepared.recorded.message = self.sealed("");
        }
        Ok(Some(prepared))
    }

    /// Gives each question that needs one a key, and adds what the store is to keep of it.
    fn open(&self, questions: &[Question], prepared: &mut StoredEntries) -> Result<(), Broken> {
        let requests = questions.iter().map(|question| &question.request);
        check_capabilities(requests, &self.capabilities, self.revision).map_err(Broken::Ends)?;
        let vault = &self.inner.attached().ok_or(Broken::Store)?.vault;
        for question in questions {
            let unwritten = |error: serde_json::Error| {
                tracing::error!(%error, key = question.key, "a question cannot be written");
                Broken::Ends(crate::body::internal_error("Internal error"))
            };
            let body = QuestionBody::of(question, self.revision).map_err(unwritten)?;
            prepared.asked.push(question.key.clone());
            let Asked::Anew { key, retired } = self.state().keys.ask(&body, question.refused.is_some()) else {
                continue;
            };
            let sealed = vault.seal_body(Kind::Question, self.run.id, &body).map_err(unwritten)?;
            prepared.recorded.opened.push(KeptQuestion { key: key.clone(), body: sealed });
            prepared.recorded.retired.extend(retired);
            if self.revision.has(Feature::TasksExtension) {
                prepared.recorded.lasts = prepared.recorded.lasts.max(question.valid_for);
            }
            prepared.opened.push((key, body));
        }
        Ok(())
    }

    /// Checks whether a question that the run now asks in other words was answered in the old ones since it began.
    async fn look_for_answers(&self, questions: &[Question]) {
        let is_reworded = |question: &Question| {
            let body = QuestionBody::of(question, self.revision);
            body.is_ok_and(|body| self.state().keys.is_reworded(&body))
        };
        if !questions.iter().any(is_reworded) {
            return;
        }
        let (Ok(task), Some(attached)) = (self.inner.store.get(self.run.id, None).await, self.inner.attached()) else {
            return;
        };
        let open = task.open.iter().map(|kept| attached.vault.open_body(Kind::Question, self.run.id, &kept.body));
        let open: Result<HashSet<_>, _> = open.map(|body| body.map(|body: QuestionBody| body.name)).collect();
        if let Ok(open) = open {
            self.state().keys.note_still_open(&open);
        }
    }

    /// Returns true if the store shows the questions of these entries as this run asks them.
    async fn is_shown(&self, prepared: &StoredEntries) -> bool {
        let shown = self.inner.store.get(self.run.id, None).await;
        shown.is_ok_and(|task| prepared.recorded.opened.iter().all(|question| task.open.contains(question)))
    }

    fn kept(&self, entries: &Entries, prepared: StoredEntries) {
        // The store has cleared it with this entry: a run that recorded something new is not lost.
        if let Some(acquitted) = self.acquitted.as_ref().filter(|_| prepared.recorded.progressed) {
            acquitted.tell();
        }
        let mut state = self.state();
        state.kept += 1;
        if state.kept >= ENTRIES_OF_A_RUN {
            self.signal.raise(StopReason::Shutdown);
        }
        for name in &prepared.withdrawn {
            state.keys.retire(name);
            state.asked.remove(name);
        }
        for (key, body) in prepared.opened {
            state.keys.note_open(key, body);
        }
        state.asked.extend(prepared.asked);
        let started = entries.iter().filter(|entry| entry.kind() == EntryKind::StepStarted);
        state.steps.extend(started.map(|entry| entry.name().to_owned()));
    }

    fn fail(&self, broken: Broken) -> SinkError {
        let error = match &broken {
            Broken::Lost => SinkError::Lost,
            Broken::Store => SinkError::Store("the store of tasks failed".into()),
            Broken::Ends(error) => SinkError::Store(error.to_string().into()),
        };
        self.state().broken.get_or_insert(broken);
        error
    }
}

/// Entries as a store keeps them, and their effects on the run.
#[derive(Default)]
struct StoredEntries {
    recorded: Recorded,
    opened: Vec<(String, QuestionBody)>,
    /// The names of all questions in them.
    asked: Vec<String>,
    withdrawn: Vec<String>,
}

#[async_trait]
impl JournalSink for Sink {
    async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
        self.look_for_answers(entries.questions()).await;
        let deadline = Instant::now() + self.inner.options.lease * 2 / 3;
        // The entries that the store may have kept though it said that it failed.
        let mut unsure: Option<StoredEntries> = None;
        loop {
            let was_unsure = unsure.is_some();
            let prepared = match unsure.take() {
                Some(prepared) => Some(prepared),
                None => self.prepare(entries).map_err(|broken| self.fail(broken))?,
            };
            let Some(prepared) = prepared else { return Ok(()) };
            match self.inner.store.record(self.run, prepared.recorded.clone()).await {
                Ok(()) => {
                    self.kept(entries, prepared);
                    return Ok(());
                }
                Err(StoreError::KeyUsed(_)) if was_unsure && self.is_shown(&prepared).await => {
                    self.kept(entries, prepared);
                    return Ok(());
                }
                // Another instance refused an answer meanwhile, and asked for it anew.
                Err(StoreError::KeyUsed(key)) => self.state().keys.note_used(key),
                Err(StoreError::Refused(TransitionError::Ended)) => {
                    let steps: Vec<_> = entries.iter().map(|entry| entry.name().to_owned()).collect();
                    tracing::info!(id = %self.run.id, ?steps, "a step ended after its task, and is not recorded");
                    return Err(self.fail(Broken::Lost));
                }
                Err(StoreError::Refused(_) | StoreError::NotFound) => return Err(self.fail(Broken::Lost)),
                // A step's outcome must not be lost because the store failed for a moment.
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "an entry of a task was not stored");
                    if Instant::now() + RETRY >= deadline {
                        return Err(self.fail(Broken::Store));
                    }
                    tokio::time::sleep(RETRY).await;
                    unsure = Some(prepared);
                }
            }
        }
    }
}

/// The pause of a task after the store has failed its run.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_millis(200);
