//! What a cell comes to, once what is known of its peer is taken into account.

use super::cell::{Cell, Seen, Side};
use super::faults::{FAULTS, Fault};
use super::peer::LACKS;

pub(super) enum Verdict {
    Passed,
    /// The peer's SDK has no such thing, for this reason.
    Absent(String),
    /// The peer is at fault, as a minimal exchange shows.
    Fault(&'static Fault),
    /// It is known to fail, and did not.
    Unexpected(&'static str),
    /// It failed, and what is known of the peer does not say why.
    Failed(String),
}

impl Verdict {
    pub(super) fn of(cell: &Cell, seen: Seen) -> Self {
        let fault = FAULTS.iter().find(|fault| fault.is_of(cell));
        match (seen, fault, lack(cell)) {
            (Seen::Unsupported(why), ..) => Self::Absent(why),
            (Seen::Passed, None, None) => Self::Passed,
            (Seen::Passed, Some(fault), _) => Self::Unexpected(fault.what),
            (Seen::Passed, _, Some(why)) => Self::Unexpected(why),
            (Seen::Failed(seen), Some(fault), _) if seen.contains(fault.seen) => Self::Fault(fault),
            (Seen::Failed(_), None, Some(why)) => Self::Absent(why.to_owned()),
            (Seen::Failed(seen), ..) => Self::Failed(seen),
        }
    }

    pub(super) fn is_explained(&self) -> bool {
        !matches!(self, Self::Unexpected(_) | Self::Failed(_))
    }
}

/// Why the server of a cell cannot play it.
fn lack(cell: &Cell) -> Option<&'static str> {
    let lack = LACKS.iter().find(|lack| {
        cell.side == Side::Server
            && lack.peer == cell.peer.name
            && lack.eras.contains(&cell.era)
            && (lack.scenarios.is_empty() || lack.scenarios.contains(&cell.scenario.name))
    });
    lack.map(|lack| lack.why)
}
