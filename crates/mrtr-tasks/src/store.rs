//! The store of tasks: a few verbs over plain records and sealed bytes.

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
/// bytes that come with the verb: all of it or nothing, and in one order with every other verb on this task. A crash of
/// the process does not lose what a verb has acknowledged. Nothing has to be atomic across tasks.
///
/// All times are the store's, so that instances whose clocks differ agree: leases and pauses are durations that it adds
/// to its own time. The bytes come here sealed, unless the operator did without; a store does not look into them.
///
/// [`contract::check`](crate::contract::check) (feature `contract`) tests all of this. A wrong `Ok` comes from a
/// verb that had to refuse, or that has not done its work; each verb says what it costs.
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
    /// Returns the store's time, by which all verbs go.
    async fn now(&self) -> Result<Timestamp, StoreError>;

    /// Returns the number of bytes that all tasks may keep, unless [the operator](crate::TaskOptions::kept_bytes) says
    /// otherwise: 1 GiB.
    fn usual_bytes(&self) -> u64 {
        TaskOptions::DEFAULT_STORE_BYTES
    }

    /// Returns true if what is kept outlives this process, unless the operator removes it. True by default. If it does
    /// and the server's keys do not, the log warns that tasks are stored unsealed.
    fn outlives_process(&self) -> bool {
        true
    }

    /// Keeps a new task, unless its owner has one for this flow: then it returns that one. The new one is stamped with
    /// the store's time.
    ///
    /// Refuses the task if its [account](crate::Account) or the store already has as much as it may. Tasks whose time
    /// is over are not open, whether or not a sweep has noticed: the store ends some of the account's here if they are
    /// in the way. Concurrent creations may go beyond the limits by what they bring themselves.
    ///
    /// A wrong `Ok` loses a task whose handle a client has.
    async fn create(&self, task: NewTask, limits: Limits) -> Result<Created, StoreError>;

    /// Takes at most [`most`](Wanted::most) tasks of the wanted tools, whose runs are due or were lost. Accounts come
    /// in turns, from the one whose turn it is, at most 64 ([`ACCOUNTS_AT_ONCE`]) of them; of each account, the tasks
    /// that waited longest come first. Each task gets a new fence. A task on trial is taken by itself, and only when
    /// [`Wanted::choose`] says so.
    ///
    /// A task whose time is over is not due, whether or not a sweep has noticed. It is in the way of its own account's
    /// tasks only: where [too many](EXPIRED_PASSED_OVER) are, the store ends some here, and there may be more to take
    /// at once.
    ///
    /// A task given to two runners under one fence runs twice.
    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError>;

    /// Renews the lease of a run that still has its task. Without a message, [`changed`](Self::changed) does not tell
    /// of it.
    ///
    /// A wrong `Ok` lets two runs of the task continue at the same time.
    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError>;

    /// Makes a keeper, which renews leases from a thread outside of any async runtime, so that it continues while every
    /// runtime of the process is blocked.
    fn lease_keeper(&self) -> Box<dyn LeaseKeeper>;

    /// Notes that something else begins in the process of the run: if the run is lost, that need not be its own doing.
    /// [`changed`](Self::changed) does not tell of it.
    ///
    /// A wrong `Ok` sets aside a task that did nothing wrong.
    async fn accompany(&self, run: Run) -> Result<(), StoreError>;

    /// Keeps entries of the run, the questions that they open, and those that they retire. It refuses a key that the
    /// task has used before with [`StoreError::KeyUsed`].
    ///
    /// A wrong `Ok` repeats an effect, or shows a question whose answer is lost.
    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError>;

    /// Replaces the first `first` entries with these, which say as much as those did. If the task has no entries any
    /// more, nothing changes. Entries that came since the task was acquired stay behind them.
    ///
    /// A wrong `Ok` costs room. If a store replaces other entries than the first ones, an answer is lost.
    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError>;

    /// Ends a run that misses something, such as an answer: keeps what it recorded last, and gives the task up.
    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError>;

    /// Gives the task up, for another run to continue after a pause.
    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError>;

    /// Ends the task as its run says: keeps the result, and erases the task's entries and questions.
    ///
    /// A wrong `Ok` loses a result, or gives a client a result of a task that it was told is cancelled.
    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError>;

    /// Keeps answers to open questions, as entries, and makes the task run. Answers to other keys change nothing.
    /// Returns the keys that were answered: of two answers to one key, the first counts.
    ///
    /// A wrong `Ok` loses an answer that a person gave.
    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError>;

    /// Asks a question again under a fresh key, since an answer to it under this key was refused. Returns whether this
    /// key was still open. It refuses a fresh key that the task has used before with [`StoreError::KeyUsed`].
    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError>;

    /// Makes the task run, since something outside has happened that its flow may wait for.
    async fn wake(&self, id: TaskId) -> Result<(), StoreError>;

    /// Ends the task unless it has ended, and erases its entries and questions. For the operator, `owner` is `None`.
    ///
    /// A wrong `Ok` lets a task continue though a client was told that it is cancelled.
    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError>;

    /// Makes the task run, even if many of its runs were lost or it is set aside.
    async fn retry(&self, id: TaskId) -> Result<(), StoreError>;

    /// Returns a task with its open questions and its result. For the operator, `owner` is `None`.
    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError>;

    /// Returns the records of those of these tasks that exist, in no order. The store does not read them on a thread of
    /// a runtime.
    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError>;

    /// Lists tasks in the order of their creation, after a place in that order. For the operator, `owner` is `None`.
    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError>;

    /// Ends tasks whose time is over and removes those that are not kept any longer, at most `most` of each.
    async fn sweep(&self, most: usize) -> Result<Swept, StoreError>;

    /// Returns the present place in the order of changes: [`changed`](Self::changed) tells what comes after.
    async fn cursor(&self) -> Result<Cursor, StoreError>;

    /// Waits until any instance has changed tasks after this place, and returns those tasks. The answer is a hint: it
    /// may name a task twice, or one that has not changed, but it leaves none out.
    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError>;
}

/// Renews the leases of many runs at once, and blocks its thread meanwhile. It must not be used on a thread of a
/// runtime, and needs no runtime: a store whose verbs need one gives its keeper what it needs instead.
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
    /// Renews the leases of these runs, and returns for each, in their order, what [`TaskStore::renew`] would. It
    /// returns in bounded time, even if the store does not answer.
    ///
    /// A wrong `Ok` lets two runs of the task continue at the same time.
    fn renew(&mut self, runs: &[Run], lease: Duration) -> Vec<Result<(), StoreError>>;
}

/// A new task for a store to keep.
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
    /// The call, and the client that made it.
    pub call: Vec<u8>,
    /// The journal entries that its flow has already.
    pub entries: Option<Vec<u8>>,
}

/// The limits that a store checks before it creates a task.
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
    /// The number of tasks of the account that may be open, the new one included: they have not ended, and their time
    /// is not over.
    pub open: usize,
    /// The number of bytes that all tasks of the account may keep, the new one included. See [`TASK_BYTES`].
    pub bytes: u64,
    /// The number of bytes that all tasks of the store may keep, the new one included.
    pub store_bytes: u64,
}

impl Limits {
    /// No limits at all.
    pub const NONE: Self = Self { open: usize::MAX, bytes: u64::MAX, store_bytes: u64::MAX };

    /// For stores: checks that a new task of this many bytes fits, beside the bytes that the tasks of its account and
    /// all tasks keep.
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

/// For stores: the bytes that a task keeps besides those that it was given, such as for its record, indexes and last
/// message.
///
/// A task keeps this, its call, its entries, and the bodies of all questions that it has opened; once it has ended,
/// this and its result. A store knows the number for each account and for all, by what it adds and takes away with each
/// write, so it never drifts from what is kept. For an open task it may leave out [`UNCOUNTED_BYTES`].
///
/// ```
/// use mrtr_tasks::store::TASK_BYTES;
///
/// assert_eq!(TASK_BYTES, 1024);
/// ```
pub const TASK_BYTES: u64 = 1024;

/// For stores: the bytes that an open task may come to keep, since its creation, before they must count for its account
/// and for all. A store may have to count in a place that many write to, so it need not count less than this.
///
/// ```
/// use mrtr_tasks::store::UNCOUNTED_BYTES;
///
/// assert_eq!(UNCOUNTED_BYTES, 32 * 1024);
/// ```
pub const UNCOUNTED_BYTES: u64 = 32 * 1024;

/// The outcome of the creation of a task.
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
    /// True if this call created the task; false if the owner had it before.
    pub is_new: bool,
}

/// The work that a runner wants.
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
    /// The time for which the runner has each task, unless it renews the lease: a millisecond at least, since a task
    /// whose lease is over at once would be taken again at once.
    pub lease: Duration,
    /// The largest number of tasks.
    pub most: usize,
    /// The way in which it treats tasks on trial.
    pub trials: Trials,
    /// The tasks that run in this instance. The store leaves them out even if their leases are over, since a task never
    /// runs beside itself in one process. [`Acquired::next`] leaves them out too.
    pub running: Vec<TaskId>,
    /// The turns over accounts. The store leaves out the tasks of accounts that have enough, and so does
    /// [`Acquired::next`].
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
    /// The time after which there may be more, if nothing changes before: a run is due, or the lease of one ends, those
    /// that were just taken included. `None` if nothing is known to be due.
    pub next: Option<Duration>,
    /// True if a task on trial comes first. A runner that has no run asks for it; any other runner takes nothing until
    /// it has none.
    pub trial_waits: bool,
    /// Tasks that the store has just set aside: their last runs were lost.
    pub set_aside: Vec<TaskId>,
    /// The place where turns continue next.
    pub turn: Option<Turn>,
}

/// A task that a runner has, with all that it needs to continue.
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
    /// The call, and the client that made it.
    pub call: Vec<u8>,
    /// The entries that its flow has, in the order in which they were kept.
    pub entries: Vec<Vec<u8>>,
    /// The questions that are open.
    pub open: Vec<KeptQuestion>,
    /// Keys that it has used for questions that are not open any more, in no order.
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

/// The entries, questions and progress that a run has recorded.
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
    /// True if something in it was not known before.
    pub progressed: bool,
    /// The least time for which the task must last from now on.
    pub lasts: Option<Duration>,
    /// The last progress message of the flow, if it is new.
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
    /// The key of the question: a task uses each key for one question only.
    pub key: String,
    /// The question.
    pub body: Vec<u8>,
}

/// An answer for a store to keep.
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
    /// The key of its question.
    pub key: String,
    /// Its entry in the journal.
    pub entry: Vec<u8>,
}

/// A task as a store returns it.
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
    /// The last progress message of its flow.
    pub message: Option<Vec<u8>>,
    /// Its result, or the error that it failed with.
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

/// The outcome of a sweep.
///
/// ```
/// use mrtr_tasks::store::Swept;
///
/// assert_eq!(Swept::default().expired, 0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two numbers")]
pub struct Swept {
    /// The number of tasks that the sweep ended, since their time was over.
    pub expired: usize,
    /// The number of tasks that the sweep removed.
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

/// The tasks that have changed, up to a place in the order of changes.
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
    /// These tasks.
    These(Vec<TaskId>),
    /// More tasks than the store names, or changes too long ago: any task may have changed.
    Many,
}

/// The reason why a store did not do what it was asked to.
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
    /// The task does not allow this in its present state.
    #[error(transparent)]
    Refused(#[from] TransitionError),
    /// The account of the owner has reached the limit of open tasks.
    #[error("the owner has reached the limit of open tasks")]
    Full,
    /// The tasks of the owner's account keep as many bytes as they may.
    #[error("the owner's tasks have reached the limit of bytes")]
    OwnerBytes,
    /// All tasks of the store keep as many bytes as they may.
    #[error("the tasks of the store have reached the limit of bytes")]
    StoreBytes,
    /// The task has used this key before.
    #[error("the task has used the key `{0}` before")]
    KeyUsed(String),
    /// The store has more to do than it can, and has not begun with this: another try soon may succeed.
    #[error("the store of tasks is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The store itself failed. It is not known whether the verb was carried out.
    #[error("the store of tasks failed")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}

/// A flow and its owner, of which there is one task.
pub(crate) type FlowKey = (Owner, FlowId);
