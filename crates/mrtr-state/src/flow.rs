//! Which flow a state belongs to, and how far the flow has come.

use std::fmt;
use std::time::Duration;

use crate::Timestamp;

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
    /// A flow that was kept, to go on from there: for whoever stores flows rather than seals them.
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

    /// The same flow with a later end, for a question that may take longer than flows usually last.
    #[must_use]
    pub fn lasting_until(self, end: Timestamp) -> Self {
        Self { ends: self.ends.max(end), ..self }
    }

    pub(crate) fn next_round(self) -> Self {
        Self { round: self.round.saturating_add(1), ..self }
    }
}

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

macro_rules! random_id {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) [u8; 16]);

        impl $name {
            /// The bytes.
            pub fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

random_id! {
    /// A flow: 128 random bits, the same in all its rounds.
    ///
    /// ```
    /// use mrtr_state::{Sealer, Timestamp};
    ///
    /// let noon = Timestamp::from_millis(1_785_240_000_000);
    /// let sealer = Sealer::this_process_only();
    /// let (one, other) = (sealer.begin(noon).flow(), sealer.begin(noon).flow());
    /// assert_ne!(one, other);
    /// assert_eq!(one.to_string().len(), 32, "in hexadecimal");
    /// ```
    FlowId
}
impl FlowId {
    /// A flow that was kept. Bytes that are not random make ids that can be guessed.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

random_id! {
    /// A sealed state: the first 128 bits of its nonce, which is new each time one is sealed.
    ///
    /// ```
    /// use mrtr_state::SealOptions;
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let first = sealer.open::<Cart>(&sealer.seal(&cart, &binding, noon)?, &binding, noon)?;
    /// let next = sealer.seal_as(&cart, &binding, SealOptions::new(first.next_round()), noon)?;
    /// let next = sealer.open::<Cart>(&next, &binding, noon)?;
    /// assert_eq!(first.progress().flow(), next.progress().flow());
    /// assert_ne!(first.token(), next.token());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    TokenId
}
