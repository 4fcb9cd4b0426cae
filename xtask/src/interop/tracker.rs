//! The tracker of `examples/azure_devops.rs`, unchanged: what clients call as they come.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::places::Places;
use super::process::Served;

/// Starts it over HTTP.
pub(super) fn start(places: &Places, said: PathBuf) -> Result<Served> {
    let program = places.program("azure_devops");
    Served::start(said, |address| {
        let mut command = Command::new(program);
        command.env("TRACKER_ADDRESS", address.to_string()).env("MRTR_STATE_KEYS", KEYS);
        command
    })
}

/// The words that start it over stdio; its keys are in the environment.
pub(super) fn words(places: &Places) -> [String; 2] {
    [places.program("azure_devops").display().to_string(), "--stdio".to_owned()]
}

/// A key for tests.
pub(super) const KEYS: &str = "tracker=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// What it says when it has made the link of the scenario.
pub(super) const LINKED: &str = "tracker: #4522 is linked to #4301";
