//! The Inspector's command, which cannot answer a question: it lists, and is told why the call cannot be made.

use std::path::Path;
use std::process::Output;

use anyhow::{Result, ensure};

use super::super::places::Places;
use super::super::process::{all_of, in_time};
use super::super::scenario::Transport;
use super::super::tracker::{self, KEYS, LINKED};
use super::Told;

pub(super) fn inspect(transport: Transport, places: &Places, said: &Path) -> Result<Told> {
    let (listed, _) = run(transport, places, said, &["--method", "tools/list"])?;
    ensure!(listed.status.success() && all_of(&listed).contains("update_work_item"), "{}", all_of(&listed));
    let call = ["--method", "tools/call", "--tool-name", "update_work_item"];
    let arguments = ["--tool-arg", "workItemId=4522", "--tool-arg", "fields={}"];
    let (called, told) = run(transport, places, said, &[call, arguments].concat())?;
    ensure!(all_of(&called).contains("elicitation"), "it is not told what it lacks: {}", all_of(&called));
    ensure!(!told.contains(LINKED), "a link was made without an answer");
    Ok(Told { version: String::new(), what: "lists, and is told that it cannot be asked" })
}

/// What it printed, and what the tracker said.
fn run(transport: Transport, places: &Places, said: &Path, more: &[&str]) -> Result<(Output, String)> {
    let launcher = places.packages.npm.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let mut words = [&places.packages.node, &launcher].map(|path| path.display().to_string()).to_vec();
    words.push("--cli".to_owned());
    let more = more.iter().map(|&word| word.to_owned());
    match transport {
        Transport::Http => {
            let mut tracker = tracker::start(places, said.to_owned())?;
            words.push(tracker.url());
            let output = in_time(&places.command(&words.into_iter().chain(more).collect::<Vec<_>>()))?;
            Ok((output, tracker.news()?))
        }
        Transport::Stdio => {
            let keys = ["-e".to_owned(), format!("MRTR_STATE_KEYS={KEYS}"), "--".to_owned()];
            let words: Vec<_> = words.into_iter().chain(more).chain(keys).chain(tracker::words(places)).collect();
            let output = in_time(&places.command(&words))?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Ok((output, said))
        }
    }
}
