//! Beside the matrix: clients with the settings that they come with, the Inspector, and our command.

mod by_command;
mod inspector;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::expect::Printed;
use super::peer::{OURS, PEERS, Peer};
use super::places::Places;
use super::pool;
use super::process::in_time;
use super::scenario::Transport;
use super::tracker::{self, KEYS, LINKED};

/// A row of its own table.
pub(super) struct Row {
    pub(super) who: String,
    pub(super) transport: Transport,
    pub(super) seen: Result<Told>,
}

/// What happened, and the version that was spoken, where it was told.
pub(super) struct Told {
    pub(super) version: String,
    pub(super) what: &'static str,
}

/// What a row runs.
#[derive(Clone, Copy)]
enum Run {
    Client(&'static Peer),
    Inspector,
    Command(&'static Peer),
}

/// Runs them all, over each transport.
pub(super) fn rows(places: &Places) -> Vec<Row> {
    let clients = PEERS.iter().chain([&OURS]).map(Run::Client);
    let runs: Vec<_> = clients.chain([Run::Inspector]).chain(PEERS.iter().map(Run::Command)).collect();
    let runs: Vec<_> = Transport::ALL.into_iter().flat_map(|over| runs.iter().map(move |&run| (run, over))).collect();
    pool::run(&runs, |index, &(run, transport)| {
        let who = run.to_string();
        eprintln!("=== {who} over {}", transport.name());
        let said = places.folder.join(format!("row-{index}.txt"));
        let seen = match run {
            Run::Client(peer) => call(peer, transport, places, said),
            Run::Inspector => inspector::inspect(transport, places, &said),
            Run::Command(peer) => by_command::call(peer, transport, places, said),
        };
        Row { who, transport, seen }
    })
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(peer) => write!(f, "client of {}", peer.name),
            Self::Inspector => f.write_str("Inspector"),
            Self::Command(peer) => write!(f, "`mrtr call`, server of {}", peer.name),
        }
    }
}

/// Has a client call the tracker, and checks what it saw and what the tracker did.
fn call(peer: &Peer, transport: Transport, places: &Places, said: PathBuf) -> Result<Told> {
    let mut words = places.words(&peer.client, &["three-rounds", "default"]);
    let (output, said) = match transport {
        Transport::Http => {
            let mut tracker = tracker::start(places, said)?;
            words.extend(["http".to_owned(), tracker.url()]);
            (in_time(&places.command(&words))?, tracker.news()?)
        }
        Transport::Stdio => {
            words.push("stdio".to_owned());
            words.extend(tracker::words(places));
            let output = in_time(places.command(&words).env("MRTR_STATE_KEYS", KEYS))?;
            // What the tracker prints goes to standard error then, which a client passes on.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output, said)
        }
    };
    let printed = Printed::of(&output)?;
    ensure!(printed.asked == ASKED, "it was asked {:?}", printed.asked);
    ensure!(printed.text == RESOLVED, "it got {:?}", printed.text);
    let links = said.matches(LINKED).count();
    ensure!(links == 1, "the link was made {links} times");
    Ok(Told { version: printed.version.unwrap_or_default(), what: "two questions, one link" })
}

const ASKED: [&str; 2] = ["form: How was this bug resolved?", "form: Which work item is the original?"];
const RESOLVED: &str = "Bug #4522 resolved as duplicate of #4301";
