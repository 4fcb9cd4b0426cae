//! What single use means, said as plainly as possible: the stores are compared with it.

use std::time::Duration;

use mrtr_state::Timestamp;
use mrtr_state::single_use::{Redemption, StepRecord};

/// Every claim removes what is too old by its clock. What was removed stays so, however clocks move.
pub(crate) struct Model {
    entries: Vec<Entry>,
    holders: usize,
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
    Held { holder: usize, lapses: Timestamp },
    Released,
    Committed(Vec<u8>),
}

/// What a claim gives; holders are numbered in the order in which they came.
#[derive(Debug, PartialEq)]
pub(crate) enum Claimed {
    Taken(usize, Vec<StepRecord>),
    Running(usize, Timestamp),
    Committed(Vec<u8>),
    OtherAnswers,
    BeforeMemory,
}

/// What any other verb gives.
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
        Self { entries: Vec::new(), holders: 0, removed: (never, never) }
    }
}

impl Model {
    pub(crate) fn claim(
        &mut self,
        token: usize,
        answers: usize,
        redemption: &Redemption,
        lease: Duration,
        now: Timestamp,
    ) -> Claimed {
        self.remove_old(now);
        let lapses = now + lease;
        let (holder, (latest_issue, latest_end)) = (self.holders, self.removed);
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.token == token) else {
            let may_be_one_of_them = redemption.issued() <= latest_issue && redemption.keep_until() <= latest_end;
            if may_be_one_of_them || redemption.may_be_forgotten(now) {
                return Claimed::BeforeMemory;
            }
            let state = State::Held { holder, lapses };
            let (issued, keep_until) = (redemption.issued(), redemption.keep_until().max(lapses));
            self.entries.push(Entry { token, issued, answers, keep_until, steps: Vec::new(), state });
            self.holders += 1;
            return Claimed::Taken(holder, Vec::new());
        };
        match &entry.state {
            State::Held { holder, lapses } if now < *lapses => return Claimed::Running(*holder, *lapses),
            State::Committed(reply) if entry.answers == answers => return Claimed::Committed(reply.clone()),
            State::Committed(_) => return Claimed::OtherAnswers,
            _ if !entry.steps.is_empty() && entry.answers != answers => return Claimed::OtherAnswers,
            _ => {}
        }
        entry.answers = answers;
        entry.state = State::Held { holder, lapses };
        entry.keep_until = entry.keep_until.max(lapses);
        let steps = entry.steps.clone();
        self.holders += 1;
        Claimed::Taken(holder, steps)
    }

    pub(crate) fn renew(&mut self, holder: usize, lease: Duration, now: Timestamp) -> Done {
        self.if_held(holder, now, |entry| {
            entry.state = State::Held { holder, lapses: now + lease };
            entry.keep_until = entry.keep_until.max(now + lease);
            Done::Fine
        })
    }

    pub(crate) fn mark_started(&mut self, holder: usize, step: &str, now: Timestamp) -> Done {
        self.if_held(holder, now, |entry| match entry.steps.iter().find(|known| known.name == step) {
            Some(known) if known.outcome.is_some() => Done::OutOfTurn,
            Some(_) => Done::Fine,
            None => {
                entry.steps.push(StepRecord::new(step, None));
                Done::Fine
            }
        })
    }

    pub(crate) fn record(&mut self, holder: usize, step: &str, outcome: &[u8], now: Timestamp) -> Done {
        self.if_held(holder, now, |entry| {
            let record = StepRecord::new(step, Some(outcome.to_vec()));
            match entry.steps.iter_mut().find(|known| known.name == step) {
                Some(known) => *known = record,
                None => entry.steps.push(record),
            }
            Done::Fine
        })
    }

    pub(crate) fn commit(&mut self, holder: usize, reply: &[u8], now: Timestamp) -> Done {
        self.if_held(holder, now, |entry| {
            entry.state = State::Committed(reply.to_vec());
            Done::Fine
        })
    }

    pub(crate) fn release(&mut self, holder: usize, now: Timestamp) -> Done {
        let released = self.if_held(holder, now, |entry| {
            if entry.steps.is_empty() {
                return Done::Forgotten;
            }
            entry.state = State::Released;
            Done::Kept
        });
        if released == Done::Forgotten {
            self.entries.retain(|entry| !entry.is_held_by(holder));
        }
        released
    }

    /// How many have taken a claim so far.
    pub(crate) fn holders(&self) -> usize {
        self.holders
    }

    pub(crate) fn is_held(&self, holder: usize) -> bool {
        self.entries.iter().any(|entry| entry.is_held_by(holder))
    }

    fn remove_old(&mut self, now: Timestamp) {
        for old in self.entries.extract_if(.., |entry| entry.keep_until <= now) {
            let (latest_issue, latest_end) = self.removed;
            self.removed = (latest_issue.max(old.issued), latest_end.max(old.keep_until));
        }
    }

    fn if_held(&mut self, holder: usize, now: Timestamp, change: impl FnOnce(&mut Entry) -> Done) -> Done {
        let held = |entry: &&mut Entry| now < entry.keep_until && entry.is_held_by(holder);
        self.entries.iter_mut().find(held).map_or(Done::Lost, change)
    }
}

impl Entry {
    fn is_held_by(&self, holder: usize) -> bool {
        matches!(self.state, State::Held { holder: by, .. } if by == holder)
    }
}
