//! Tasks on trial: which run comes next where one of them is due, and what a runner does about it.

use std::time::Duration;

use mrtr_state::Timestamp;

use super::Wanted;
use crate::record::{Company, Event};

/// The way in which a runner that asks for work treats tasks [on trial](crate::TaskRecord::is_on_trial), which run
/// alone.
///
/// ```
/// use mrtr_tasks::store::Trials;
///
/// assert_ne!(Trials::Busy, Trials::Idle);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "what a store is asked")]
pub enum Trials {
    /// The runner has other runs: it takes no task on trial, and makes room for one that has waited too long.
    Busy,
    /// The runner makes room for a task on trial: it takes nothing until it has no other run.
    MakesRoom,
    /// The runner has no run: if a task on trial waited longest, it takes nothing yet, and asks again for that one.
    Idle,
    /// The runner has no run, and takes a task on trial.
    Takes {
        /// True if no handler of a plain call runs in its process either.
        alone: bool,
    },
}

/// The tasks that a store gives a runner, if any.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::Timestamp;
/// use mrtr_tasks::store::{Choice, Trials, Turns, Wanted};
///
/// let lease = Duration::from_secs(30);
/// let (tools, running, turns) = (vec!["index".into()], Vec::new(), Turns::default());
/// let wanted = Wanted { tools, lease, most: 4, trials: Trials::Idle, running, turns };
/// let noon = Timestamp::from_millis(1_785_240_000_000);
/// assert_eq!(wanted.choose(Some(noon), None, false, noon), Choice::Tell);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "what a store does")]
pub enum Choice {
    /// Tasks that are not on trial.
    Others,
    /// The task on trial that waited longest.
    Trial,
    /// Nothing: the task on trial that waited longest is [reserved](Event::Reserve), and the runner is told.
    Reserve,
    /// Nothing: the runner is told that one on trial waits.
    Tell,
    /// Nothing.
    Nothing,
}

impl Wanted {
    /// For stores: chooses what the runner gets. `trial` and `others` are the moments since which the first task on
    /// trial and the first of the others are due; `is_reserved` says whether an instance makes room for a task on trial
    /// already.
    pub fn choose(
        &self,
        trial: Option<Timestamp>,
        others: Option<Timestamp>,
        is_reserved: bool,
        now: Timestamp,
    ) -> Choice {
        let trial = trial.filter(|due| *due <= now);
        let is_overdue = trial.is_some_and(|due| due + LONGEST_WAIT <= now);
        match self.trials {
            Trials::Takes { .. } if trial.is_some() => Choice::Trial,
            Trials::Takes { .. } => Choice::Nothing,
            // Those that waited longest come first, so neither kind keeps the other waiting for ever.
            Trials::Idle if trial.is_some_and(|due| others.is_none_or(|other| due <= other)) => Choice::Tell,
            Trials::Busy if is_overdue && !is_reserved => Choice::Reserve,
            Trials::MakesRoom if is_overdue => Choice::Reserve,
            Trials::Idle | Trials::Busy | Trials::MakesRoom => Choice::Others,
        }
    }

    /// For stores: returns the event for a task that is due and not on trial.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_tasks::record::{Company, Event};
    /// use mrtr_tasks::store::{Trials, Turns, Wanted};
    ///
    /// let lease = Duration::from_secs(30);
    /// let (tools, running, turns) = (vec!["index".into()], Vec::new(), Turns::default());
    /// let wanted = Wanted { tools, lease, most: 4, trials: Trials::Busy, running, turns };
    /// assert_eq!(wanted.event(), Event::Acquire { lease, company: Company::Runs });
    /// ```
    pub fn event(&self) -> Event<'static> {
        Event::Acquire { lease: self.least_lease(), company: Company::Runs }
    }

    /// For stores: returns the event for a task on trial that the runner takes.
    pub fn trial_event(&self) -> Event<'static> {
        let company = if self.trials == (Trials::Takes { alone: true }) { Company::Nothing } else { Company::Calls };
        Event::Acquire { lease: self.least_lease(), company }
    }

    /// For stores: returns the event for a task on trial for which an instance makes room.
    pub fn reserve_event(&self) -> Event<'static> {
        Event::Reserve { lease: self.least_lease() }
    }

    /// For stores: returns the event for a task that waits, if the clock may have been set back.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_tasks::record::Event;
    /// use mrtr_tasks::store::{Trials, Turns, Wanted};
    ///
    /// let lease = Duration::from_secs(30);
    /// let (tools, running, turns) = (vec!["index".into()], Vec::new(), Turns::default());
    /// let wanted = Wanted { tools, lease, most: 4, trials: Trials::Busy, running, turns };
    /// let longest = Duration::from_mins(5);
    /// assert_eq!(wanted.set_back_event(), Event::SetBack { lease: longest }, "another instance may have longer leases");
    /// ```
    pub fn set_back_event(&self) -> Event<'static> {
        Event::SetBack { lease: self.lease.max(LONGEST_OTHER_LEASE) }
    }

    fn least_lease(&self) -> Duration {
        self.lease.max(Duration::from_millis(1))
    }
}

/// The time for which a task on trial waits for an instance that has no other run, before one makes room for it.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// The longest lease that another instance is taken to have. If the end of a lease is further off, the clock was set
/// back since it began.
const LONGEST_OTHER_LEASE: Duration = Duration::from_mins(5);
/// For stores: the number of tasks on trial that are looked at at once.
///
/// ```
/// use mrtr_tasks::store::TRIALS_AT_ONCE;
///
/// assert_eq!(TRIALS_AT_ONCE, 16);
/// ```
pub const TRIALS_AT_ONCE: usize = 16;
