//! Options for tasks: limits and times, with their defaults.

use std::time::Duration;

use mrtr_schema::tasks::Lifetime;

/// Options for how a server runs tasks.
///
/// ```
/// use std::time::Duration;
/// use mrtr_tasks::TaskOptions;
///
/// let options = TaskOptions::default().workers(4).ttl(Duration::from_secs(60), Duration::from_secs(3600));
/// # drop(options);
/// ```
#[derive(Debug, Clone)]
pub struct TaskOptions {
    pub(crate) workers: usize,
    pub(crate) lease: Duration,
    pub(crate) ttl: Duration,
    pub(crate) longest_ttl: Option<Duration>,
    pub(crate) retention: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) look_interval: Duration,
    pub(crate) grace: Duration,
    pub(crate) run_deadline: Duration,
    pub(crate) entry_limit: usize,
    pub(crate) journal_limit: usize,
    pub(crate) most_open: usize,
    pub(crate) most_bytes: u64,
    pub(crate) most_store_bytes: Option<u64>,
    pub(crate) most_blocked: usize,
    pub(crate) request_state: bool,
}

impl Default for TaskOptions {
    /// The defaults that `docs/DEFAULTS.md` lists.
    fn default() -> Self {
        Self {
            workers: Self::DEFAULT_WORKERS,
            lease: Self::DEFAULT_LEASE,
            ttl: Self::DEFAULT_TTL,
            longest_ttl: Some(Self::DEFAULT_LONGEST_TTL),
            retention: Self::DEFAULT_RETENTION,
            poll_interval: Self::DEFAULT_POLL_INTERVAL,
            look_interval: Self::DEFAULT_LOOK_INTERVAL,
            grace: Self::DEFAULT_GRACE,
            run_deadline: Self::DEFAULT_RUN_DEADLINE,
            entry_limit: Self::DEFAULT_ENTRY_LIMIT,
            journal_limit: Self::DEFAULT_JOURNAL_LIMIT,
            most_open: Self::DEFAULT_MOST_OPEN,
            most_bytes: Self::DEFAULT_MOST_BYTES,
            most_store_bytes: None,
            most_blocked: Self::DEFAULT_MOST_BLOCKED,
            request_state: false,
        }
    }
}

impl TaskOptions {
    /// The number of tasks that an instance runs at once: 64.
    pub const DEFAULT_WORKERS: usize = 64;
    /// The time without a renewal of the lease after which others take a task over: 30 seconds.
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);
    /// The time for which the server keeps a task whose client has no wish: 24 hours.
    pub const DEFAULT_TTL: Duration = Duration::from_hours(24);
    /// The longest time that a client may wish for: 168 hours, which is a week.
    pub const DEFAULT_LONGEST_TTL: Duration = Duration::from_hours(7 * 24);
    /// The least time for which the server keeps the result of a task: an hour.
    pub const DEFAULT_RETENTION: Duration = Duration::from_hours(1);
    /// The time that clients are asked to wait between two polls: a second.
    pub const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
    /// The longest time after which an instance looks for work again: a second.
    pub const DEFAULT_LOOK_INTERVAL: Duration = Duration::from_secs(1);
    /// The time that the steps of a run that is stopped may take: 10 seconds.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);
    /// The time that a run of a task may take, from one question or yield point to the next: an hour.
    pub const DEFAULT_RUN_DEADLINE: Duration = Duration::from_hours(1);
    /// The largest size of an entry in a journal: 256 KiB.
    pub const DEFAULT_ENTRY_LIMIT: usize = 256 * 1024;
    /// The largest size of a journal: 4 MiB.
    pub const DEFAULT_JOURNAL_LIMIT: usize = 4 * 1024 * 1024;
    /// The number of open tasks that a caller may have: 1000.
    pub const DEFAULT_MOST_OPEN: usize = 1000;
    /// The number of bytes that the tasks of a caller may keep: 64 MiB. Beyond it the server refuses a new task.
    pub const DEFAULT_MOST_BYTES: u64 = 64 * 1024 * 1024;
    /// The number of bytes that the tasks of a file or a database may keep: 1 GiB. Beyond it the server refuses a new
    /// task.
    pub const DEFAULT_STORE_BYTES: u64 = 1024 * 1024 * 1024;
    /// The number of bytes that tasks in memory may keep: 256 MiB. Beyond it the server refuses a new task.
    pub const DEFAULT_MEMORY_BYTES: u64 = 256 * 1024 * 1024;
    /// The number of results that a caller may wait for at once: 16.
    pub const DEFAULT_MOST_BLOCKED: usize = 16;

    /// Runs at most this many tasks at once on this instance. The last quarter of them is for callers that run few: of
    /// 16, one caller has 12 at most.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Lets another instance take a task over when its own has not renewed the lease for this long, a year at most.
    ///
    /// Instances that share a store may have leases of different lengths up to five minutes. Longer leases must be
    /// equal on all of them: an instance with a shorter lease would mistake a longer one for the effect of a clock that
    /// was set back.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.min(YEAR);
        self
    }

    /// Keeps tasks for the `usual` time after their creation, unless the client wishes otherwise, and never longer than
    /// the `longest` time. A question that waits longer keeps its task for longer.
    #[must_use]
    pub fn ttl(mut self, usual: Duration, longest: Duration) -> Self {
        (self.ttl, self.longest_ttl) = (usual, Some(longest));
        self
    }

    /// Lets a client wish for a task that is kept without a limit.
    #[must_use]
    pub fn unlimited_ttl(mut self) -> Self {
        self.longest_ttl = None;
        self
    }

    /// Keeps the result of a task for at least this long after its end.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Asks clients to wait this long between two polls, a year at most.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval.min(YEAR);
        self
    }

    /// Looks at least this often for work that another instance left.
    #[must_use]
    pub fn look_interval(mut self, interval: Duration) -> Self {
        self.look_interval = interval.min(YEAR);
        self
    }

    /// Waits at most this long for the steps of a run that is stopped.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Ends a run that takes longer than this, with an error that names the deadline and what the run waited for. A
    /// tool that takes longer says so itself ([`Tool::run_deadline`](mrtr_server::Tool::run_deadline)). Time in which
    /// the task waits for a client does not count.
    #[must_use]
    pub fn run_deadline(mut self, limit: Duration) -> Self {
        self.run_deadline = limit;
        self
    }

    /// Limits the bytes of an entry and of a whole journal.
    #[must_use]
    pub fn limits(mut self, entry: usize, journal: usize) -> Self {
        (self.entry_limit, self.journal_limit) = (entry, journal);
        self
    }

    /// Lets a caller have at most this many open tasks: those that have not ended and whose time is not over.
    #[must_use]
    pub fn most_open(mut self, tasks: usize) -> Self {
        self.most_open = tasks;
        self
    }

    /// Limits the bytes that the tasks of a caller keep, and those that the tasks of the whole store keep. Beyond
    /// either limit the server refuses a call that is to become a task. Without this, a store has its own
    /// [limit](crate::TaskStore::usual_bytes).
    ///
    /// Arguments, journals, questions and results count, and 1 KiB more for each task. A task that was created may
    /// always record and end, so open tasks may go beyond the limits by what they record.
    ///
    /// ```
    /// use mrtr_tasks::TaskOptions;
    ///
    /// let options = TaskOptions::default().kept_bytes(256 * 1024 * 1024, 16 * 1024 * 1024 * 1024);
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn kept_bytes(mut self, caller: u64, store: u64) -> Self {
        (self.most_bytes, self.most_store_bytes) = (caller, Some(store));
        self
    }

    /// Lets a caller wait for at most this many results at once.
    #[must_use]
    pub fn most_blocked(mut self, requests: usize) -> Self {
        self.most_blocked = requests;
        self
    }

    /// Sends a state with the questions of a task, in revisions in which `tasks/input_response` may bring it back
    /// (TK-19).
    #[must_use]
    pub fn request_state(mut self) -> Self {
        self.request_state = true;
        self
    }

    /// Returns the time for which a task is kept, by the wish of its client; `None` if there is no limit.
    pub(crate) fn granted(&self, wish: Option<Lifetime>) -> Option<Duration> {
        match wish {
            None => Some(self.ttl),
            Some(Lifetime::Milliseconds(wish)) => {
                let wish = Duration::from_millis(wish);
                Some(self.longest_ttl.map_or(wish, |longest| wish.min(longest)))
            }
            Some(Lifetime::Unlimited) => self.longest_ttl,
        }
    }
}

/// The longest time that a timer may have: a moment plus this must not go past the end of time.
const YEAR: Duration = Duration::from_hours(24 * 365);
