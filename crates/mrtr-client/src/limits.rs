//! How far a call may go before its client gives it back, and how much of a server's words a client keeps.

use std::time::Duration;

/// How far a call may go before its client gives it back, and how much of a server's words a client keeps.
///
/// ```
/// use std::time::Duration;
/// use mrtr_client::Limits;
///
/// let patient = Limits { rounds: 50, gathering: Some(Duration::from_secs(3600)), ..Limits::default() };
/// assert_eq!(patient.state_only_rounds, 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "settings are written as a literal over the default")]
pub struct Limits {
    /// How many requests a call may send, those that bring nothing new aside. 10 by default.
    pub rounds: u32,
    /// How many replies in a row may carry a state and ask nothing, or say that the server is busy. 8 by default.
    pub state_only_rounds: u32,
    /// How long to wait after the first reply that asks nothing; it doubles each time up to half a minute, and varies
    /// by half. 100 ms by default. A server that says how long it wants to be left alone is left alone, for up to an
    /// hour.
    pub backoff: Duration,
    /// How long to wait before a URL is shown that was shown in the round before: what it is for is not done yet. It
    /// doubles each time up to half a minute, and varies by as much as a half. One second by default.
    pub url_pause: Duration,
    /// How long one exchange with the server may take. Two minutes by default.
    pub exchange: Duration,
    /// How long to wait for the answer to a probe, over stdio, before the server is taken to be of the legacy era: some
    /// of those say nothing to what they do not understand. An answer that comes later is still heeded, as long as
    /// `initialize` is not answered before it. 5 seconds by default.
    pub probe: Duration,
    /// How long gathering the answers of a round may take. For ever by default: people think.
    pub gathering: Option<Duration>,
    /// The most that a server may ask for in one round. 256 by default. In a session of the legacy era a round lasts as
    /// long as a question is open in it, and all of its questions count, those that are answered among them.
    pub questions: usize,
    /// The longest state that is taken, in bytes. 1 MiB by default.
    pub state_bytes: usize,
    /// The longest reply that is taken, in bytes. 16 MiB by default. In a session of the legacy era also what all
    /// questions of a round take, and the ids of all questions of a call.
    pub reply_bytes: usize,
    /// How long to wait between two polls of a task whose server does not say. One second by default.
    pub poll_interval: Duration,
    /// The shortest time between two polls of a task, whatever its server says. 20 milliseconds by default.
    pub least_poll_interval: Duration,
    /// How often to poll a task. A hundred thousand times by default.
    pub polls: u32,
    /// What may wait, in bytes, for one reader of [`Client::events`](crate::Client::events) that does not read: beyond
    /// it, the oldest are missed, and an event that is longer by itself. 8 MiB by default. Never more than
    /// [`EVENTS`](Self::EVENTS) wait.
    pub event_bytes: usize,
    /// What the results that a server said may be kept take in sum, in bytes, with what was asked for them: beyond it,
    /// nothing more is kept. 64 MiB by default. Never more than [`CACHED_RESULTS`](Self::CACHED_RESULTS) are kept.
    pub cache_bytes: usize,
    /// What all pages of a list may take in sum, in bytes, with their cursors. 16 MiB by default.
    pub list_bytes: usize,
}

impl Limits {
    /// How many events may wait for one reader: 1024.
    pub const EVENTS: usize = 1024;

    /// How many results are kept: 1000. It is more than any server has lists and resources that one client reads.
    pub const CACHED_RESULTS: usize = 1000;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: 10,
            state_only_rounds: 8,
            backoff: Duration::from_millis(100),
            url_pause: Duration::from_secs(1),
            exchange: Duration::from_mins(2),
            probe: Duration::from_secs(5),
            gathering: None,
            questions: 256,
            state_bytes: 1 << 20,
            reply_bytes: 16 << 20,
            poll_interval: Duration::from_secs(1),
            least_poll_interval: Duration::from_millis(20),
            polls: 100_000,
            event_bytes: 8 << 20,
            cache_bytes: 64 << 20,
            list_bytes: 16 << 20,
        }
    }
}
