//! `cargo xtask interop`: clients of other SDKs, as they come, call our server and answer what it asks; and our client and
//! our command call servers of other SDKs, of both eras.
//!
//! The server is `examples/azure_devops.rs`, unchanged, in a process of its own for each call: what it did is counted by
//! what it printed.

mod by_command;
mod clients;
mod python;
mod report;
mod servers;
mod tracker;

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Result, anyhow};

use crate::metadata::Metadata;
use crate::workspace::print;
use crate::{Outcome, build_flags, metadata, npm};
use clients::Client;
use report::Row;

/// The clients that come over the network, on their way while something else is done.
pub(crate) struct Installation(JoinHandle<Result<Packages>>);

/// Where they are.
struct Packages {
    node: PathBuf,
    npm: PathBuf,
    /// That of the 1.x line.
    python: PathBuf,
    /// That of the 2.x line.
    python_2: PathBuf,
}

impl Installation {
    /// Nothing where the clients cannot be had: without npm or Python, unless a CI relies on them.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let is_possible = (npm::is_there() && python::is_there()) || std::env::var_os("CI").is_some();
        is_possible.then(Self::begin_anyway).transpose()
    }

    fn begin_anyway() -> Result<Self> {
        let metadata = metadata::read()?;
        // Node is where the conformance suite has it, if that was installed.
        let conformance = metadata.target_directory.join("conformance");
        let folder = folder(&metadata);
        Ok(Self(thread::spawn(move || {
            let npm = npm::install("interop/node", &folder)?;
            let python = python::install("interop/python-1", &folder)?;
            let python_2 = python::install("interop/python-2", &folder)?;
            Ok(Packages { node: npm::node(&conformance)?, npm, python, python_2 })
        })))
    }

    fn finish(self) -> Result<Packages> {
        self.0.join().map_err(|_| anyhow!("the installation panicked"))?
    }
}

pub(crate) fn run() -> Result<Outcome> {
    run_with(Installation::begin_anyway()?)
}

/// Runs it as part of all tests, where its installation was begun.
pub(crate) fn run_where_possible(packages: Option<Installation>) -> Result<Outcome> {
    packages.map_or(Ok(Outcome::LeftOut("npm or Python")), run_with)
}

fn run_with(packages: Installation) -> Result<Outcome> {
    let metadata = metadata::read()?;
    build_flags::programs(&metadata, &["azure_devops", "interop-client", "mrtr"])?;
    build_flags::peers(&metadata)?;
    let packages = packages.finish()?;
    let programs = metadata.target_directory.join("debug");
    let clients = clients::all(&packages, &programs);
    let mut rows: Vec<Row> = clients.iter().map(|client| row(client, &programs)).collect();
    rows.extend(servers::rows(&packages, &programs));
    rows.extend(by_command::rows(&packages, &programs, &folder(&metadata)));
    print(&report::as_table(&rows))?;
    Ok(if rows.iter().any(Row::has_failed) { Outcome::Failed } else { Outcome::Passed })
}

fn row(client: &Client, programs: &Path) -> Row {
    eprintln!("=== {client}");
    Row { who: client.to_string(), seen: client.call(&programs.join("azure_devops")) }
}

/// Where packages are kept.
fn folder(metadata: &Metadata) -> PathBuf {
    metadata.target_directory.join("interop")
}
