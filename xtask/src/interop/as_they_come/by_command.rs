//! `mrtr call`, which calls the servers of other SDKs and answers from a file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::super::peer::Peer;
use super::super::places::Places;
use super::super::process::{Served, all_of, in_time};
use super::super::scenario::Transport;
use super::Told;

pub(super) fn call(peer: &Peer, transport: Transport, places: &Places, said: PathBuf) -> Result<Told> {
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
            // The command is one argument, and split as a shell does.
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

/// By key: the contract's, that of a session, in which questions have no keys, and that of a resolver in Python.
const ANSWERS: &str = r#"{ "name": { "name": "Ada" }, "question-1": { "name": "Ada" },
    "__main__:ask_name": { "name": "Ada" } }"#;
