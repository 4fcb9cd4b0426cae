//! Runs the cells: those that share a server one after the other, and several servers beside each other.

use anyhow::Result;

use super::cell::{Cell, Seen, Side};
use super::expect::judge;
use super::peer::{OURS, PEERS, Peer, Program};
use super::places::Places;
use super::pool;
use super::process::{Served, in_time};
use super::scenario::{Era, SCENARIOS, Transport};

/// Cells that share a server: one at a time, so that what the server did is known to be theirs.
#[derive(Clone, Copy)]
pub(super) struct Group {
    peer: &'static Peer,
    side: Side,
    transport: Transport,
}

/// The groups of the peers that are chosen by name. Ours is a client there, of our server.
pub(super) fn groups(is_chosen: impl Fn(&str) -> bool) -> Vec<Group> {
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

/// Runs all cells of these groups, and gives what was seen in each, in the order of the groups.
pub(super) fn run(groups: &[Group], places: &Places) -> Vec<(Cell, Seen)> {
    pool::run(groups, |index, group| group.run(places, index)).into_iter().flatten().collect()
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

    /// What the server did, it said on the client's standard error.
    fn over_stdio(self, cell: Cell, places: &Places) -> Result<Seen> {
        let mut words = places.words(self.client(), &[cell.scenario.name, cell.era.word(), "stdio"]);
        words.extend(places.words(self.server(), &["stdio"]));
        let output = in_time(&places.command(&words))?;
        Ok(judge(&cell, &output, &String::from_utf8_lossy(&output.stderr)))
    }

    fn over_http(self, cell: Cell, places: &Places, served: &mut Served) -> Result<Seen> {
        // What a cell that failed left behind is not this one's.
        served.news()?;
        let words = places.words(self.client(), &[cell.scenario.name, cell.era.word(), "http", &served.url()]);
        let output = in_time(&places.command(&words))?;
        Ok(judge(&cell, &output, &served.news()?))
    }
}
