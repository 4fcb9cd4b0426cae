//! The course of a flow: how far it has come, how long it and its states live, and what a round of it is sealed with.

use std::time::Duration;

use crate::{FlowId, Timestamp};

/// A flow's place in time: the same from its first round to its last, the round number aside.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::{Sealer, Timestamp};
///
/// let noon = Timestamp::from_millis(1_785_240_000_000);
/// let flow = Sealer::this_process_only().begin(noon);
/// assert_eq!((flow.round(), flow.started()), (1, noon));
/// let in_a_week = noon + Duration::from_hours(7 * 24);
/// assert_eq!(flow.lasting_until(in_a_week).ends(), in_a_week);
/// assert_eq!(flow.lasting_until(noon).ends(), flow.ends(), "never earlier");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowProgress {
    pub(crate) flow: FlowId,
    pub(crate) started: Timestamp,
    pub(crate) ends: Timestamp,
    pub(crate) round: u32,
}

impl FlowProgress {
    /// Restores a flow that was kept, to go on from there: for a server that stores flows rather than sealing them.
    ///
    /// ```
    /// use mrtr_state::{FlowId, FlowProgress, Sealer, Timestamp};
    ///
    /// let begun = Sealer::this_process_only().begin(Timestamp::from_millis(1_785_240_000_000));
    /// let kept = *begun.flow().as_bytes();
    /// let flow = FlowId::from_bytes(kept);
    /// assert_eq!(FlowProgress::restore(flow, begun.started(), begun.ends(), begun.round()), begun);
    /// ```
    pub fn restore(flow: FlowId, started: Timestamp, ends: Timestamp, round: u32) -> Self {
        Self { flow, started, ends, round }
    }

    /// The id of the flow.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// The time of its first round.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// The time from which none of its states opens any more.
    pub fn ends(&self) -> Timestamp {
        self.ends
    }

    /// The round, counted from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Gives the flow a later end, for a question that may take longer than flows usually last.
    #[must_use]
    pub fn lasting_until(self, end: Timestamp) -> Self {
        Self { ends: self.ends.max(end), ..self }
    }

    pub(crate) fn next_round(self) -> Self {
        Self { round: self.round.saturating_add(1), ..self }
    }
}

/// Options for sealing a state: its round, the version of its handler, and how long it opens.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::{Sealer, SealOptions, Timestamp};
///
/// let now = Timestamp::from_millis(1_785_240_000_000);
/// let sealer = Sealer::this_process_only();
/// let options = SealOptions::new(sealer.begin(now)).handler_version("2").valid_for(Duration::from_secs(600));
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SealOptions<'a> {
    pub(crate) progress: FlowProgress,
    pub(crate) handler_version: &'a str,
    pub(crate) valid_for: Option<Duration>,
}

impl<'a> SealOptions<'a> {
    /// Makes options for this round of this flow.
    pub fn new(progress: FlowProgress) -> Self {
        Self { progress, handler_version: "", valid_for: None }
    }

    /// Notes the version of the handler that seals: a fact for the log, never checked.
    #[must_use]
    pub fn handler_version(mut self, version: &'a str) -> Self {
        self.handler_version = version;
        self
    }

    /// Lets the state open for this long, whatever the sealer's lifetimes say, but not past the end of the flow.
    #[must_use]
    pub fn valid_for(mut self, duration: Duration) -> Self {
        self.valid_for = Some(duration);
        self
    }
}

/// The time by which another instance's clock may be ahead: a state from further in the future is refused.
///
/// ```
/// use mrtr_state::{ALLOWED_SKEW, Refusal};
///
#[doc = include_str!("../doc/sealing.txt")]
/// let ahead = sealer.seal(&cart, &binding, noon + ALLOWED_SKEW)?;
/// assert!(sealer.open::<Cart>(&ahead, &binding, noon).is_ok());
/// let further = sealer.seal(&cart, &binding, noon + 2 * ALLOWED_SKEW)?;
/// assert_eq!(sealer.open::<Cart>(&further, &binding, noon).unwrap_err(), Refusal::FromTheFuture);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const ALLOWED_SKEW: Duration = Duration::from_mins(1);

/// The lifetimes of states and flows.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::Lifetimes;
///
/// let overnight = Lifetimes { round: Duration::from_hours(12), ..Lifetimes::default() };
/// assert_eq!(overnight.rounds, 32);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "settings are written as a literal over the default")]
pub struct Lifetimes {
    /// The time a client may take to come back with a state. One hour by default.
    pub round: Duration,
    /// The time a flow may last from its first round. 24 hours by default.
    pub flow: Duration,
    /// The number of rounds a flow may have. 32 by default.
    pub rounds: u32,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { round: Duration::from_hours(1), flow: Duration::from_hours(24), rounds: 32 }
    }
}

impl Lifetimes {
    /// The time at which a state issued now stops opening, in a flow with this end.
    pub(crate) fn expiry(&self, ends: Timestamp, now: Timestamp) -> Timestamp {
        ends.min(now + self.round)
    }
}
