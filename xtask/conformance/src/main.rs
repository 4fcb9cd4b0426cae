//! `cargo xtask conformance`: the official conformance suite, against our server and our client.

mod checks;
mod scenarios;
mod suite;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use xtask_support::packages::{CONFORMANCE, Suite};
use xtask_support::{Outcome, emptied, print};

use checks::{Row, Tally};
use scenarios::{CLIENT, LEGACY_SERVER, SERVER, SKIPPED};
use suite::{LEGACY_REVISION, REVISION, Runner, Server};

fn main() -> ExitCode {
    xtask_support::exit(run())
}

fn run() -> Result<Outcome> {
    let target = xtask_support::target()?;
    let suite = Runner(Suite::install(&target)?);
    let results = emptied(&target.join(CONFORMANCE).join("results"))?;
    let programs = xtask_support::programs()?;

    let mut rows = server_rows(&suite, &programs.join("conformance-server"), &results.join("server"))?;
    rows.extend(client_rows(&suite, &programs.join("conformance-client"), &results.join("client"))?);
    print(&checks::as_table(&rows))?;
    Ok(if rows.iter().any(Row::has_failed) { Outcome::Failed } else { Outcome::Passed })
}

fn server_rows(suite: &Runner, program: &Path, results: &Path) -> Result<Vec<Row>> {
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

/// Runs one scenario at a time: each brings a server of its own, and watches how its client takes time.
fn client_rows(suite: &Runner, program: &Path, results: &Path) -> Result<Vec<Row>> {
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
