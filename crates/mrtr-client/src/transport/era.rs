//! What a transport remembers of its server's era, and how that is found out.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use mrtr_schema::{Era, Revision};

/// What is known of a server's era. Clones are one memory, so that clients that share it agree.
///
/// A transport that can carry sessions keeps one: for as long as the origin is the same over HTTP, or the process over
/// stdio. A client that has it finds out which era the server speaks, and goes on in that one.
///
/// ```
/// use mrtr_client::EraMemory;
/// use mrtr_schema::{Era, Revision};
///
/// let memory = EraMemory::of_origin();
/// assert_eq!(memory.era(), None, "no request was answered yet");
/// let shared = memory.clone();
/// shared.remember(Revision::V20251125.era());
/// assert_eq!(memory.era(), Some(Era::Legacy));
/// memory.forget();
/// assert_eq!(shared.era(), None);
/// ```
#[derive(Clone)]
pub struct EraMemory {
    era: Arc<AtomicU8>,
    pub(crate) detection: Detection,
}

/// How a server's era is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detection {
    /// A request is its own probe: what is answered to it, and with which status, tells.
    ByRequest,
    /// A probe goes before the first request: a legacy server may run what it does not understand, or say nothing at
    /// all, and nothing else would tell.
    ByProbe,
}

impl EraMemory {
    /// The memory of a transport whose server refuses what it does not understand by a status, as over HTTP. A modern
    /// request is then its own probe, and silence says nothing.
    pub fn of_origin() -> Self {
        Self::new(Detection::ByRequest)
    }

    /// The memory of a transport whose server has no way but messages, as over stdio. `server/discover` goes before the
    /// first request, and silence, or the end of the process, is what a legacy server may answer to it.
    pub fn of_process() -> Self {
        Self::new(Detection::ByProbe)
    }

    fn new(detection: Detection) -> Self {
        Self { era: Arc::new(AtomicU8::new(UNKNOWN)), detection }
    }

    /// The era, if it is known.
    pub fn era(&self) -> Option<Era> {
        match self.era.load(Ordering::Relaxed) {
            MODERN => Some(Era::Modern),
            LEGACY => Some(Era::Legacy),
            _ => None,
        }
    }

    /// The server has shown that it is of this era.
    pub fn remember(&self, era: Era) {
        let era = match era {
            Era::Modern => MODERN,
            Era::Legacy => LEGACY,
        };
        self.era.store(era, Ordering::Relaxed);
    }

    /// A session has ended: behind an origin another server may stand by now, and a request finds that out. A process that
    /// was started again is what it was.
    pub(crate) fn forget_origin(&self) {
        if self.detection == Detection::ByRequest {
            self.forget();
        }
    }

    /// What was known may be so no longer.
    pub fn forget(&self) {
        self.era.store(UNKNOWN, Ordering::Relaxed);
    }
}

impl fmt::Debug for EraMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EraMemory").field(&self.era()).finish()
    }
}

/// The first revision that a client offers in `initialize`, if it was not told another.
pub(crate) const NEWEST_LEGACY: Revision = Revision::LEGACY[Revision::LEGACY.len() - 1];

const UNKNOWN: u8 = 0;
const MODERN: u8 = 1;
const LEGACY: u8 = 2;
