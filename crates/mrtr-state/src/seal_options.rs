//! What a state is sealed with besides its payload and its binding.

use std::time::Duration;

use crate::flow::FlowProgress;

/// What a state is sealed with besides what it is tied to.
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
    /// For this round of this flow.
    pub fn new(progress: FlowProgress) -> Self {
        Self { progress, handler_version: "", valid_for: None }
    }

    /// Sealed by this version of the handler: a fact for the log, never checked.
    #[must_use]
    pub fn handler_version(mut self, version: &'a str) -> Self {
        self.handler_version = version;
        self
    }

    /// Opens for this long, whatever the sealer's lifetimes say; still not past the end of the flow.
    #[must_use]
    pub fn valid_for(mut self, duration: Duration) -> Self {
        self.valid_for = Some(duration);
        self
    }
}
