//! What is known of a task besides what it holds: the plain part, which stores search and transitions change.

mod transition;

use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_schema::tasks::TaskStatus;
use mrtr_state::{FlowId, Timestamp};

use crate::{Account, Owner, TaskId};

pub use transition::{Change, Company, Event, TransitionError};

/// A task, without what it holds. Where it stands follows from this alone.
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
    /// Which task it is.
    pub id: TaskId,
    /// Whose.
    pub owner: Owner,
    /// The account in which it counts.
    pub account: Account,
    /// The flow that it runs: an owner has one task for each.
    pub flow: FlowId,
    /// The tool that was called.
    pub tool: String,
    /// The revision that it was created in, and belongs to.
    pub revision: Revision,
    /// When it was created.
    pub created: Timestamp,
    /// When it last changed: never earlier than before.
    pub updated: Timestamp,
    /// For how long after its creation it is kept; without a limit if there is none.
    pub ttl: Option<Duration>,
    /// How long a client is asked to wait between two polls.
    pub poll_interval: Duration,
    /// For how long it is kept once it has ended, if that is later than the end of its ttl.
    pub retention: Duration,
    /// Which run it is in, or was in last. A write under another number is refused.
    pub fence: u64,
    /// Until when a run has it, unless it says again that it lives.
    pub leased_until: Option<Timestamp>,
    /// When the next run may begin, while no run has it. `None` if it only waits for answers.
    pub due: Option<Timestamp>,
    /// Whether something came while a run had it, so that another run follows.
    pub run_again: bool,
    /// Whether the run that has it has recorded anything new.
    pub progressed: bool,
    /// How many runs in a row were lost: their leases ended, and they had recorded nothing new.
    pub lost_runs: u32,
    /// How many of those were alone in their process to the end, so that nothing else can have ended it.
    pub counted_losses: u32,
    /// Whether the run that has it is on trial, and nothing else has begun in its process since.
    pub alone: bool,
    /// Until when an instance makes room for its next run, which is to be alone, unless that instance says so again.
    pub reserved_until: Option<Timestamp>,
    /// Since when it is set aside: too many runs were lost, and the next one is the operator's to allow.
    pub set_aside: Option<Timestamp>,
    /// The keys of the questions that are shown and not answered.
    pub open: Vec<String>,
    /// How it ended, and when.
    pub ended: Option<(End, Timestamp)>,
}

/// How a task ended.
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
    /// There is a result.
    Completed {
        /// Whether the result says that the tool failed.
        is_error: bool,
    },
    /// There is a JSON-RPC error.
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
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Completed { is_error: false },
        Self::Completed { is_error: true },
        Self::Failed,
        Self::Expired,
        Self::Stuck,
        Self::Cancelled,
    ];

    /// Where a task that ended so stands, in the published revision.
    pub const fn status(self) -> TaskStatus {
        match self {
            Self::Completed { .. } => TaskStatus::Completed,
            Self::Failed | Self::Expired | Self::Stuck => TaskStatus::Failed,
            Self::Cancelled => TaskStatus::Cancelled,
        }
    }

    /// A word for a store, a log and an operator.
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
    /// A task that was just created: its first run may begin. It counts in its owner's account.
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

    /// When its time is over. A task without a ttl has its retention once it is set aside: an operator may never come.
    pub fn expires(&self) -> Option<Timestamp> {
        let ttl = self.ttl.map(|ttl| self.created + ttl);
        ttl.or_else(|| self.set_aside.map(|since| since + self.retention))
    }

    /// How it has ended by now, though no store may have noticed that its time is over.
    pub fn end(&self, now: Timestamp) -> Option<End> {
        let is_expired = || self.expires().is_some_and(|end| end <= now).then_some(End::Expired);
        self.ended.map(|(end, _)| end).or_else(is_expired)
    }

    /// Where it stands, in the published revision.
    pub fn status(&self, now: Timestamp) -> TaskStatus {
        match self.end(now) {
            Some(end) => end.status(),
            None if self.open.is_empty() => TaskStatus::Working,
            None => TaskStatus::InputRequired,
        }
    }

    /// When a runner has to look at it: a run is due, or the lease of one ends. One on trial is looked for elsewhere.
    pub fn attention(&self) -> Option<Timestamp> {
        if self.is_on_trial() { None } else { self.next_look() }
    }

    /// When a runner that has no other run has to look at it, if it is [on trial](Self::is_on_trial).
    pub fn trial(&self) -> Option<Timestamp> {
        if self.is_on_trial() { self.next_look() } else { None }
    }

    fn next_look(&self) -> Option<Timestamp> {
        if self.ended.is_some() { None } else { self.leased_until.or(self.due) }
    }

    /// From when on it may be removed: a task that has ended, and is not kept any longer.
    pub fn removable(&self) -> Option<Timestamp> {
        let (_, ended) = self.ended?;
        let kept = ended + self.retention;
        Some(self.expires().map_or(kept, |expires| expires.max(kept)))
    }
}
