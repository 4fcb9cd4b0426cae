//! What a running handler and its runner share: the journal, the open questions, and why the run must end.

mod questions;
mod steps;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use serde_json::value::RawValue;

use super::{Outcome, Question, Ran, SinkError};
use crate::by_name::ByName;
use crate::journal::{AnswerEntry, PER_ENTRY};
use crate::{Failure, Journal, RunContext};

pub(crate) use questions::Evaluation;
pub(crate) use steps::Begin;

pub(crate) struct Run {
    pub(crate) context: RunContext,
    state: Mutex<State>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct State {
    journal: Journal,
    /// Roughly how many bytes the journal takes, sealed.
    size: usize,
    /// How many it may take.
    limit: usize,
    /// Open questions, in the order in which they were asked.
    open: ByName<Question>,
    /// What was read under each name in this run: the same name must mean the same thing.
    read: HashMap<String, u64>,
    steps: HashSet<String>,
    in_flight: usize,
    /// Whether some step's own work is being polled right now.
    inside_step: bool,
    /// Whether that work used the flow as only the handler may.
    misused_in_step: bool,
    /// Whether a step was begun or read: answers that came without a state count no more.
    stepped: bool,
    used_loose: bool,
    /// Whether an open question was dropped by its handler, which must not get any further.
    passed_over: bool,
    must_carry: bool,
    /// How far an earlier run had come.
    resumed: Option<Box<RawValue>>,
    ending: Option<Ending>,
}

/// Why a run ends though its handler would go on.
pub(crate) enum Ending {
    IntoTask,
    Yielded,
    Abandoned,
    Failed(Failure),
}

impl Run {
    pub(crate) fn new(journal: Journal, context: RunContext) -> Self {
        let state = State {
            size: journal.size(),
            limit: context.journal_limit,
            resumed: journal.entries().progress.clone(),
            journal,
            open: ByName::default(),
            read: HashMap::new(),
            steps: HashSet::new(),
            in_flight: 0,
            inside_step: false,
            misused_in_step: false,
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
        let asked = std::mem::take(&mut state.read);
        let entries = state.journal.entries();
        // A question may also be settled without an answer: left out, or found done.
        let is_answered = |key: &String| matches!(entries.answers.get(key), Some(AnswerEntry::Given { .. }));
        let mut read: Vec<_> = asked.into_keys().filter(is_answered).collect();
        read.sort_unstable();
        let must_carry = state.must_carry || entries.gave_keys || !entries.steps.is_empty();
        // What another version may still want goes along, as far as it may count and does not take too much room.
        let mut room = if state.stepped { 0 } else { (state.limit / 2).saturating_sub(state.size) };
        state.journal.retain_loose(|key, answer| {
            let left = room.checked_sub(cost(key, answer.get().len())).filter(|_| !open.contains_key(key));
            room = left.unwrap_or(room);
            left.is_some()
        });
        if !open.is_empty() {
            state.has_room();
        }
        let outcome = match (state.ending.take(), returned) {
            (Some(Ending::IntoTask), _) => Outcome::IntoTask,
            (Some(Ending::Abandoned), _) => Outcome::Abandoned,
            // A reply that asks carries the answers just as well as one that does not.
            (None | Some(Ending::Yielded), _) if !open.is_empty() => Outcome::Waiting(open.into_values().collect()),
            (Some(Ending::Yielded), _) => Outcome::Yielded,
            (None, Some(Ok(value))) => Outcome::Done(value),
            (Some(Ending::Failed(failure)), _) | (None, Some(Err(failure))) => Outcome::Failed(failure),
            (None, None) => {
                debug_assert!(abandoned, "a run at rest has an ending or a question");
                Outcome::Abandoned
            }
        };
        Ran { outcome, journal: std::mem::take(&mut state.journal), must_carry, read }
    }

    /// Ends the run for a reason. The first one stands.
    pub(crate) fn end(&self, ending: Ending) {
        self.state().ending.get_or_insert(ending);
    }

    pub(crate) fn misuse(&self, text: String) {
        self.end(Ending::Failed(Failure::misuse(text)));
    }

    /// The handler panicked. If it did so past an open question, that counts as little as what it might have returned.
    pub(super) fn panicked(&self, text: &str) {
        let mut state = self.state();
        if state.passed_over {
            tracing::warn!(
                panic = &*crate::echo::logged(text),
                "the handler panicked after it had dropped an open question"
            );
        } else {
            let failure = Failure::misuse(format!("the handler panicked: {text}"));
            state.ending.get_or_insert(Ending::Failed(failure));
        }
    }

    pub(crate) fn sink_failed(&self, step: &str, error: SinkError) {
        self.end(match error {
            SinkError::Lost => Ending::Abandoned,
            SinkError::Store(error) => {
                tracing::error!(step, error = crate::failure::with_causes(&*error), "an entry could not be kept");
                Ending::Failed(crate::ProtocolError::from(crate::dispatch::internal_error()).into())
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

    /// Checks that the flow goes on, and that it is the handler that wants something of it, not a step's own work.
    fn goes_on(&self, state: &mut State, what: impl FnOnce() -> String) -> bool {
        if state.inside_step {
            // The step must give up, also if the run is ending already: it would wait for ever, and the run for it.
            state.misused_in_step = true;
            let failure = Failure::misuse(format!("{} was used inside a step", what()));
            state.ending.get_or_insert(Ending::Failed(failure));
        }
        !self.stops(state)
    }

    /// Checks besides that the name is one.
    fn admits(&self, state: &mut State, what: &str, name: &str) -> bool {
        if self.goes_on(state, || format!("{what} `{name}`")) && !is_name(name) {
            let text = format!("{name:?} cannot name a {what}: 1 to 128 printable characters");
            state.ending = Some(Ending::Failed(Failure::misuse(text)));
        }
        !self.stops(state)
    }

    /// The limit is checked as each entry of the handler's is made, so that the error can name the one that was too
    /// much.
    fn check_size(&self, state: &mut State, what: &str, name: &str, size: usize, freed: usize) {
        state.size = (state.size + cost(name, size)).saturating_sub(freed);
        let (total, limit) = (state.size, self.context.journal_limit);
        if total > limit {
            let text =
                format!("the journal holds {total} bytes with the {size} of {what} `{name}`; {limit} are allowed");
            state.ending.get_or_insert(Ending::Failed(Failure::misuse(text)));
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
    fn settles_loose(&mut self) -> bool {
        if !self.has_room() {
            return false;
        }
        if self.used_loose {
            self.ending = Some(Ending::Yielded);
        }
        !self.used_loose
    }

    /// Whether the client's answers leave room for what comes. If not, the run ends before anything is done that a
    /// state would have to tell of. Only the last answer of a flow may take more: nothing has to carry it.
    fn has_room(&mut self) -> bool {
        let excess = if self.size > self.limit { self.journal.excess(self.limit) } else { None };
        if let Some(key) = excess {
            let failure = Failure::too_much(key, self.limit);
            self.ending.get_or_insert(Ending::Failed(failure));
            return false;
        }
        true
    }
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
