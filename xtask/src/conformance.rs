//! `cargo xtask conformance`: the official conformance suite, against our server and our client.

mod checks;
mod report;
mod scenarios;
mod server;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};

use crate::metadata::Metadata;
use crate::workspace::print;
use crate::{Outcome, build_flags, metadata, npm};
use checks::Tally;
use report::Row;
use scenarios::{CLIENT, LEGACY_SERVER, SERVER, SKIPPED};
use server::Server;
use suite::{LEGACY_REVISION, REVISION, Suite};

/// The suite, on its way from npm while something else is done.
pub(crate) struct Installation(JoinHandle<Result<Suite>>);

impl Installation {
    /// Nothing where the suite need not run: where there is no npm, unless a CI relies on it.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let is_possible = is_possible(npm::is_there(), std::env::var_os("CI").is_some());
        is_possible.then(Self::begin_anyway).transpose()
    }

    fn begin_anyway() -> Result<Self> {
        let folder = folder(&metadata::read()?);
        Ok(Self(thread::spawn(move || Suite::install(&folder))))
    }

    fn finish(self) -> Result<Suite> {
        self.0.join().map_err(|_| anyhow!("the installation panicked"))?
    }
}

pub(crate) fn run() -> Result<Outcome> {
    run_with(Installation::begin_anyway()?)
}

/// Runs it as part of all tests, where its installation was begun.
pub(crate) fn run_where_possible(suite: Option<Installation>) -> Result<Outcome> {
    suite.map_or(Ok(Outcome::LeftOut("npm")), run_with)
}

fn run_with(suite: Installation) -> Result<Outcome> {
    let metadata = metadata::read()?;
    build_flags::programs(&metadata, &["conformance-server", "conformance-client"])?;
    let suite = suite.finish()?;
    let results = emptied(&folder(&metadata).join("results"))?;
    let programs = metadata.target_directory.join("debug");

    let mut rows = server_rows(&suite, &programs.join("conformance-server"), &results.join("server"))?;
    rows.extend(client_rows(&suite, &programs.join("conformance-client"), &results.join("client"))?);
    print(&report::as_table(&rows))?;
    Ok(if rows.iter().any(Row::has_failed) { Outcome::Failed } else { Outcome::Passed })
}

/// Where packages and results are kept.
fn folder(metadata: &Metadata) -> PathBuf {
    metadata.target_directory.join("conformance")
}

/// A CI in which the suite cannot run is broken: there it is tried, and fails.
fn is_possible(has_npm: bool, is_ci: bool) -> bool {
    has_npm || is_ci
}

fn server_rows(suite: &Suite, program: &Path, results: &Path) -> Result<Vec<Row>> {
    let server = Server::start(program)?;
    let (modern, legacy) = (results.join(REVISION), results.join(LEGACY_REVISION));
    suite.test_server(server.url(), REVISION, &modern)?;
    suite.test_server(server.url(), LEGACY_REVISION, &legacy)?;
    drop(server);
    let row = |scenario: &&'static str| match Tally::of(&modern, scenario)? {
        tally if tally.was_skipped() && SKIPPED.contains(scenario) => Ok(Row::skipped("server", scenario)),
        tally => Ok(Row::expected("server", scenario, tally)),
    };
    let legacy_row = |scenario: &&'static str| Ok(Row::expected("session", scenario, Tally::of(&legacy, scenario)?));
    SERVER.iter().map(row).chain(LEGACY_SERVER.iter().map(legacy_row)).collect()
}

/// One at a time: each brings a server of its own, and watches how its client takes time.
fn client_rows(suite: &Suite, program: &Path, results: &Path) -> Result<Vec<Row>> {
    let row = |scenario: &&'static str| {
        let ended_well = suite.test_client(program, scenario, results)?;
        let mut tally = Tally::of(results, scenario)?;
        if !ended_well {
            tally.note("the client did not end well");
        }
        Ok(Row::expected("client", scenario, tally))
    };
    CLIENT.iter().map(row).collect()
}

/// An empty folder: what an earlier run left must not be taken for a result of this one.
fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be emptied", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::is_possible;

    #[test]
    fn without_npm_a_contributor_may_leave_it_out_and_a_ci_may_not() {
        let here = [(true, false), (true, true), (false, true), (false, false)].map(|(npm, ci)| is_possible(npm, ci));
        assert_eq!(here, [true, true, true, false]);
    }
}
