//! How a server runs tasks: limits and times, with their defaults.

use std::time::Duration;

/// How a server runs tasks.
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
    pub(crate) entry_limit: usize,
    pub(crate) journal_limit: usize,
    pub(crate) most_open: usize,
    pub(crate) most_blocked: usize,
    pub(crate) request_state: bool,
}

impl Default for TaskOptions {
    /// 16 workers, a lease of 30 s, a ttl of a day and at most a week, an hour of retention, polls each second, 256 KiB
    /// an entry, 4 MiB a journal, 1,000 open tasks and 16 blocked requests a caller.
    fn default() -> Self {
        Self {
            workers: 16,
            lease: Duration::from_secs(30),
            ttl: Duration::from_hours(24),
            longest_ttl: Some(Duration::from_hours(7 * 24)),
            retention: Duration::from_hours(1),
            poll_interval: Duration::from_secs(1),
            look_interval: Duration::from_secs(1),
            grace: Duration::from_secs(10),
            entry_limit: 256 * 1024,
            journal_limit: 4 * 1024 * 1024,
            most_open: 1_000,
            most_blocked: 16,
            request_state: false,
        }
    }
}

impl TaskOptions {
    /// Runs at most so many tasks at once on this instance.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Lets others take a task over when its instance has not been heard of for this long.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Keeps tasks for the first of these after their creation, unless the client wishes otherwise, and never longer
    /// than the second. A question that waits longer keeps its task for longer.
    #[must_use]
    pub fn ttl(mut self, usual: Duration, longest: Duration) -> Self {
        (self.ttl, self.longest_ttl) = (usual, Some(longest));
        self
    }

    /// Lets a client wish for a task without an end.
    #[must_use]
    pub fn unlimited_ttl(mut self) -> Self {
        self.longest_ttl = None;
        self
    }

    /// Keeps what came of a task for at least this long after its end.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Asks clients to wait this long between two polls.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Looks at least this often for work that another instance left.
    #[must_use]
    pub fn look_interval(mut self, interval: Duration) -> Self {
        self.look_interval = interval;
        self
    }

    /// Waits at most this long for the steps of a run that is stopped.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Lets an entry and a whole journal have at most so many bytes.
    #[must_use]
    pub fn limits(mut self, entry: usize, journal: usize) -> Self {
        (self.entry_limit, self.journal_limit) = (entry, journal);
        self
    }

    /// Lets a caller have at most so many tasks that have not ended.
    #[must_use]
    pub fn most_open(mut self, tasks: usize) -> Self {
        self.most_open = tasks;
        self
    }

    /// Lets a caller wait for at most so many results at once.
    #[must_use]
    pub fn most_blocked(mut self, requests: usize) -> Self {
        self.most_blocked = requests;
        self
    }

    /// Sends a state with what a task asks, in revisions in which `tasks/input_response` may bring it back (TK-19).
    #[must_use]
    pub fn request_state(mut self) -> Self {
        self.request_state = true;
        self
    }

    /// For how long a task is kept whose client wishes this.
    pub(crate) fn granted(&self, wish: Wish) -> Option<Duration> {
        match (wish, self.longest_ttl) {
            (Wish::None, _) => Some(self.ttl),
            (Wish::For(wish), longest) => Some(longest.map_or(wish, |longest| wish.min(longest))),
            (Wish::Unlimited, longest) => longest,
        }
    }
}

/// For how long a client wishes its task to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    None,
    For(Duration),
    Unlimited,
}
