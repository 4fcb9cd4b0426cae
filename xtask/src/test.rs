//! `cargo xtask test`: every check and test there is, or some of them.

mod report;

use std::time::Instant;

use anyhow::Result;

use crate::programs::{Chaos, Installation, Servers, Soak, Store};
use crate::workspace::{AS_FOR_TESTS, BUILT, CHECKED, cargo, print};
use crate::{
    Outcome, compare_official, deployment, doc_examples, methods, packages, programs, public_api, readme_projects,
    schema, sql_neighbours, tidy, tools, validate_examples,
};
use report::{Ended, Row};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run only what a contributor wants every few minutes: format, tidy, clippy, unit and integration tests
    #[arg(long, conflicts_with = "only")]
    fast: bool,
    /// Run only this stage; may be given more than once
    #[arg(long, value_name = "STAGE", value_parser = STAGES.map(|stage| stage.name))]
    only: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    // The packages come over the network, and the earlier stages take minutes, so install meanwhile.
    let suite = options.selects(&CONFORMANCE).then(Installation::suite_where_wanted).transpose()?;
    let packages = options.selects(&INTEROP).then(Installation::sdks_where_wanted).transpose()?;
    let linters = options.selects(&DEPLOYMENT).then(Installation::linters_where_wanted).transpose()?;
    let servers = Servers::begin()?;
    let mut run = Run { suite: suite.flatten(), packages: packages.flatten(), linters: linters.flatten(), servers };
    let mut rows = Vec::new();
    let mut has_stopped = false;
    for stage in &STAGES {
        let row = match options.selects(stage) {
            true if !has_stopped => timed(stage, &mut run),
            true => Row::unmeasured(stage.name, Ended::NotReached),
            false => Row::unmeasured(stage.name, Ended::NotSelected),
        };
        has_stopped |= matches!(row.ended, Ended::Stopped(_));
        rows.push(row);
    }
    print(&report::table(&rows))?;
    for line in report::last_lines(&rows) {
        eprintln!("{line}");
    }
    Ok(if rows.iter().any(Row::has_failed) { Outcome::Failed } else { Outcome::Passed })
}

fn timed(stage: &Stage, run: &mut Run) -> Row {
    eprintln!("\n=== {}", stage.name);
    let start = Instant::now();
    let ended = match (stage.run)(run) {
        Ok(outcome) => Ended::With(outcome),
        Err(error) => Ended::Stopped(format!("{error:#}")),
    };
    Row { stage: stage.name, time: Some(start.elapsed()), ended }
}

impl Options {
    fn selects(&self, stage: &Stage) -> bool {
        match &self.only[..] {
            [] => stage.is_fast || !self.fast,
            only => only.iter().any(|name| name == stage.name),
        }
    }
}

/// A part of the run that can be chosen by its name.
struct Stage {
    name: &'static str,
    /// True if `--fast` runs it.
    is_fast: bool,
    run: fn(&mut Run) -> Result<Outcome>,
}

/// The state that stages share.
struct Run {
    /// None where the conformance suite cannot run.
    suite: Option<Installation>,
    /// None where there can be no clients of other SDKs.
    packages: Option<Installation>,
    /// None where there is no Python.
    linters: Option<Installation>,
    /// None where the servers are there, or cannot be installed.
    servers: Option<Servers>,
}

/// The stages. Quick ones come first; clippy comes before the tests, since it tells sooner of code that does not
/// compile.
const STAGES: [Stage; 26] = [
    Stage { name: "format", is_fast: true, run: |_| passes(&["fmt", "--all", "--check"]) },
    Stage { name: "tidy", is_fast: true, run: |_| tidy::run() },
    Stage { name: "clippy", is_fast: true, run: |_| clippy() },
    Stage { name: "tests", is_fast: true, run: |run| test(&["--tests"], run) },
    slow("doc-tests", |run| test(&["--doc"], run)),
    slow("docs", |_| docs()),
    slow("features", |_| features()),
    slow("readme-projects", |_| readme_projects::run()),
    slow("packages", |_| packages::run(&packages::Options::check())),
    slow("deny", |_| tools::deny()),
    slow("semver", |_| tools::semver()),
    slow("sql-neighbours", |_| sql_neighbours::run()),
    slow("portable-cipher", |_| portable_cipher()),
    slow("schema", |_| schema::run(&schema::Options::check())),
    slow("validate-examples", |_| validate_examples::run(&validate_examples::Options::default())),
    slow("self-test", |_| validate_examples::run(&validate_examples::Options::self_test())),
    slow("public-api", |_| public_api::run()),
    slow("doc-examples", |_| doc_examples::run()),
    slow("methods", |_| methods::run(&methods::Options::default())),
    DEPLOYMENT,
    slow("compare-official", |_| compare_official::run(&compare_official::Options::default())),
    slow("chaos", |_| Chaos::short(Store::Sqlite).run()),
    slow("chaos-postgres", |_| Chaos::short(Store::Postgres).run()),
    slow("soak", |_| Soak::short().run()),
    INTEROP,
    CONFORMANCE,
];

const DEPLOYMENT: Stage = slow("deployment", |run| deployment::run_where_possible(run.linters.take()));
const INTEROP: Stage = slow("interop", |run| programs::interop_where_possible(run.packages.take()));
const CONFORMANCE: Stage = slow("conformance", |run| programs::conformance_where_possible(run.suite.take()));

const fn slow(name: &'static str, run: fn(&mut Run) -> Result<Outcome>) -> Stage {
    Stage { name, is_fast: false, run }
}

fn passes(arguments: &[&str]) -> Result<Outcome> {
    cargo(arguments, &[])?;
    Ok(Outcome::Passed)
}

fn clippy() -> Result<Outcome> {
    passes(&[&["clippy", "--all-targets"], &CHECKED[..], &["--", "-D", "warnings"]].concat())
}

fn test(targets: &[&str], run: &mut Run) -> Result<Outcome> {
    run.servers.take().map_or(Ok(()), Servers::finish)?;
    passes(&[&["test"], &BUILT[..], targets].concat())
}

/// Builds the docs without the command, whose pages would overwrite those of the library that has its name.
fn docs() -> Result<Outcome> {
    let arguments = [&["doc", "--no-deps", "--lib", "--bins", AS_FOR_TESTS], &CHECKED[..], &["--exclude", "mrtr-cli"]];
    let arguments = arguments.concat();
    cargo(&arguments, &[("RUSTDOCFLAGS", "-D warnings")])?;
    Ok(Outcome::Passed)
}

/// Checks crates by themselves, with features that a user may want alone: there, another crate's features do not help.
fn features() -> Result<Outcome> {
    for features in FEATURES {
        passes(&[&["clippy", "--no-default-features", "--package"], features, &["--", "-D", "warnings"]].concat())?;
    }
    Ok(Outcome::Passed)
}

/// Tests the portable cipher, which is the default without ring only: with ring, ring's assembly seals.
fn portable_cipher() -> Result<Outcome> {
    passes(&["test", "--tests", "--no-default-features", "--package", "mrtr-state", "--features", "contract"])
}

const FEATURES: [&[&str]; 26] = [
    &["mrtr", "--features", "client"],
    &["mrtr", "--features", "client,http"],
    &["mrtr", "--features", "http,server"],
    &["mrtr", "--features", "postgres"],
    &["mrtr", "--features", "sqlite"],
    &["mrtr-schema"],
    &["mrtr-schema", "--features", "validate"],
    &["mrtr-state"],
    &["mrtr-state", "--features", "ring"],
    &["mrtr-state", "--features", "single-use"],
    &["mrtr-flow"],
    &["mrtr-server"],
    &["mrtr-tasks"],
    &["mrtr-sqlite"],
    &["mrtr-postgres"],
    &["mrtr-postgres", "--features", "tls"],
    &["mrtr-client"],
    &["mrtr-client", "--features", "terminal"],
    &["mrtr-http", "--features", "server"],
    &["mrtr-http", "--features", "client"],
    &["mrtr-stdio", "--features", "server"],
    &["mrtr-stdio", "--features", "client"],
    &["mrtr-rmcp", "--features", "server"],
    &["mrtr-rmcp", "--features", "client"],
    &["mrtr-validate"],
    &["mrtr-cli"],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(fast: bool, only: &[&str]) -> Vec<&'static str> {
        let options = Options { fast, only: only.iter().map(|&name| name.to_owned()).collect() };
        STAGES.iter().filter(|stage| options.selects(stage)).map(|stage| stage.name).collect()
    }

    #[test]
    fn all_stages_run_unless_some_are_chosen() {
        assert_eq!(selected(false, &[]).len(), STAGES.len());
        assert_eq!(selected(true, &[]), ["format", "tidy", "clippy", "tests"]);
        assert_eq!(selected(false, &["docs", "tidy"]), ["tidy", "docs"]);
    }
}
