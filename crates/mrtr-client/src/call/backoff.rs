//! The pauses before retries: longer each time, and not the same for all clients.

use std::time::Duration;

use mrtr_schema::Backoff;

/// The pauses of one call. Time and randomness are the driver's: it gives a seed, and waits.
#[derive(Debug, Clone)]
pub(super) struct Pauses {
    random: fastrand::Rng,
}

impl Pauses {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed) }
    }

    /// Returns the pause of a call that has backed off `times` times before: doubled each time, and no less than the
    /// server wants.
    ///
    /// The pause that the server wants is not varied: the server would refuse a client that came sooner.
    pub(super) fn next(&mut self, first: Duration, times: u32, wanted: Option<Duration>) -> Duration {
        let doubled = Backoff::new(first, MAX_PAUSE).pause(times);
        Backoff::varied(doubled, self.random.u32(..)).max(wanted.unwrap_or_default().min(MAX_WANTED))
    }
}

/// The pause between two polls of a task: what its server wants, within reason, and never less than the caller allows.
pub(super) fn poll_delay(wanted: Option<u64>, otherwise: Duration, least: Duration) -> Duration {
    wanted.map_or(otherwise, |wanted| Duration::from_millis(wanted).min(MAX_WANTED)).max(least)
}

/// The longest pause that this client chooses by itself.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The longest pause that a server can make it take.
const MAX_WANTED: Duration = Duration::from_hours(1);
