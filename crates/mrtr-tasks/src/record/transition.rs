//! The state machine of a task: a record, an event and the time give the next record, or a refusal. Pure.

use std::time::Duration;

use mrtr_schema::Backoff;
use mrtr_state::Timestamp;

use super::{End, TaskRecord};

/// Something that happens to a task.
///
/// ```
/// use std::time::Duration;
/// use mrtr_tasks::record::{Company, Event};
///
/// let begin = Event::Acquire { lease: Duration::from_secs(30), company: Company::Runs };
/// assert_ne!(begin, Event::Cancel);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "this is the whole state machine")]
pub enum Event<'a> {
    /// A runner takes it, if a run is due or the lease of the last one is over.
    Acquire {
        /// The length of the lease, unless it is renewed.
        lease: Duration,
        /// The other work in the runner's process. A task [on trial](TaskRecord::is_on_trial) has no other run beside
        /// it: a runner that has one leaves it.
        company: Company,
    },
    /// The lease of its run may be over: if it is, that run was lost.
    Lapse,
    /// The clock may have been set back: if it was, nothing waits longer than it was meant to wait.
    SetBack {
        /// The longest lease that a run may have.
        lease: Duration,
    },
    /// An instance makes room for its next run, which is to be alone.
    Reserve {
        /// The time for which it does so, unless it says so again.
        lease: Duration,
    },
    /// Something else begins in the process of the run that has it.
    Accompany {
        /// The fence of the run.
        fence: u64,
    },
    /// The run that has it lives.
    Renew {
        /// The fence of the run.
        fence: u64,
        /// The length of the lease from now on.
        lease: Duration,
    },
    /// The run that has it has recorded something.
    Record {
        /// The fence of the run.
        fence: u64,
        /// The changes that it made.
        change: Change<'a>,
    },
    /// The run that has it has ended, and something is missing.
    Park {
        /// The fence of the run.
        fence: u64,
        /// The last changes that it made.
        change: Change<'a>,
        /// The time after which it runs again even if no answer has come.
        look_again: Option<Duration>,
    },
    /// The run that has it gives it up, for another to continue.
    HandOver {
        /// The fence of the run.
        fence: u64,
        /// The pause before the next run.
        pause: Duration,
    },
    /// The run that has it has ended it.
    Finish {
        /// The fence of the run.
        fence: u64,
        /// The way in which it ended.
        end: End,
    },
    /// Answers to these keys have come.
    Answer {
        /// The keys.
        keys: &'a [String],
    },
    /// An answer was refused, and its question is asked again.
    AskAnew {
        /// The key that stood for it.
        retired: &'a str,
        /// The key that stands for it from now on.
        opened: &'a str,
    },
    /// Something outside has happened that its flow may wait for.
    Wake,
    /// The owner or the operator ends it.
    Cancel,
    /// Its time may be over.
    Expire,
    /// The operator wants another run, whatever became of the last ones.
    Retry,
}

/// The other work in the process of a run.
///
/// ```
/// use mrtr_tasks::record::Company;
///
/// assert_ne!(Company::Calls, Company::Nothing);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "this is the whole state machine")]
pub enum Company {
    /// Other runs, now or soon.
    Runs,
    /// No other run, but handlers of plain calls.
    Calls,
    /// Nothing.
    Nothing,
}

/// The visible changes that a run made.
///
/// ```
/// use mrtr_tasks::record::Change;
///
/// let change = Change { opened: &["name".to_owned()], progressed: true, ..Change::default() };
/// assert!(change.retired.is_empty());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "this is the whole state machine")]
pub struct Change<'a> {
    /// Keys of questions that are shown from now on.
    pub opened: &'a [String],
    /// Keys of questions that are not asked any more.
    pub retired: &'a [String],
    /// True if it recorded something that was not known before.
    pub progressed: bool,
    /// The least time for which the task must last from now on.
    pub lasts: Option<Duration>,
}

/// The reason why an event is refused.
///
/// ```
/// use mrtr_tasks::record::TransitionError;
///
/// assert_eq!(TransitionError::Ended.to_string(), "the task has ended");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[expect(clippy::exhaustive_enums, reason = "this is the whole state machine")]
pub enum TransitionError {
    /// It has ended, and that is final.
    #[error("the task has ended")]
    Ended,
    /// Another run has it now, or this one has given it up.
    #[error("another run has the task now")]
    Lost,
    /// No run is due.
    #[error("no run of the task is due")]
    NotDue,
}

/// After this many lost runs in a row that were alone, a task is set aside: it is what ends its runners.
const MOST_COUNTED_LOSSES: u32 = 5;
/// After this many lost runs in a row of any kind it is set aside too: they may have had company each time.
const MOST_LOST_RUNS: u32 = 20;
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
/// From this many lost runs in a row on, a task runs alone. One is not enough: a process that dies costs all its tasks
/// a run, and they would all have to continue one after the other.
const TRIAL_FROM: u32 = 2;

impl TaskRecord {
    /// Applies an event. The record stays as it was if the event is refused.
    ///
    /// After `Acquire`, [`leased_until`](Self::leased_until) says whether the runner has it: a lost run may also have
    /// put it off, or set it aside, and a task on trial may have to wait.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mrtr_schema::Revision;
    /// # use mrtr_state::{FlowId, ProcessRandom, Timestamp};
    /// # use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
    /// use mrtr_tasks::record::{Company, Event, TransitionError};
    ///
    /// # let noon = Timestamp::from_millis(1_785_240_000_000);
    /// # let (id, flow) = (TaskId::random(&ProcessRandom::new()), FlowId::from_bytes([7; 16]));
    /// # let owner = Owner::new("tracker", None, None);
    /// # let mut record = TaskRecord::new(id, owner, flow, "index", Revision::V2026_07_28, noon);
    /// record.apply(Event::Acquire { lease: Duration::from_secs(30), company: Company::Runs }, noon)?;
    /// let finish = Event::Finish { fence: record.fence, end: End::Completed { is_error: false } };
    /// record.apply(Event::Cancel, noon)?;
    /// assert_eq!(record.apply(finish, noon), Err(TransitionError::Ended), "whichever comes first");
    /// # Ok::<(), TransitionError>(())
    /// ```
    pub fn apply(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), TransitionError> {
        if self.ended.is_some() {
            return Err(TransitionError::Ended);
        }
        // Its time is over, whether or not a store has noticed: from then on nothing but this end happens to it.
        if self.end(now).is_some() {
            if event != Event::Expire {
                return Err(TransitionError::Ended);
            }
            self.finish(End::Expired, now);
            return Ok(());
        }
        match event {
            Event::Acquire { lease, company } => return self.acquire(lease, company, now),
            Event::Lapse => return self.lapse(now),
            Event::SetBack { lease } => {
                self.bound_waits(lease, now);
                return Ok(());
            }
            Event::Reserve { lease } => return self.reserve(lease, now),
            Event::Accompany { fence } => {
                self.check(fence)?;
                self.alone = false;
                return Ok(());
            }
            Event::Renew { fence, lease } => {
                self.check(fence)?;
                self.leased_until = self.leased_until.max(Some(now + lease));
                return Ok(());
            }
            Event::Record { fence, change } => {
                self.check(fence)?;
                self.change(change, now);
            }
            Event::Park { fence, change, look_again } => {
                self.check(fence)?;
                self.change(change, now);
                let due = if self.run_again { Some(now) } else { look_again.map(|pause| now + pause) };
                self.give_up(due);
            }
            Event::HandOver { fence, pause } => {
                self.check(fence)?;
                self.give_up(Some(now + pause));
            }
            Event::Finish { fence, end } => {
                self.check(fence)?;
                self.finish(end, now);
            }
            Event::Answer { keys } => {
                let before = self.open.len();
                self.open.retain(|open| !keys.contains(open));
                // A client that lost the acknowledgement sends its answers again: that cannot be seen in the task.
                if self.open.len() == before {
                    return Ok(());
                }
                self.wake(now);
            }
            Event::AskAnew { retired, opened } => {
                let Some(place) = self.open.iter().position(|open| open == retired) else { return Ok(()) };
                opened.clone_into(&mut self.open[place]);
            }
            Event::Wake => self.wake(now),
            Event::Cancel => self.finish(End::Cancelled, now),
            Event::Expire => return Err(TransitionError::NotDue),
            Event::Retry => self.retry(now),
        }
        self.updated = self.updated.max(now);
        Ok(())
    }

    fn acquire(&mut self, lease: Duration, company: Company, now: Timestamp) -> Result<(), TransitionError> {
        if self.leased_until.is_some() {
            self.lapse(now)?;
            if self.due.is_none_or(|due| due > now) {
                // The task is put off or set aside. That is to be kept, though the runner does not have the task.
                return Ok(());
            }
        }
        if self.due.is_none_or(|due| due > now) {
            return Err(TransitionError::NotDue);
        }
        if self.is_on_trial() && company == Company::Runs {
            // It waits for a runner that has no other run, and is due until then.
            return Ok(());
        }
        self.fence += 1;
        (self.leased_until, self.due) = (Some(now + lease), None);
        (self.alone, self.reserved_until) = (self.is_on_trial() && company == Company::Nothing, None);
        Ok(())
    }

    /// Takes the task from a run whose lease is over. The run was lost if it has recorded nothing new.
    fn lapse(&mut self, now: Timestamp) -> Result<(), TransitionError> {
        let Some(until) = self.leased_until.filter(|until| *until <= now) else { return Err(TransitionError::NotDue) };
        let (was_alone, has_progressed) = (self.alone, self.progressed);
        // Another run follows, so what came while this one had it needs no note.
        (self.leased_until, self.run_again, self.progressed, self.alone) = (None, false, false, false);
        if has_progressed {
            (self.lost_runs, self.counted_losses) = (0, 0);
        } else {
            self.lost_runs += 1;
            self.counted_losses += u32::from(was_alone);
        }
        if self.counted_losses >= MOST_COUNTED_LOSSES || self.lost_runs >= MOST_LOST_RUNS {
            self.updated = self.updated.max(now);
            (self.set_aside, self.due) = (Some(now), None);
        } else {
            self.due = Some(until + pause_after(self.lost_runs));
        }
        Ok(())
    }

    /// Shortens what waits, after the clock was set back. A run that has the task may live, so its lease ends no
    /// earlier than one that begins now.
    fn bound_waits(&mut self, lease: Duration, now: Timestamp) {
        self.leased_until = self.leased_until.map(|until| until.min(now + lease));
        self.reserved_until = self.reserved_until.map(|until| until.min(now + lease));
        let (lost_runs, updated) = (self.lost_runs, self.updated);
        // What made it due after a pause also changed it, but for a lost run, whose pause follows from their number.
        let pause = |due: Timestamp| if lost_runs > 0 { pause_after(lost_runs) } else { due.since(updated) };
        self.due = self.due.map(|due| due.min(now + pause(due)));
    }

    fn reserve(&mut self, lease: Duration, now: Timestamp) -> Result<(), TransitionError> {
        if !self.is_on_trial() || self.due.is_none_or(|due| due > now) {
            return Err(TransitionError::NotDue);
        }
        self.reserved_until = Some(now + lease);
        Ok(())
    }

    /// Forgets its lost runs. A task that was on trial stays so: if it ends its process again, no other task loses a
    /// run with it.
    fn retry(&mut self, now: Timestamp) {
        self.lost_runs = if self.is_on_trial() { TRIAL_FROM } else { 0 };
        (self.counted_losses, self.set_aside) = (0, None);
        self.wake(now);
    }

    /// Returns true if its last runs were lost one after the other: its handler may be what ends the processes that it
    /// runs in.
    ///
    /// A process that dies takes all its runs with it, and each of their tasks has lost one. So such a task runs alone.
    /// If it did not end the process, it continues now; if it did, no other task loses a run with it.
    pub fn is_on_trial(&self) -> bool {
        self.lost_runs >= TRIAL_FROM
    }

    /// Checks that this run has the task. A run whose lease is over has it until another takes it.
    fn check(&self, fence: u64) -> Result<(), TransitionError> {
        if self.fence == fence && self.leased_until.is_some() { Ok(()) } else { Err(TransitionError::Lost) }
    }

    fn change(&mut self, change: Change<'_>, now: Timestamp) {
        self.open.retain(|open| !change.retired.contains(open));
        self.open.extend(change.opened.iter().cloned());
        self.progressed |= change.progressed;
        // It is not lost any more, so it makes no difference what begins beside it.
        self.alone &= !self.progressed;
        if let (Some(ttl), Some(lasts)) = (&mut self.ttl, change.lasts) {
            *ttl = (*ttl).max((now + lasts).since(self.created));
        }
    }

    /// Ends the run that has it, which was not lost.
    fn give_up(&mut self, due: Option<Timestamp>) {
        (self.leased_until, self.due, self.lost_runs, self.counted_losses) = (None, due, 0, 0);
        (self.run_again, self.progressed, self.alone) = (false, false, false);
    }

    fn wake(&mut self, now: Timestamp) {
        if self.leased_until.is_some() {
            self.run_again = true;
        } else if self.set_aside.is_none() {
            // What is set aside keeps what came, for the run that the operator allows.
            self.due = Some(self.due.map_or(now, |due| due.min(now)));
        }
    }

    fn finish(&mut self, end: End, now: Timestamp) {
        self.updated = self.updated.max(now);
        self.ended = Some((end, self.updated));
        (self.leased_until, self.due, self.reserved_until, self.set_aside) = (None, None, None, None);
        (self.run_again, self.progressed, self.alone) = (false, false, false);
        self.open.clear();
    }
}

/// The pause before the next run of a task that has lost this many runs in a row.
fn pause_after(lost_runs: u32) -> Duration {
    match lost_runs.checked_sub(1) {
        None => Duration::ZERO,
        Some(pauses_before) => PAUSES.pause(pauses_before),
    }
}
