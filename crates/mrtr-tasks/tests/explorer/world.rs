//! The world that is explored: a task with its journal, runners, and a client.

use std::hash::{Hash, Hasher};

use mrtr_state::Timestamp;
use mrtr_tasks::TaskRecord;

/// The keys of the questions: the first, again under a fresh key once its answer was refused, and the second.
pub(crate) const KEYS: [&str; 3] = ["q1", "q1.2", "q2"];
/// The steps.
pub(crate) const STEPS: [&str; 2] = ["a", "b"];

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) record: TaskRecord,
    /// The entries that the store keeps. They are not erased at the end here, so that the rules can look at them.
    pub(crate) journal: Journal,
    pub(crate) runners: Vec<Runner>,
    pub(crate) client: Client,
}

/// Entries, counted: twice is a fault, and more often is the same fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Journal {
    pub(crate) opened: [u8; 3],
    pub(crate) answers: [u8; 3],
    /// True if the first answer is one that the handler refuses.
    pub(crate) is_refused: bool,
    pub(crate) started: [bool; 2],
    pub(crate) outcomes: [u8; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Runner {
    Idle,
    Running {
        fence: u64,
        /// The entries that it read when it acquired the task, and has recorded since.
        view: Journal,
        /// The step that it has begun.
        begun: Option<usize>,
    },
    /// It does not know whether its last write was carried out, and gives its run up.
    Unsure {
        fence: u64,
    },
    Dead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    pub(crate) answers: [Sent; 3],
    pub(crate) cancel: Sent,
}

/// The state of something that the client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sent {
    No,
    /// It was sent, and no acknowledgement came.
    Unacknowledged {
        /// True if the handler will refuse it.
        is_refused: bool,
    },
    Acknowledged,
}

impl Journal {
    /// The handler's next step, as far as the journal goes: ask `q1`, step `a`, ask `q2`, step `b`, finish.
    pub(crate) fn next(&self, begun: Option<usize>) -> Next {
        let first = if self.is_refused { &[0, 1][..] } else { &[0] };
        let question = |keys: &[usize]| keys.iter().copied().find(|&key| self.answers[key] == 0);
        let step = |step: usize| (self.outcomes[step] == 0).then_some(step);
        let ask = |key: usize| if self.opened[key] == 0 { Next::Ask(key) } else { Next::Wait };
        let run = |step: usize| if begun == Some(step) { Next::Conclude(step) } else { Next::Begin(step) };
        (question(first).map(ask))
            .or_else(|| step(0).map(run))
            .or_else(|| question(&[2]).map(ask))
            .or_else(|| step(1).map(run))
            .unwrap_or(Next::Finish)
    }
}

/// A handler's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Ask(usize),
    Wait,
    Begin(usize),
    Conclude(usize),
    Finish,
}

impl Hash for World {
    /// Hashes those parts of the record that an event can change.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let TaskRecord { fence, leased_until, due, run_again, progressed, lost_runs, open, ended, .. } = &self.record;
        (fence, leased_until, due, run_again, progressed, lost_runs, open.len(), ended).hash(state);
        (self.record.counted_losses, self.record.alone, self.record.set_aside).hash(state);
        (self.record.created, self.now, self.journal, &self.runners, self.client).hash(state);
    }
}
