//! Which flow a state belongs to, and how far the flow has come.

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
    /// A flow that was kept, to go on from there: for a server that stores flows rather than seals them.
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

    /// The flow.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// When its first round was.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// When none of its states opens any more.
    pub fn ends(&self) -> Timestamp {
        self.ends
    }

    /// The round, counted from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// This flow with a later end, for a question that may take longer than flows usually last.
    #[must_use]
    pub fn lasting_until(self, end: Timestamp) -> Self {
        Self { ends: self.ends.max(end), ..self }
    }

    pub(crate) fn next_round(self) -> Self {
        Self { round: self.round.saturating_add(1), ..self }
    }
}
