//! What a running handler and its runner share: the journal, the open questions, and why the run must end.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::{Outcome, Question, Ran, SinkError};
use crate::journal::{AnswerEntry, PER_ENTRY, StepEntry};
use crate::{Failure, Journal, RunContext};

pub(crate) struct Run {
    pub(crate) context: RunContext,
    state: Mutex<State>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct State {
    journal: Journal,
    /// Roughly how many bytes the journal takes, sealed.
    size: usize,
    /// Open questions, in the order in which they were asked.
    open: IndexMap<String, Question>,
    /// What was read under each name in this run: the same name must mean the same thing.
    read: HashMap<String, u64>,
    steps: HashSet<String>,
    in_flight: usize,
    /// Whether some step's own work is being polled right now.
    inside_step: bool,
    /// Whether a step was begun or read: answers that came without a state count no more.
    stepped: bool,
    used_loose: bool,
    /// Whether an open question was dropped by its handler, which must not get any further.
    passed_over: bool,
    must_carry: bool,
    ending: Option<Ending>,
}

/// Why a run ends though its handler would go on.
pub(crate) enum Ending {
    IntoTask,
    Yielded,
    Abandoned,
    Failed(Failure),
}

/// What a question finds under its name.
pub(crate) enum Evaluation {
    /// Nothing may be read or asked any more.
    Park,
    /// It was never asked, or must be asked again.
    Ask,
    /// It was asked before and left unanswered.
    Skipped,
    /// An answer, and the digest of the wording it was given to.
    Given(Box<RawValue>, Option<String>),
}

/// What a step finds under its name.
pub(crate) enum Begin {
    Park,
    Start,
    Interrupted,
    Recorded(StepEntry),
}

impl Run {
    pub(crate) fn new(journal: Journal, context: RunContext) -> Self {
        let state = State {
            size: journal.size(),
            journal,
            open: IndexMap::new(),
            read: HashMap::new(),
            steps: HashSet::new(),
            in_flight: 0,
            inside_step: false,
            stepped: false,
            used_loose: false,
            passed_over: false,
            must_carry: false,
            ending: None,
        };
        Self { context, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many questions are open, if there is nothing to wait for but answers.
    pub(super) fn at_rest(&self) -> Option<usize> {
        let state = self.state();
        let over = state.ending.is_some() || !state.open.is_empty() || self.is_abandoned();
        (over && state.in_flight == 0).then_some(state.open.len())
    }

    fn is_abandoned(&self) -> bool {
        self.context.gone.as_ref().is_some_and(|gone| gone.load(Ordering::Acquire))
    }

    pub(super) fn finish<T>(&self, returned: Option<Result<T, Failure>>) -> Ran<T> {
        let abandoned = self.is_abandoned();
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        let outcome = match (state.ending.take(), returned) {
            (Some(Ending::IntoTask), _) => Outcome::IntoTask,
            (Some(Ending::Yielded), _) => Outcome::Yielded,
            (Some(Ending::Abandoned), _) => Outcome::Abandoned,
            (None, _) if !open.is_empty() => Outcome::Waiting(open.into_values().collect()),
            (None, Some(Ok(value))) => Outcome::Done(value),
            (Some(Ending::Failed(failure)), _) | (None, Some(Err(failure))) => Outcome::Failed(failure),
            (None, None) => {
                debug_assert!(abandoned, "a run at rest has an ending or a question");
                Outcome::Abandoned
            }
        };
        let read = state.journal.answered().filter(|key| state.read.contains_key(*key)).map(str::to_owned).collect();
        let must_carry = state.must_carry || state.journal.gave_keys || !state.journal.steps.is_empty();
        Ran { outcome, journal: std::mem::take(&mut state.journal), must_carry, read }
    }

    /// Ends the run for a reason. The first one stands.
    pub(crate) fn end(&self, ending: Ending) {
        self.state().ending.get_or_insert(ending);
    }

    pub(crate) fn misuse(&self, text: String) {
        self.end(Ending::Failed(Failure::misuse(text)));
    }

    pub(crate) fn sink_failed(&self, step: &str, error: SinkError) {
        self.end(match error {
            SinkError::Lost => Ending::Abandoned,
            SinkError::Store(error) => {
                tracing::error!(step, error = crate::failure::with_causes(&*error), "an entry could not be kept");
                Ending::Failed(Failure::misuse(format!("the entry of step `{step}` could not be kept")))
            }
        });
    }

    /// Whether whatever calls now must stop: the run is ending, or the handler has passed over a question.
    fn stops(&self, state: &mut State) -> bool {
        if self.is_abandoned() {
            state.ending.get_or_insert(Ending::Abandoned);
        }
        state.ending.is_some() || state.passed_over
    }

    /// Checks that the name is one, and that nothing is asked inside a step.
    fn admits(&self, state: &mut State, what: &str, name: &str) -> bool {
        if self.stops(state) {
            return false;
        }
        let mistake = if state.inside_step {
            Some(format!("{what} `{name}` was used inside a step"))
        } else if !is_name(name) {
            Some(format!("{name:?} cannot name a {what}: 1 to 128 printable characters"))
        } else {
            None
        };
        match mistake {
            Some(text) => {
                state.ending = Some(Ending::Failed(Failure::misuse(text)));
                false
            }
            None => true,
        }
    }

    /// Reads what is known under the name of a question. `fingerprint` tells whether it is the same one.
    pub(crate) fn evaluate(&self, key: &str, fingerprint: u64, pinned: bool) -> Evaluation {
        let mut state = self.state();
        if !self.admits(&mut state, "question", key) {
            return Evaluation::Park;
        }
        if *state.read.entry(key.to_owned()).or_insert(fingerprint) != fingerprint {
            let text = format!("two different questions are asked as `{key}`");
            state.ending = Some(Ending::Failed(Failure::misuse(text)));
            return Evaluation::Park;
        }
        match state.journal.answers.get(key) {
            Some(AnswerEntry::Given { response, asked }) => return Evaluation::Given(response.clone(), asked.clone()),
            Some(AnswerEntry::Skipped) => return Evaluation::Skipped,
            None => {}
        }
        // A pinned answer counts for what the state says was asked, and here there is no state.
        match self.context.loose.get(key).filter(|_| !state.stepped && !pinned) {
            Some(response) => Evaluation::Given(response.clone(), None),
            None => Evaluation::Ask,
        }
    }

    /// Takes note that the answer under a name was used; one that came without a state enters the journal by that.
    pub(crate) fn accept(&self, key: &str, response: Box<RawValue>) {
        let mut state = self.state();
        if !state.journal.answers.contains_key(key) {
            self.use_loose(&mut state, key, response);
        }
    }

    fn use_loose(&self, state: &mut State, key: &str, response: Box<RawValue>) {
        state.used_loose = true;
        self.insert_answer(state, key, AnswerEntry::Given { response, asked: None });
    }

    /// Opens a question, in place of whatever answer it had.
    pub(crate) fn open(&self, question: Question, must_carry: bool) {
        if let Some(sink) = &self.context.sink {
            sink.asked(&question);
        }
        let mut state = self.state();
        state.journal.answers.shift_remove(&question.key);
        state.must_carry |= must_carry;
        state.open.insert(question.key.clone(), question);
    }

    /// Counts how often a pinned question changed its wording under an answer.
    pub(crate) fn reworded(&self, key: &str) -> u32 {
        let mut state = self.state();
        let times = state.journal.rewordings.entry(key.to_owned()).or_default();
        *times += 1;
        *times
    }

    /// The handler dropped an open question, as `select!` does: it must not get any further.
    pub(crate) fn dropped_open_question(&self) {
        self.state().passed_over = true;
    }

    /// Begins a step, or gives what it gave before.
    pub(crate) fn begin_step(&self, name: &str, idempotent: bool) -> Begin {
        let mut state = self.state();
        if !self.admits(&mut state, "step", name) {
            return Begin::Park;
        }
        if !state.steps.insert(name.to_owned()) {
            state.ending = Some(Ending::Failed(Failure::misuse(format!("two steps are named `{name}`"))));
            return Begin::Park;
        }
        if state.used_loose {
            // The answers came without a state: first they go out in one, so that a retry cannot run the step twice.
            state.ending = Some(Ending::Yielded);
            return Begin::Park;
        }
        state.stepped = true;
        match state.journal.steps.get(name) {
            Some(StepEntry::Started) if !idempotent => Begin::Interrupted,
            Some(StepEntry::Started) | None => {
                state.journal.steps.insert(name.to_owned(), StepEntry::Started);
                state.in_flight += 1;
                Begin::Start
            }
            Some(entry) => Begin::Recorded(entry.clone()),
        }
    }

    pub(crate) fn finish_step(&self, name: &str, entry: StepEntry) {
        let mut state = self.state();
        let size = match &entry {
            StepEntry::Value(value) => value.get().len(),
            StepEntry::Error(error) => error.message.len(),
            StepEntry::Started => 0,
        };
        state.journal.steps.insert(name.to_owned(), entry);
        self.check_size(&mut state, "step", name, size);
    }

    fn insert_answer(&self, state: &mut State, key: &str, entry: AnswerEntry) {
        let size = if let AnswerEntry::Given { response, .. } = &entry { response.get().len() } else { 0 };
        state.journal.answers.insert(key.to_owned(), entry);
        self.check_size(state, "answer", key, size);
    }

    /// The limit is checked as each entry is made, so that the error can name the one that was too much.
    fn check_size(&self, state: &mut State, what: &str, name: &str, size: usize) {
        state.size += name.len() + size + PER_ENTRY;
        let (total, limit) = (state.size, self.context.journal_limit);
        if total > limit {
            let text =
                format!("the journal holds {total} bytes with the {size} of {what} `{name}`; {limit} are allowed");
            state.ending.get_or_insert(Ending::Failed(Failure::misuse(text)));
        }
    }

    /// What was decided elsewhere, once it was.
    pub(crate) fn decision(&self, key: &str) -> Option<Box<RawValue>> {
        self.state().journal.decisions.get(key).cloned()
    }

    pub(crate) fn record_decision<T: serde::Serialize>(&self, key: &str, decision: &T) {
        match serde_json::value::to_raw_value(decision) {
            Ok(decision) => {
                let mut state = self.state();
                let size = decision.get().len();
                state.journal.decisions.insert(key.to_owned(), decision);
                state.must_carry = true;
                self.check_size(&mut state, "decision", key, size);
            }
            Err(error) => self.misuse(format!("the decision on `{key}` cannot be written: {error}")),
        }
    }

    pub(crate) fn visited(&self, key: &str) -> bool {
        self.state().journal.visits.iter().any(|visited| visited == key)
    }

    pub(crate) fn record_visit(&self, key: &str) {
        let mut state = self.state();
        if !state.journal.visits.iter().any(|visited| visited == key) {
            state.journal.visits.push(key.to_owned());
        }
        state.must_carry = true;
    }

    /// Marks that something besides a step must finish before the run may end.
    pub(crate) fn enter(&self) -> StepGuard<'_> {
        self.state().in_flight += 1;
        StepGuard { run: self }
    }

    pub(crate) fn guard_started(&self) -> StepGuard<'_> {
        StepGuard { run: self }
    }

    /// Polls a step's own work, inside which nothing may be asked.
    pub(crate) fn inside_step<R>(&self, poll: impl FnOnce() -> R) -> R {
        let before = std::mem::replace(&mut self.state().inside_step, true);
        let polled = poll();
        self.state().inside_step = before;
        polled
    }

    /// An id for an interaction outside the flow: made once, and carried.
    pub(crate) fn interaction_id(&self, key: &str) -> String {
        let mut state = self.state();
        state.must_carry = true;
        if let Some(id) = state.journal.interactions.get(key) {
            return id.clone();
        }
        let id = self.context.fresh_id();
        state.journal.interactions.insert(key.to_owned(), id.clone());
        id
    }

    /// Whether an idempotency key may be handed out. If not, the run ends with its answers in a state first.
    pub(crate) fn gives_key(&self) -> bool {
        let mut state = self.state();
        if self.stops(&mut state) {
            return false;
        }
        if state.used_loose {
            state.ending = Some(Ending::Yielded);
            return false;
        }
        state.stepped = true;
        state.journal.gave_keys = true;
        true
    }

    pub(crate) fn progress(&self) -> Option<Box<RawValue>> {
        self.state().journal.progress.clone()
    }

    /// Keeps how far the flow has come, and says whether it goes on from here.
    pub(crate) fn record_progress(&self, progress: Box<RawValue>) -> bool {
        let mut state = self.state();
        if self.stops(&mut state) {
            return false;
        }
        let size = progress.get().len();
        state.journal.progress = Some(progress);
        state.must_carry = true;
        self.check_size(&mut state, "progress", "yield point", size);
        if state.ending.is_none() && self.context.sheds(state.journal.sheds) {
            crate::metrics::shed();
            state.journal.sheds += 1;
            state.ending = Some(Ending::Yielded);
        }
        state.ending.is_none()
    }

    pub(crate) fn carried(&self) -> Option<Box<RawValue>> {
        self.state().journal.carried.clone()
    }

    /// An answer as it came, for the low road. One that came without a state counts as it does for a question.
    pub(crate) fn given(&self, key: &str) -> Option<Box<RawValue>> {
        let mut state = self.state();
        match state.journal.answers.get(key) {
            Some(AnswerEntry::Given { response, .. }) => Some(response.clone()),
            Some(AnswerEntry::Skipped) => None,
            None => {
                let response = self.context.loose.get(key).filter(|_| !state.stepped)?;
                self.use_loose(&mut state, key, response.clone());
                Some(response.clone())
            }
        }
    }

    /// Whether the run is coming to an end, so that whoever waits may stop waiting.
    pub(crate) fn is_ending(&self) -> bool {
        let mut state = self.state();
        self.stops(&mut state)
    }
}

/// Holds the end of a run off while it lives.
pub(crate) struct StepGuard<'a> {
    run: &'a Run,
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        self.run.state().in_flight -= 1;
    }
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
