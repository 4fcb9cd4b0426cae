//! What other SDKs are known to do wrong: which cells fail by it, and the exchange that shows it without our software.

use super::cell::{Cell, Side};
use super::scenario::{Era, Transport};

/// Something that a peer does otherwise than the specification says.
pub(super) struct Fault {
    pub(super) peer: &'static str,
    pub(super) side: Side,
    pub(super) scenarios: &'static [&'static str],
    pub(super) eras: &'static [Era],
    pub(super) transports: &'static [Transport],
    /// Part of what is seen of it in those cells.
    pub(super) seen: &'static str,
    pub(super) what: &'static str,
}

impl Fault {
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        self.peer == cell.peer.name
            && self.side == cell.side
            && self.scenarios.contains(&cell.scenario.name)
            && self.eras.contains(&cell.era)
            && self.transports.contains(&cell.transport)
    }
}

pub(super) static FAULTS: [Fault; 0] = [];
