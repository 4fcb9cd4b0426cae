//! A cell of the matrix, and what came of it.

use std::fmt;

use super::peer::Peer;
use super::scenario::{Era, Scenario, Transport};

/// Which side another SDK is on; ours is on the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    pub(super) const ALL: [Self; 2] = [Self::Client, Self::Server];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// One scenario, played by a peer and by us.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub(super) peer: &'static Peer,
    pub(super) side: Side,
    pub(super) scenario: &'static Scenario,
    pub(super) era: Era,
    pub(super) transport: Transport,
}

impl Cell {
    /// Whether these are the same, however they came about.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.peer.name == other.peer.name
            && self.scenario.name == other.scenario.name
            && (self.side, self.era, self.transport) == (other.side, other.era, other.transport)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, side, scenario, era, transport } = self;
        write!(f, "{} as a {}, {}, {} over {}", peer.name, side.word(), scenario.name, era.word(), transport.name())
    }
}

/// What was seen.
pub(super) enum Seen {
    Passed,
    /// The client says that its SDK has no such thing.
    Unsupported(String),
    Failed(String),
}
