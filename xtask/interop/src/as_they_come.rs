//! Beside the matrix: clients with the settings that they come with, the Inspector, and our command.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::{fmt, fs};

use anyhow::{Result, ensure};

use crate::expect::Printed;
use crate::peer::{OURS, PEERS, Peer};
use crate::process::{KEYS, LINKED, Places, Served, all_of, in_time, side_by_side, start_tracker, tracker_words};
use crate::scenario::Transport;

/// A row of the table beside the matrix.
pub(crate) struct Row {
    pub(crate) who: String,
    pub(crate) transport: Transport,
    pub(crate) seen: Result<Told>,
}

/// The outcome, and the version of the protocol that the two spoke.
pub(crate) struct Told {
    pub(crate) version: String,
    pub(crate) what: &'static str,
}

/// The program that a row runs.
#[derive(Clone, Copy)]
enum Run {
    Client(&'static Peer),
    Inspector,
    Command(&'static Peer),
}

/// Runs every client, the Inspector and the command over each transport.
pub(crate) fn rows(places: &Places) -> Vec<Row> {
    let clients = PEERS.iter().chain([&OURS]).map(Run::Client);
    let runs: Vec<_> = clients.chain([Run::Inspector]).chain(PEERS.iter().map(Run::Command)).collect();
    let runs: Vec<_> = Transport::ALL.into_iter().flat_map(|over| runs.iter().map(move |&run| (run, over))).collect();
    side_by_side(&runs, |index, &(run, transport)| {
        let who = run.to_string();
        eprintln!("=== {who} over {}", transport.name());
        let said = places.folder.join(format!("row-{index}.txt"));
        let seen = match run {
            Run::Client(peer) => call(peer, transport, places, said),
            Run::Inspector => inspect(transport, places, &said),
            Run::Command(peer) => call_by_command(peer, transport, places, said),
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

/// Lets a client call the tracker, and checks what it saw and what the tracker did.
fn call(peer: &Peer, transport: Transport, places: &Places, said: PathBuf) -> Result<Told> {
    let mut words = places.words(&peer.client, &["three-rounds", "default"]);
    let (output, said) = match transport {
        Transport::Http => {
            let mut tracker = start_tracker(places, said)?;
            words.extend(["http".to_owned(), tracker.url()]);
            (in_time(&places.command(&words))?, tracker.news()?)
        }
        Transport::Stdio => {
            words.push("stdio".to_owned());
            words.extend(tracker_words(places));
            let output = in_time(places.command(&words).env("MRTR_STATE_KEYS", KEYS))?;
            // The tracker's output then goes to standard error, which a client passes on.
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

pub(crate) fn call_by_command(peer: &Peer, transport: Transport, places: &Places, said: PathBuf) -> Result<Told> {
    let answers = said.with_extension("json");
    fs::write(&answers, ANSWERS)?;
    match transport {
        Transport::Http => {
            let served = Served::start(said, |address| {
                places.command(&places.words(&peer.server, &["http", &address.port().to_string()]))
            })?;
            greet(&[served.url()], &answers, places)
        }
        Transport::Stdio => {
            // The command is one argument, which `mrtr call` splits as a shell does.
            let words = places.words(&peer.server, &["stdio"]);
            let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
            greet(&["--stdio".to_owned(), quoted.join(" ")], &answers, places)
        }
    }
}

/// Checks what the command printed, and finds in its trace which version was spoken.
fn greet(server: &[String], answers: &Path, places: &Places) -> Result<Told> {
    let mut words = vec![places.program("mrtr").display().to_string(), "call".to_owned()];
    words.extend_from_slice(server);
    words.extend(["greet", "--trace", "--answers"].map(str::to_owned));
    words.push(answers.display().to_string());
    let output = in_time(&places.command(&words))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success() && printed == "Hello, Ada\n", "it got {}", all_of(&output));
    let traced = String::from_utf8_lossy(&output.stderr);
    let version = traced.rsplit("rotocolVersion\": \"").next().and_then(|rest| rest.split('"').next());
    Ok(Told { version: version.unwrap_or_default().to_owned(), what: "one question" })
}

/// Answers by key: the contract's, that of a session, in which questions have no keys, and that of a resolver in
/// Python.
const ANSWERS: &str = r#"{ "name": { "name": "Ada" }, "question-1": { "name": "Ada" },
    "__main__:ask_name": { "name": "Ada" } }"#;

pub(crate) fn inspect(transport: Transport, places: &Places, said: &Path) -> Result<Told> {
    let (listed, _) = run_inspector(transport, places, said, &["--method", "tools/list"])?;
    ensure!(listed.status.success() && all_of(&listed).contains("update_work_item"), "{}", all_of(&listed));
    let call = ["--method", "tools/call", "--tool-name", "update_work_item"];
    let arguments = ["--tool-arg", "workItemId=4522", "--tool-arg", "fields={}"];
    let (called, told) = run_inspector(transport, places, said, &[call, arguments].concat())?;
    ensure!(all_of(&called).contains("elicitation"), "it is not told what it lacks: {}", all_of(&called));
    ensure!(!told.contains(LINKED), "a link was made without an answer");
    Ok(Told { version: String::new(), what: "lists, and is told that it cannot be asked" })
}

/// Runs the inspector. Returns what it printed, and what the tracker said.
fn run_inspector(transport: Transport, places: &Places, said: &Path, more: &[&str]) -> Result<(Output, String)> {
    let launcher = places.packages.npm.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let mut words = [&places.packages.node, &launcher].map(|path| path.display().to_string()).to_vec();
    words.push("--cli".to_owned());
    let more = more.iter().map(|&word| word.to_owned());
    match transport {
        Transport::Http => {
            let mut tracker = start_tracker(places, said.to_owned())?;
            words.push(tracker.url());
            let output = in_time(&places.command(&words.into_iter().chain(more).collect::<Vec<_>>()))?;
            Ok((output, tracker.news()?))
        }
        Transport::Stdio => {
            let keys = ["-e".to_owned(), format!("MRTR_STATE_KEYS={KEYS}"), "--".to_owned()];
            let words: Vec<_> = words.into_iter().chain(more).chain(keys).chain(tracker_words(places)).collect();
            let output = in_time(&places.command(&words))?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Ok((output, said))
        }
    }
}
