//! Names that mrtr-server shares with the engine, and that no author of a handler or a runner needs.
//!
//! Both crates are one work in two parts: they are published together, and what stands here may change in any version.
//! It is no part of this crate's API.

pub use crate::engine::context::{JournalLimit, Runner, all_hex, short_hex};
pub use crate::engine::environment::{Extensions, LazyFlow};
pub use crate::engine::journal::UnsealedAnswers;
pub use crate::engine::manual::{Manual, resolve_manual_questions};
pub use crate::engine::registered_inputs::Inputs;
pub use crate::engine::{Contained, SeenQuestions};
pub use crate::error::{Panicked, contain, internal_error, into_words, too_much, with_causes};
pub use crate::support::by_name::ByName;
pub use crate::support::echo;

use crate::engine::journal::{Journal, StepEntry};

/// The changes that rounds make to a journal, whose states and answers come and go with a client.
pub trait RoundJournal {
    /// Notes that a step was started, by the word of a reservation.
    fn put_step_started(&mut self, name: &str);

    /// Keeps answers that came without a state.
    fn put_unsealed(&mut self, answers: UnsealedAnswers);

    /// Takes over the answers that came without a state and were not used, as far as there is room.
    fn carry_unsealed(&mut self, room: usize, is_asked: impl Fn(&str) -> bool);

    /// Returns the answer with which the client sent too much, no matter what the handler has it carry.
    fn excess_beside_carried(&self, limit: usize) -> Option<&str>;

    /// Names the entry that takes the most room, in words.
    fn largest(&self) -> Option<String>;

    /// Forgets which questions are open. This answers none of them, and skips none.
    fn forget_opened(&mut self);

    /// Returns true if a question was settled elsewhere than with the client: its page was visited, or it was decided.
    fn is_settled_elsewhere(&self, key: &str) -> bool;
}

impl RoundJournal for Journal {
    fn put_step_started(&mut self, name: &str) {
        self.put_step(name, &StepEntry::Started);
    }

    fn put_unsealed(&mut self, answers: UnsealedAnswers) {
        Self::put_unsealed(self, answers);
    }

    fn carry_unsealed(&mut self, room: usize, is_asked: impl Fn(&str) -> bool) {
        Self::carry_unsealed(self, room, is_asked);
    }

    fn excess_beside_carried(&self, limit: usize) -> Option<&str> {
        Self::excess_beside_carried(self, limit)
    }

    fn largest(&self) -> Option<String> {
        Self::largest(self)
    }

    fn forget_opened(&mut self) {
        Self::forget_opened(self);
    }

    fn is_settled_elsewhere(&self, key: &str) -> bool {
        self.has_visited(key) || self.decision(key).is_some()
    }
}
