//! What keeps tasks: a few verbs over plain records and sealed bytes.

mod clock_watch;
mod memory;
mod trials;
mod turns;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_state::{FlowId, Timestamp};

use crate::record::TransitionError;
use crate::{End, Owner, TaskId, TaskOptions, TaskRecord};

pub use clock_watch::ClockWatch;
pub use memory::MemoryTaskStore;
pub use trials::{Choice, TRIALS_AT_ONCE, Trials};
pub use turns::{ACCOUNTS_AT_ONCE, EXPIRED_PASSED_OVER, PAUSE_BEFORE_UNSEEN, Turn, Turns};

/// Keeps tasks.
///
/// A verb reads the record, applies one [`Event`](crate::record::Event) to it, and writes it back together with the
/// bytes that come with the verb: all of it or nothing, and in one order with every other verb on this task. What a
/// verb acknowledges has been written to where a crash of the process does not reach. Nothing is needed across tasks.
///
/// Time is the store's own, so that instances whose clocks differ agree: leases and pauses are durations that it adds.
/// The bytes are sealed by the time they come here, unless the operator did without; a store does not look into them.
///
/// [`contract::check`](crate::contract::check) (feature `contract`) tries all of it. What a false yes costs is said
/// with each verb.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_tasks::store::{MemoryTaskStore, TaskStore};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_tasks::store::StoreError> {
/// let store: Arc<dyn TaskStore> = Arc::new(MemoryTaskStore::default());
/// assert!(store.now().await? <= store.now().await?);
/// # Ok(()) }
/// ```
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// The time, by which all verbs go.
    async fn now(&self) -> Result<Timestamp, StoreError>;

    /// How many bytes all tasks may keep, unless [the operator](crate::TaskOptions::kept_bytes) says otherwise: 1 GiB.
    fn usual_bytes(&self) -> u64 {
        TaskOptions::DEFAULT_STORE_BYTES
    }

    /// Keeps a new task, unless its owner has one for this flow: then that one is told. The new one is stamped with the
    /// store's time.
    ///
    /// Refused if the owner or the store already has as much as it may. Tasks whose time is over are not open, whether or
    /// not a sweep has noticed: some of the owner's are ended here if they are in the way. Creations at once may go beyond
    /// the limits by what they bring themselves.
    ///
    /// A false yes loses a task whose handle a client has.
    async fn create(&self, task: NewTask, limits: Limits) -> Result<Created, StoreError>;

    /// Takes tasks whose runs are due or were lost: of these tools, at most so many. Owners come in turns, [at most so
    /// many](ACCOUNTS_AT_ONCE) from the one whose turn it is; of each owner, those that waited longest come first. Each has
    /// a new fence. Of those on trial it takes one by itself, if at all: [`Wanted::choose`] says when.
    ///
    /// A task whose time is over is not due, whether or not a sweep has noticed, and stands in the way of its owner's
    /// alone: where [too many](EXPIRED_PASSED_OVER) do, some are ended here, and there may be more at once.
    ///
    /// A task given to two runners under one fence runs twice.
    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError>;

    /// The run lives. Without a message that is no change to be told.
    ///
    /// A false yes lets two runs go on beside each other.
    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError>;

    /// What renews leases from a thread that is not a runtime's: it goes on while every runtime of the process is blocked.
    fn lease_keeper(&self) -> Box<dyn LeaseKeeper>;

    /// Something else begins in the process of the run: if the run is lost, that need not be its own doing. No change to
    /// be told.
    ///
    /// A false yes sets a task aside that did nothing.
    async fn accompany(&self, run: Run) -> Result<(), StoreError>;

    /// Keeps entries of the run, the questions that they open, and those that they retire. A key that the task has used
    /// before is refused with [`StoreError::KeyUsed`].
    ///
    /// A false yes repeats an effect, or shows a question whose answer is lost.
    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError>;

    /// Puts these entries in the place of the first so many, which say no more than they do; if there are none, nothing is
    /// changed. Entries that came since the task was acquired stay behind them.
    ///
    /// A false yes costs room. Entries that go though they are none of the first lose an answer.
    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError>;

    /// The run has ended with something missing: keeps what it recorded last and gives the task up.
    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError>;

    /// The run gives the task up for another to go on after a pause.
    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError>;

    /// The run has ended the task: keeps what came of it, and erases its entries and questions.
    ///
    /// A false yes loses a result, or gives a client one of a task that it was told is cancelled.
    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError>;

    /// Keeps answers to open questions, as entries, and has the task run. Answers to other keys change nothing. Says
    /// which keys were answered: of two answers to one key, the first.
    ///
    /// A false yes loses an answer that a person gave.
    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError>;

    /// Asks under a fresh key what was asked under this one, whose answer would not do. Says whether that was still open.
    /// A key that the task has used before is refused with [`StoreError::KeyUsed`].
    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError>;

    /// Has the task run, since something outside has happened that its flow may wait for.
    async fn wake(&self, id: TaskId) -> Result<(), StoreError>;

    /// Ends the task unless it has ended, and erases its entries and questions. The operator has no owner.
    ///
    /// A false yes lets a task go on that a client was told is cancelled.
    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError>;

    /// Has the task run, however many of its runs were lost, also if it is set aside.
    async fn retry(&self, id: TaskId) -> Result<(), StoreError>;

    /// A task with its open questions and what came of it. The operator has no owner.
    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError>;

    /// The records of those of these tasks that there are, in no order. They are not read on a thread of a runtime.
    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError>;

    /// Tasks in the order of their creation, after a place in that order. The operator has no owner.
    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError>;

    /// Ends tasks whose time is over and removes those that are not kept any longer, at most so many of each.
    async fn sweep(&self, most: usize) -> Result<Swept, StoreError>;

    /// Where the order of changes stands: [`changed`](Self::changed) tells what comes after.
    async fn cursor(&self) -> Result<Cursor, StoreError>;

    /// Waits until tasks have changed after this place, by any instance, and says which: a hint, which may name a task
    /// twice, or one that has not changed. None is left out.
    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError>;
}

/// Renews the leases of many runs at once, and blocks its thread meanwhile. It must not be used on one of a runtime, and
/// needs none: a store whose verbs do has what it needs besides.
///
/// ```
/// use std::time::Duration;
/// use mrtr_tasks::store::{LeaseKeeper, MemoryTaskStore, Run, TaskStore};
///
/// fn keep(keeper: &mut dyn LeaseKeeper, runs: &[Run]) -> bool {
///     keeper.renew(runs, Duration::from_secs(30)).iter().all(Result::is_ok)
/// }
///
/// assert!(keep(&mut *MemoryTaskStore::default().lease_keeper(), &[]));
/// ```
pub trait LeaseKeeper: Send {
    /// These runs live: what came of each, in their order, as [`TaskStore::renew`] says it. In bounded time, also if the
    /// store does not answer.
    ///
    /// A false yes lets two runs go on beside each other.
    fn renew(&mut self, runs: &[Run], lease: Duration) -> Vec<Result<(), StoreError>>;
}

/// A task to be kept.
///
/// ```
/// use mrtr_tasks::store::NewTask;
/// use mrtr_tasks::TaskRecord;
///
/// fn without_a_past(record: TaskRecord, call: Vec<u8>) -> NewTask {
///     NewTask { record, call, entries: None }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a store keeps each of its members")]
pub struct NewTask {
    /// Its record.
    pub record: TaskRecord,
    /// What was called, and by which client.
    pub call: Vec<u8>,
    /// What its flow knows already.
    pub entries: Option<Vec<u8>>,
}

/// How much may be there before a task is created.
///
/// ```
/// use mrtr_tasks::store::Limits;
///
/// let limits = Limits { open: 1000, bytes: 64 * 1024 * 1024, ..Limits::NONE };
/// # let _ = limits;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a store checks each of its members")]
pub struct Limits {
    /// How many tasks of its owner may be open, it included: they have not ended, and their time is not over.
    pub open: usize,
    /// How many bytes all tasks of its owner may keep, it included. See [`TASK_BYTES`].
    pub bytes: u64,
    /// How many bytes all tasks of the store may keep, it included.
    pub store_bytes: u64,
}

impl Limits {
    /// No limits at all.
    pub const NONE: Self = Self { open: usize::MAX, bytes: u64::MAX, store_bytes: u64::MAX };

    /// For stores: checks that a task which keeps so many bytes may come to those that its owner has, and all have.
    ///
    /// ```
    /// use mrtr_tasks::store::Limits;
    ///
    /// let limits = Limits { bytes: 4096, ..Limits::NONE };
    /// assert!(limits.check_bytes(1024, (3072, 9999)).is_ok());
    /// assert!(limits.check_bytes(1025, (3072, 9999)).is_err());
    /// ```
    pub fn check_bytes(self, new: u64, (of_owner, of_all): (u64, u64)) -> Result<(), StoreError> {
        if of_owner.saturating_add(new) > self.bytes {
            return Err(StoreError::OwnerBytes);
        }
        if of_all.saturating_add(new) > self.store_bytes {
            return Err(StoreError::StoreBytes);
        }
        Ok(())
    }
}

/// For stores: what a task keeps besides the bytes that it was given, such as its record, indexes and its last message.
///
/// A task keeps this, its call, its entries, and the bodies of all questions that it has opened; once it has ended, this
/// and its result. A store knows the number for each owner and for all, by what it adds and takes away with each write,
/// so it never drifts from what is kept. Of a task that is open it may leave out [`UNCOUNTED_BYTES`].
///
/// ```
/// use mrtr_tasks::store::TASK_BYTES;
///
/// assert_eq!(TASK_BYTES, 1024);
/// ```
pub const TASK_BYTES: u64 = 1024;

/// For stores: of what an open task has come to keep since its creation, so much less than this need not be counted for
/// its owner and for all, since a store may have to do so in a place that many write to.
///
/// ```
/// use mrtr_tasks::store::UNCOUNTED_BYTES;
///
/// assert_eq!(UNCOUNTED_BYTES, 32 * 1024);
/// ```
pub const UNCOUNTED_BYTES: u64 = 32 * 1024;

/// What became of a task to be kept.
///
/// ```
/// use mrtr_tasks::store::Created;
///
/// fn id(created: &Created) -> String {
///     created.record.id.to_string()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store tells")]
pub struct Created {
    /// The task that the owner now has for this flow.
    pub record: TaskRecord,
    /// Whether it is the new one.
    pub is_new: bool,
}

/// Which work a runner wants.
///
/// ```
/// use std::time::Duration;
/// use mrtr_tasks::store::{Trials, Turns, Wanted};
///
/// let lease = Duration::from_secs(30);
/// let wanted = Wanted {
///     tools: vec!["index".into()],
///     lease,
///     most: 4,
///     trials: Trials::Idle,
///     running: Vec::new(),
///     turns: Turns::default(),
/// };
/// # drop(wanted);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store is asked")]
pub struct Wanted {
    /// The tools that its instance serves.
    pub tools: Vec<String>,
    /// For how long it has each task, unless it renews that: a millisecond at least, since a lease that is over at once
    /// would have the task taken again in the same breath.
    pub lease: Duration,
    /// How many at most.
    pub most: usize,
    /// How it stands to tasks on trial.
    pub trials: Trials,
    /// What runs in this instance: it is left out, though its lease may be over, for a task never runs beside itself in
    /// one process. How soon there may be more leaves it out too.
    pub running: Vec<TaskId>,
    /// Whose turn it is, and who has enough: their tasks are left out, and so they are of how soon there may be more.
    pub turns: Turns,
}

/// Work for a runner.
///
/// ```
/// use mrtr_tasks::store::Acquired;
///
/// assert!(Acquired::default().tasks.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store tells")]
pub struct Acquired {
    /// The tasks.
    pub tasks: Vec<AcquiredTask>,
    /// How soon there may be more, if nothing changes before: a run is due, or the lease of one ends, also of those that
    /// were just taken. Nothing is known to be due if there is no such time.
    pub next: Option<Duration>,
    /// Whether a task on trial comes first. A runner that has no run asks for it; another one takes nothing until it has
    /// none.
    pub trial_waits: bool,
    /// Tasks that were set aside: their last runs were lost, and this was noticed now.
    pub set_aside: Vec<TaskId>,
    /// Where turns go on next.
    pub turn: Option<Turn>,
}

/// A task that a runner has, with all that it needs to go on.
///
/// ```
/// use mrtr_tasks::store::AcquiredTask;
///
/// fn bytes(task: &AcquiredTask) -> usize {
///     task.entries.iter().map(Vec::len).sum()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store tells")]
pub struct AcquiredTask {
    /// Its record, with the fence of the run that begins.
    pub record: TaskRecord,
    /// What was called.
    pub call: Vec<u8>,
    /// What its flow knows, in the order in which it was kept.
    pub entries: Vec<Vec<u8>>,
    /// The questions that are open.
    pub open: Vec<KeptQuestion>,
    /// Keys that it has used and that stand for nothing any more, in no order.
    pub used: Vec<String>,
}

/// The run of a task.
///
/// ```
/// use mrtr_tasks::store::{AcquiredTask, Run};
///
/// fn run(task: &AcquiredTask) -> Run {
///     Run { id: task.record.id, fence: task.record.fence }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a task and a fence make a run")]
pub struct Run {
    /// The task.
    pub id: TaskId,
    /// The fence under which it was acquired.
    pub fence: u64,
}

/// What a run has recorded.
///
/// ```
/// use mrtr_tasks::store::Recorded;
///
/// let step = Recorded { entries: Some(b"sealed".to_vec()), progressed: true, ..Recorded::default() };
/// assert!(step.opened.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a store keeps each of its members")]
pub struct Recorded {
    /// Entries of its journal.
    pub entries: Option<Vec<u8>>,
    /// Questions that are shown from now on.
    pub opened: Vec<KeptQuestion>,
    /// Keys of questions that are not asked any more.
    pub retired: Vec<String>,
    /// Whether there is something in it that was not known before.
    pub progressed: bool,
    /// For how long from now the task must last at least.
    pub lasts: Option<Duration>,
    /// What the flow last said of its progress, if that is new.
    pub message: Option<Vec<u8>>,
}

/// A question that is shown.
///
/// ```
/// use mrtr_tasks::store::KeptQuestion;
///
/// let question = KeptQuestion { key: "name.2".into(), body: b"sealed".to_vec() };
/// # drop(question);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a key and its question")]
pub struct KeptQuestion {
    /// Under which key: a task uses each for one question only.
    pub key: String,
    /// The question.
    pub body: Vec<u8>,
}

/// An answer to be kept.
///
/// ```
/// use mrtr_tasks::store::Answer;
///
/// let answer = Answer { key: "name".into(), entry: b"sealed".to_vec() };
/// # drop(answer);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a key and its answer")]
pub struct Answer {
    /// To which question.
    pub key: String,
    /// The entry that it is in the journal.
    pub entry: Vec<u8>,
}

/// A task, as it is shown.
///
/// ```
/// use mrtr_tasks::store::KeptTask;
///
/// fn asks(task: &KeptTask) -> bool {
///     !task.open.is_empty()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store tells")]
pub struct KeptTask {
    /// Its record.
    pub record: TaskRecord,
    /// The time at which it was read.
    pub now: Timestamp,
    /// The questions that are open.
    pub open: Vec<KeptQuestion>,
    /// What its flow last said of its progress.
    pub message: Option<Vec<u8>>,
    /// What came of it, if it completed or failed by an error.
    pub result: Option<Vec<u8>>,
}

/// A place in the order of creation.
///
/// ```
/// use mrtr_tasks::store::Place;
///
/// assert!(Place(7) < Place(8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a number")]
pub struct Place(pub u64);

/// A task in a list.
///
/// ```
/// use mrtr_tasks::store::{Listed, Place};
///
/// fn last(list: &[Listed]) -> Option<Place> {
///     list.last().map(|task| task.place)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store tells")]
pub struct Listed {
    /// Its place in the order of creation.
    pub place: Place,
    /// Its record.
    pub record: TaskRecord,
}

/// What a sweep did.
///
/// ```
/// use mrtr_tasks::store::Swept;
///
/// assert_eq!(Swept::default().expired, 0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two numbers")]
pub struct Swept {
    /// How many tasks were ended, since their time was over.
    pub expired: usize,
    /// How many were removed.
    pub removed: usize,
}

/// A place in the order of changes, which only its store understands.
///
/// ```
/// use mrtr_tasks::store::Cursor;
///
/// assert_eq!(Cursor(3), Cursor(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a number")]
pub struct Cursor(pub u64);

/// Which tasks have changed.
///
/// ```
/// use mrtr_tasks::store::{Changed, Changes, Cursor};
///
/// let changes = Changes { changed: Changed::Many, until: Cursor(7) };
/// # drop(changes);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store tells")]
pub struct Changes {
    /// The tasks.
    pub changed: Changed,
    /// The place up to which this goes.
    pub until: Cursor,
}

/// Tasks that have changed.
///
/// ```
/// use mrtr_tasks::store::Changed;
///
/// assert_ne!(Changed::Many, Changed::These(Vec::new()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a store can name them, or cannot")]
pub enum Changed {
    /// These.
    These(Vec<TaskId>),
    /// So many, or so long ago, that any may have changed.
    Many,
}

/// Why a store did not do what it was asked to.
///
/// ```
/// use mrtr_tasks::store::StoreError;
///
/// assert_eq!(StoreError::NotFound.to_string(), "there is no such task");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such task, or it is another owner's.
    #[error("there is no such task")]
    NotFound,
    /// Where it stands, this does not happen to it.
    #[error(transparent)]
    Refused(#[from] TransitionError),
    /// Its owner has as many tasks as it may.
    #[error("the owner has as many open tasks as it may")]
    Full,
    /// Its owner's tasks keep as many bytes as they may.
    #[error("the owner's tasks keep as many bytes as they may")]
    OwnerBytes,
    /// All tasks of the store keep as many bytes as they may.
    #[error("the tasks of the store keep as many bytes as they may")]
    StoreBytes,
    /// The task has used this key before.
    #[error("the task has used the key `{0}` before")]
    KeyUsed(String),
    /// The store has more to do than it can, and has not begun with this: it is worth another try soon.
    #[error("the store of tasks is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The store itself failed. Whether the verb was carried out is not known.
    #[error("the store of tasks failed")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}

/// A flow and its owner, of which there is one task.
pub(crate) type FlowKey = (Owner, FlowId);
