//! Runs the cells: those that share a server one after the other, and several servers beside each other.

use std::fmt;

use anyhow::Result;

use crate::expect::judge;
use crate::faults::{FAULTS, Fault};
use crate::peer::{LACKS, OURS, PEERS, Peer, Program};
use crate::process::{Places, Served, in_time, side_by_side};
use crate::scenario::{Era, SCENARIOS, Scenario, Transport};

/// Cells that share a server. They run one at a time, so that the server's effects are known to be theirs.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    peer: &'static Peer,
    side: Side,
    transport: Transport,
}

/// The groups of the peers that are chosen by name. Ours is a client there, of our server.
pub(crate) fn groups(is_chosen: impl Fn(&str) -> bool) -> Vec<Group> {
    let chosen = |peer: &&Peer| is_chosen(peer.name);
    let mut groups = Vec::new();
    for transport in Transport::ALL {
        for side in Side::ALL {
            let ours = (side == Side::Client).then_some(&OURS);
            groups.extend(PEERS.iter().chain(ours).filter(&chosen).map(|peer| Group { peer, side, transport }));
        }
    }
    groups
}

/// Runs all cells of these groups, and returns the result of each, in the order of the groups.
pub(crate) fn run(groups: &[Group], places: &Places) -> Vec<(Cell, Seen)> {
    side_by_side(groups, |index, group| group.run(places, index)).into_iter().flatten().collect()
}

impl Group {
    fn cells(self) -> impl Iterator<Item = Cell> {
        let Self { peer, side, transport } = self;
        Era::ALL.into_iter().flat_map(move |era| {
            let played = SCENARIOS.iter().filter(move |scenario| scenario.is_played(era, transport));
            played.map(move |scenario| Cell { peer, side, scenario, era, transport })
        })
    }

    fn run(self, places: &Places, index: usize) -> Vec<(Cell, Seen)> {
        eprintln!("=== {} as a {} over {}", self.peer.name, self.side.word(), self.transport.name());
        let mut running = (self.transport == Transport::Http).then(|| self.serve(places, index));
        let mut play = |cell| match &mut running {
            None => self.over_stdio(cell, places),
            Some(Ok(served)) => self.over_http(cell, places, served),
            Some(Err(error)) => Ok(Seen::Failed(format!("{error:#}"))),
        };
        self.cells().map(|cell| (cell, play(cell).unwrap_or_else(|error| Seen::Failed(format!("{error:#}"))))).collect()
    }

    fn client(self) -> &'static Program {
        if self.side == Side::Client { &self.peer.client } else { &OURS.client }
    }

    fn server(self) -> &'static Program {
        if self.side == Side::Server { &self.peer.server } else { &OURS.server }
    }

    fn serve(self, places: &Places, index: usize) -> Result<Served> {
        let said = places.folder.join(format!("said-{index}.txt"));
        Served::start(said, |address| {
            places.command(&places.words(self.server(), &["http", &address.port().to_string()]))
        })
    }

    /// Runs a cell over stdio: the server's effects come on the client's standard error.
    fn over_stdio(self, cell: Cell, places: &Places) -> Result<Seen> {
        let mut words = places.words(self.client(), &[cell.scenario.name, cell.era.word(), "stdio"]);
        words.extend(places.words(self.server(), &["stdio"]));
        let output = in_time(&places.command(&words))?;
        Ok(judge(&cell, &output, &String::from_utf8_lossy(&output.stderr)))
    }

    fn over_http(self, cell: Cell, places: &Places, served: &mut Served) -> Result<Seen> {
        // Lines that a failed cell left behind do not belong to this cell.
        served.news()?;
        let words = places.words(self.client(), &[cell.scenario.name, cell.era.word(), "http", &served.url()]);
        let output = in_time(&places.command(&words))?;
        Ok(judge(&cell, &output, &served.news()?))
    }
}

/// The side that another SDK is on; ours is on the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const ALL: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// One scenario, played by a peer and by us.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) peer: &'static Peer,
    pub(crate) side: Side,
    pub(crate) scenario: &'static Scenario,
    pub(crate) era: Era,
    pub(crate) transport: Transport,
}

impl Cell {
    /// Returns true if these are the same, however they came about.
    pub(crate) fn is(&self, other: &Self) -> bool {
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

/// The result of a cell.
pub(crate) enum Seen {
    Passed,
    /// The client says that its SDK has no such thing.
    Unsupported(String),
    Failed(String),
}

pub(crate) enum Verdict {
    Passed,
    /// The peer's SDK has no such thing, for this reason.
    Absent(String),
    /// The peer is at fault, as a minimal exchange shows.
    Fault(&'static Fault),
    /// The cell is known to fail, and did not.
    Unexpected(&'static str),
    /// The cell failed, and nothing known of the peer explains it.
    Failed(String),
}

impl Verdict {
    pub(crate) fn of(cell: &Cell, seen: Seen) -> Self {
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

    pub(crate) fn is_explained(&self) -> bool {
        !matches!(self, Self::Unexpected(_) | Self::Failed(_))
    }
}

/// The reason why the server of a cell cannot play it.
fn lack(cell: &Cell) -> Option<&'static str> {
    let lack = LACKS.iter().find(|lack| {
        cell.side == Side::Server
            && lack.peer == cell.peer.name
            && lack.eras.contains(&cell.era)
            && (lack.scenarios.is_empty() || lack.scenarios.contains(&cell.scenario.name))
    });
    lack.map(|lack| lack.why)
}
