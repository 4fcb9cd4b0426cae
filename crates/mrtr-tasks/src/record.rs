//! The record of a task: the plain part, without what the task holds. Stores search it, and transitions change it.

mod transition;

use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_schema::tasks::TaskStatus;
use mrtr_state::{FlowId, Timestamp};

use crate::{Account, Owner, TaskId};

pub use transition::{Change, Company, Event, TransitionError};

/// A task without what it holds. Its status follows from this alone.
///
/// ```
/// use std::time::Duration;
/// use mrtr_schema::Revision;
/// use mrtr_schema::tasks::TaskStatus;
/// use mrtr_state::{FlowId, ProcessRandom, Timestamp};
/// use mrtr_tasks::{Owner, TaskId, TaskRecord};
///
/// let noon = Timestamp::from_millis(1_785_240_000_000);
/// let record = TaskRecord {
///     ttl: Some(Duration::from_secs(60)),
///     ..TaskRecord::new(
///         TaskId::random(&ProcessRandom::new()),
///         Owner::new("tracker", None, None),
///         FlowId::from_bytes([7; 16]),
///         "index",
///         Revision::V2026_07_28,
///         noon,
///     )
/// };
/// assert_eq!(record.status(noon), TaskStatus::Working);
/// assert_eq!(record.status(noon + Duration::from_secs(60)), TaskStatus::Failed, "its time is over");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a store keeps each of its members, and must not forget one")]
pub struct TaskRecord {
    /// The id of the task.
    pub id: TaskId,
    /// The owner of the task.
    pub owner: Owner,
    /// The account in which it counts.
    pub account: Account,
    /// The flow that it runs: an owner has one task for each.
    pub flow: FlowId,
    /// The tool that was called.
    pub tool: String,
    /// The revision in which it was created, and to which it belongs.
    pub revision: Revision,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change: never earlier than before.
    pub updated: Timestamp,
    /// The time for which it is kept after its creation; there is no limit if this is `None`.
    pub ttl: Option<Duration>,
    /// The time that a client is asked to wait between two polls.
    pub poll_interval: Duration,
    /// The time for which it is kept after its end, if that is later than the end of its ttl.
    pub retention: Duration,
    /// The number of the run that it is in, or was in last. A store refuses a write under another number.
    pub fence: u64,
    /// The moment until which a run has it, unless the run renews its lease.
    pub leased_until: Option<Timestamp>,
    /// The moment from which the next run may begin, while no run has it. `None` if it only waits for answers.
    pub due: Option<Timestamp>,
    /// True if something came while a run had it, so that another run follows.
    pub run_again: bool,
    /// True if the run that has it has recorded anything new.
    pub progressed: bool,
    /// The number of runs in a row that were lost: their leases ended, and they had recorded nothing new.
    pub lost_runs: u32,
    /// The number of those that were alone in their process to the end, so that nothing else can have ended it.
    pub counted_losses: u32,
    /// True if the run that has it is on trial, and nothing else has begun in its process since.
    pub alone: bool,
    /// The moment until which an instance makes room for its next run, which is to be alone, unless the instance
    /// extends this.
    pub reserved_until: Option<Timestamp>,
    /// The moment at which it was set aside: too many runs were lost, and only the operator can allow the next one.
    pub set_aside: Option<Timestamp>,
    /// The keys of the questions that are shown and not answered.
    pub open: Vec<String>,
    /// The way in which it ended, and the time of its end.
    pub ended: Option<(End, Timestamp)>,
}

/// The way in which a task ended.
///
/// ```
/// use mrtr_schema::tasks::TaskStatus;
/// use mrtr_tasks::End;
///
/// assert_eq!(End::Completed { is_error: true }.status(), TaskStatus::Completed, "in the published revision");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store keeps which of them it is")]
pub enum End {
    /// The task has a result.
    Completed {
        /// True if the result says that the tool failed.
        is_error: bool,
    },
    /// The task has a JSON-RPC error.
    Failed,
    /// Its time was over.
    Expired,
    /// Too many runs in a row were lost. Versions up to 0.1 ended tasks so; today they are [set
    /// aside](TaskRecord::set_aside), and what ended stays as it ended.
    Stuck,
    /// It was cancelled.
    Cancelled,
}

impl End {
    /// All ways in which a task ends.
    pub const ALL: [Self; 6] = [
        Self::Completed { is_error: false },
        Self::Completed { is_error: true },
        Self::Failed,
        Self::Expired,
        Self::Stuck,
        Self::Cancelled,
    ];

    /// Returns the status of a task that ended in this way, in the published revision.
    pub const fn status(self) -> TaskStatus {
        match self {
            Self::Completed { .. } => TaskStatus::Completed,
            Self::Failed | Self::Expired | Self::Stuck => TaskStatus::Failed,
            Self::Cancelled => TaskStatus::Cancelled,
        }
    }

    /// Returns the name that stores, logs and operators see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed { is_error: false } => "completed",
            Self::Completed { is_error: true } => "completed_with_error",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Stuck => "stuck",
            Self::Cancelled => "cancelled",
        }
    }
}

impl TaskRecord {
    /// Makes the record of a task that was just created: its first run may begin. It counts in its owner's account.
    pub fn new(
        id: TaskId,
        owner: Owner,
        flow: FlowId,
        tool: impl Into<String>,
        revision: Revision,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            account: Account::from(&owner),
            owner,
            flow,
            tool: tool.into(),
            revision,
            created: now,
            updated: now,
            ttl: None,
            poll_interval: Duration::from_secs(1),
            retention: Duration::ZERO,
            fence: 0,
            leased_until: None,
            due: Some(now),
            run_again: false,
            progressed: false,
            lost_runs: 0,
            counted_losses: 0,
            alone: false,
            reserved_until: None,
            set_aside: None,
            open: Vec::new(),
            ended: None,
        }
    }

    /// Returns the moment at which its time is over. A task without a ttl is kept for its retention once it is set
    /// aside, since an operator may never come.
    pub fn expires(&self) -> Option<Timestamp> {
        let ttl = self.ttl.map(|ttl| self.created + ttl);
        ttl.or_else(|| self.set_aside.map(|since| since + self.retention))
    }

    /// Returns the way in which it has ended by now, even if no store has noticed that its time is over.
    pub fn end(&self, now: Timestamp) -> Option<End> {
        let is_expired = || self.expires().is_some_and(|end| end <= now).then_some(End::Expired);
        self.ended.map(|(end, _)| end).or_else(is_expired)
    }

    /// Returns the status of the task at this moment, in the published revision.
    pub fn status(&self, now: Timestamp) -> TaskStatus {
        match self.end(now) {
            Some(end) => end.status(),
            None if self.open.is_empty() => TaskStatus::Working,
            None => TaskStatus::InputRequired,
        }
    }

    /// Returns the moment at which a runner has to look at the task: a run is due, or the lease of one ends. A task on
    /// trial has another such moment: [`trial`](Self::trial).
    pub fn attention(&self) -> Option<Timestamp> {
        if self.is_on_trial() { None } else { self.next_look() }
    }

    /// Returns the moment at which a runner that has no other run has to look at it, if it is [on
    /// trial](Self::is_on_trial).
    pub fn trial(&self) -> Option<Timestamp> {
        if self.is_on_trial() { self.next_look() } else { None }
    }

    fn next_look(&self) -> Option<Timestamp> {
        if self.ended.is_some() { None } else { self.leased_until.or(self.due) }
    }

    /// Returns the moment from which a store may remove it: it has ended, and is not kept any longer.
    pub fn removable(&self) -> Option<Timestamp> {
        let (_, ended) = self.ended?;
        let kept = ended + self.retention;
        Some(self.expires().map_or(kept, |expires| expires.max(kept)))
    }
}
