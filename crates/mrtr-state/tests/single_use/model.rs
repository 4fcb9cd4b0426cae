//! The meaning of single use, said as plainly as possible: the stores are compared with it.

use std::time::Duration;

use mrtr_state::single_use::StepRecord;
use mrtr_state::{Timestamp, TokenUse};

/// Every request to reserve removes what is too old by its clock. What was removed stays so, however clocks move.
pub(crate) struct Model {
    entries: Vec<Entry>,
    reservations: usize,
    /// The latest issue and the latest end of what was removed.
    removed: (Timestamp, Timestamp),
}

struct Entry {
    token: usize,
    issued: Timestamp,
    answers: usize,
    keep_until: Timestamp,
    steps: Vec<StepRecord>,
    state: State,
}

enum State {
    Held { reservation: usize, lapses: Timestamp },
    Released,
    Committed(Vec<u8>),
}

/// The outcome of a request to reserve; reservations are numbered in the order in which they came.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Reserved(usize, Vec<StepRecord>),
    InProgress(usize, Timestamp),
    Committed(Vec<u8>),
    OtherAnswers,
    BeforeMemory,
}

/// The outcome of any other verb.
#[derive(Debug, PartialEq)]
pub(crate) enum Done {
    Fine,
    Forgotten,
    Kept,
    Lost,
    OutOfTurn,
}

impl Default for Model {
    fn default() -> Self {
        let never = Timestamp::from_millis(0);
        Self { entries: Vec::new(), reservations: 0, removed: (never, never) }
    }
}

impl Model {
    pub(crate) fn reserve(
        &mut self,
        token: usize,
        answers: usize,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Outcome {
        self.remove_old(now);
        let lapses = now + lease;
        let (reservation, (latest_issue, latest_end)) = (self.reservations, self.removed);
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.token == token) else {
            let may_be_one_of_them = token_use.issued() <= latest_issue && token_use.keep_until() <= latest_end;
            if may_be_one_of_them || token_use.may_be_forgotten(now) {
                return Outcome::BeforeMemory;
            }
            let state = State::Held { reservation, lapses };
            let (issued, keep_until) = (token_use.issued(), token_use.keep_until().max(lapses));
            self.entries.push(Entry { token, issued, answers, keep_until, steps: Vec::new(), state });
            self.reservations += 1;
            return Outcome::Reserved(reservation, Vec::new());
        };
        match &entry.state {
            State::Held { reservation, lapses } if now < *lapses => return Outcome::InProgress(*reservation, *lapses),
            State::Committed(reply) if entry.answers == answers => return Outcome::Committed(reply.clone()),
            State::Committed(_) => return Outcome::OtherAnswers,
            _ if !entry.steps.is_empty() && entry.answers != answers => return Outcome::OtherAnswers,
            _ => {}
        }
        entry.answers = answers;
        entry.state = State::Held { reservation, lapses };
        entry.keep_until = entry.keep_until.max(lapses);
        let steps = entry.steps.clone();
        self.reservations += 1;
        Outcome::Reserved(reservation, steps)
    }

    pub(crate) fn renew(&mut self, reservation: usize, lease: Duration, now: Timestamp) -> Done {
        self.if_held(reservation, now, |entry| {
            entry.state = State::Held { reservation, lapses: now + lease };
            entry.keep_until = entry.keep_until.max(now + lease);
            Done::Fine
        })
    }

    pub(crate) fn mark_started(&mut self, reservation: usize, step: &str, now: Timestamp) -> Done {
        self.if_held(reservation, now, |entry| match entry.steps.iter().find(|known| known.name == step) {
            Some(known) if known.outcome.is_some() => Done::OutOfTurn,
            Some(_) => Done::Fine,
            None => {
                entry.steps.push(StepRecord::new(step, None));
                Done::Fine
            }
        })
    }

    pub(crate) fn record(&mut self, reservation: usize, step: &str, outcome: &[u8], now: Timestamp) -> Done {
        self.if_held(reservation, now, |entry| {
            let record = StepRecord::new(step, Some(outcome.to_vec()));
            match entry.steps.iter_mut().find(|known| known.name == step) {
                Some(known) => *known = record,
                None => entry.steps.push(record),
            }
            Done::Fine
        })
    }

    pub(crate) fn commit(&mut self, reservation: usize, reply: &[u8], now: Timestamp) -> Done {
        self.if_held(reservation, now, |entry| {
            entry.state = State::Committed(reply.to_vec());
            Done::Fine
        })
    }

    pub(crate) fn release(&mut self, reservation: usize, now: Timestamp) -> Done {
        let released = self.if_held(reservation, now, |entry| {
            if entry.steps.is_empty() {
                return Done::Forgotten;
            }
            entry.state = State::Released;
            Done::Kept
        });
        if released == Done::Forgotten {
            self.entries.retain(|entry| !entry.is_held_by(reservation));
        }
        released
    }

    /// The number of reservations so far.
    pub(crate) fn reservations(&self) -> usize {
        self.reservations
    }

    pub(crate) fn is_held(&self, reservation: usize) -> bool {
        self.entries.iter().any(|entry| entry.is_held_by(reservation))
    }

    fn remove_old(&mut self, now: Timestamp) {
        for old in self.entries.extract_if(.., |entry| entry.keep_until <= now) {
            let (latest_issue, latest_end) = self.removed;
            self.removed = (latest_issue.max(old.issued), latest_end.max(old.keep_until));
        }
    }

    fn if_held(&mut self, reservation: usize, now: Timestamp, change: impl FnOnce(&mut Entry) -> Done) -> Done {
        let held = |entry: &&mut Entry| now < entry.keep_until && entry.is_held_by(reservation);
        self.entries.iter_mut().find(held).map_or(Done::Lost, change)
    }
}

impl Entry {
    fn is_held_by(&self, reservation: usize) -> bool {
        matches!(self.state, State::Held { reservation: by, .. } if by == reservation)
    }
}
