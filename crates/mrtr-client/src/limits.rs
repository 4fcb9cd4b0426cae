//! The limits of a client: how far a call may go before the client gives it back, and how many of the server's words it
//! keeps.

use std::time::Duration;

/// The limits of a client: how far a call may go before the client gives it back, and how many of the server's words it
/// keeps.
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
    /// The most requests that a call may send, those that bring nothing new aside. 10 by default; 0 counts as 1.
    pub rounds: u32,
    /// The most replies in a row that carry a state and ask nothing, or say that the server is busy. 8 by default.
    pub state_only_rounds: u32,
    /// The pause after the first reply that asks nothing; it doubles each time up to half a minute, and the client
    /// shortens it at random, at most by half. 100 ms by default. If the server says how long it wants to be left
    /// alone, the client leaves it alone for that long, up to an hour.
    pub backoff: Duration,
    /// The pause before the client shows a URL again that it showed in the round before: the person may need time for
    /// what the URL is for. The pause doubles each time up to half a minute, and the client shortens it at random by as
    /// much as a half. One second by default.
    pub url_pause: Duration,
    /// The longest time that one exchange with the server may take: the server may work this long before it asks or ends,
    /// and reports of progress do not prolong it. Two minutes by default.
    pub exchange: Duration,
    /// The longest wait for the answer to a probe, over stdio. After it, the client takes the server to be of the
    /// legacy era: some of those servers say nothing to what they do not understand. The client still heeds a later
    /// answer, unless `initialize` is answered before it. 5 seconds by default.
    pub probe: Duration,
    /// The longest time that gathering the answers of a round may take. No limit by default: people need time to think.
    pub gathering: Option<Duration>,
    /// The most that a server may ask for in one round. 256 by default. In a session of the legacy era a round lasts as
    /// long as a question is open in it, and all of its questions count, the answered ones too.
    pub questions: usize,
    /// The longest state that is taken, in bytes. 1 MiB by default.
    pub state_bytes: usize,
    /// The longest reply that is taken, in bytes. 16 MiB by default. In a session of the legacy era, it also bounds the
    /// questions of a round together, and the ids of all questions of a call.
    pub reply_bytes: usize,
    /// The pause between two polls of a task whose server does not say. One second by default.
    pub poll_interval: Duration,
    /// The shortest time between two polls of a task, whatever its server says. 20 milliseconds by default.
    pub least_poll_interval: Duration,
    /// The most times that a client may poll a task. A hundred thousand times by default.
    pub polls: u32,
    /// The most bytes of events that wait for one reader of [`Client::events`](crate::Client::events) that does not
    /// read. Beyond it, the reader misses the oldest, and an event that is longer by itself. 8 MiB by default. Never
    /// more than [`EVENTS`](Self::EVENTS) wait.
    pub event_bytes: usize,
    /// The most bytes that kept results take in sum, with what was asked for them; the client keeps a result only if
    /// the server says that it may. Beyond this limit, nothing more is kept. 64 MiB by default. Never more than
    /// [`CACHED_RESULTS`](Self::CACHED_RESULTS) are kept.
    pub cache_bytes: usize,
    /// The most bytes that all pages of a list may take in sum, with their cursors. 16 MiB by default.
    pub list_bytes: usize,
}

impl Limits {
    /// The most events that may wait for one reader: 1024.
    pub const EVENTS: usize = 1024;

    /// At most this many results are kept: 1000. That is more than the lists and resources of a server that one client
    /// reads.
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
