//! The part of a run that the next one gets: its journal, the room in it, and whether a state must carry it.

use super::{Ending, State};
use crate::engine::context::{JournalLimit, RunContext};
use crate::engine::journal::{Journal, Leaf, PER_ENTRY};
use crate::error::{Failure, too_much};

pub(super) struct Kept {
    pub(super) journal: Journal,
    /// Roughly how many bytes the journal takes, sealed.
    pub(super) size: usize,
    /// The bytes that it may take.
    pub(super) limit: JournalLimit,
    pub(super) unsealed: Unsealed,
    /// True if the next run needs the journal.
    pub(super) must_carry: bool,
    /// The progress of an earlier run.
    pub(super) resumed: Option<Leaf>,
}

/// The use of answers that came without a state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsealed {
    /// A question may use them.
    MayCount,
    /// One did: before anything is done, they go out in a state.
    Used,
    /// A step was begun or read: they count no more.
    Closed,
}

/// Returns roughly the bytes that an entry takes in a sealed journal.
pub(super) fn cost(name: &str, size: usize) -> usize {
    name.len() + size + PER_ENTRY
}

impl Kept {
    pub(super) fn new(journal: Journal, context: &RunContext) -> Self {
        Self {
            size: journal.size(),
            limit: context.journal_limit,
            // Their wording is not known, and a strict tool wants to know it.
            unsealed: if context.strict { Unsealed::Closed } else { Unsealed::MayCount },
            must_carry: false,
            resumed: journal.progress(),
            journal,
        }
    }
}

impl State {
    /// Returns true if the run used no answers that came without a state. If it used some, the run ends: first they go
    /// out in a state, so that a retry is the same flow, and does nothing twice.
    pub(super) fn checkpoint_unsealed(&mut self) -> bool {
        if self.kept.unsealed != Unsealed::Used {
            return true;
        }
        if self.ensure_room_to_ask() {
            self.phase.end(Ending::Yielded);
        }
        false
    }

    /// Forgets the answers that came without a state: something was begun or read after which they do not count.
    pub(super) fn close_unsealed(&mut self) {
        if self.kept.unsealed != Unsealed::Closed {
            self.kept.unsealed = Unsealed::Closed;
            self.kept.journal.drop_unsealed();
        }
    }

    /// Checks the limit as the handler makes each entry, so that the error can name the one that was too much.
    pub(super) fn check_size(&mut self, what: &str, name: &str, size: usize, freed: usize) {
        self.kept.size = (self.kept.size + cost(name, size)).saturating_sub(freed);
        let (total, limit) = (self.kept.size, self.kept.limit.usable());
        if total > limit {
            let text = format!(
                "the journal would hold {total} bytes with {what} `{name}` of {size} bytes; the limit is {limit}"
            );
            self.phase.fail(Failure::misuse(text));
        }
    }

    /// Makes sure that a state can carry the answers that came. If not, the run ends. Only the last answer of a flow
    /// may take more: nothing has to carry it.
    pub(super) fn ensure_room_to_ask(&mut self) -> bool {
        let excess = self.answers_in_excess();
        let has_room = excess.is_none();
        if let Some(failure) = excess {
            self.phase.fail(failure);
        }
        has_room
    }

    /// Makes sure that there is room for an effect that is not recorded yet. If not, the run ends before it: an effect
    /// without a record would happen again.
    pub(super) fn ensure_room_to_begin(&mut self, what: impl FnOnce() -> String) -> bool {
        let usable = self.kept.limit.usable();
        if self.kept.size <= usable {
            return true;
        }
        let failure = self.answers_in_excess().unwrap_or_else(|| {
            let (total, what) = (self.kept.size, what());
            let largest = self.kept.journal.largest().unwrap_or_default();
            Failure::misuse(format!("the journal holds {total} bytes before {what}; the limit is {usable}; {largest}"))
        });
        self.phase.fail(failure);
        false
    }

    /// Returns the client's mistake, if answers fill the journal: the run refuses them when they come, and not a round
    /// later. Answers that take no more than is kept free for them are not to blame for what stood there before.
    pub(super) fn answers_in_excess(&self) -> Option<Failure> {
        let (total, usable) = (self.kept.limit.total(), self.kept.limit.usable());
        let is_large = self.kept.size > total || self.kept.journal.new_answers() > self.kept.limit.for_answers();
        let excess = if self.kept.size > usable && is_large { self.kept.journal.excess(usable) } else { None };
        excess.map(|key| too_much(key, usable))
    }
}
