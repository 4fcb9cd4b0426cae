//! The stages of the test run, in their order.

use anyhow::Result;

use crate::build_flags::{self, AS_FOR_TESTS, CHECKED};
use crate::metadata::Metadata;
use crate::workspace::cargo;
use crate::{
    Outcome, chaos, compare_official, conformance, doc_examples, interop, postgres, public_api, readme_projects,
    schema, soak, sql_neighbours, tidy, validate_examples,
};

/// A part of the run that can be chosen by its name.
pub(super) struct Stage {
    pub(super) name: &'static str,
    /// Whether `--fast` runs it.
    pub(super) is_fast: bool,
    pub(super) run: fn(&mut Run) -> Result<Outcome>,
}

/// What stages share.
pub(super) struct Run {
    pub(super) metadata: Metadata,
    /// Nothing where the conformance suite cannot run.
    pub(super) suite: Option<conformance::Installation>,
    /// Nothing where clients of other SDKs cannot be had.
    pub(super) packages: Option<interop::Installation>,
    /// Nothing where PostgreSQL is there, or cannot be had.
    pub(super) postgres: Option<postgres::Installation>,
}

/// The quick ones first; and clippy before the tests, since what does not compile is told sooner.
pub(super) const STAGES: [Stage; 21] = [
    Stage { name: "format", is_fast: true, run: |_| passes(&["fmt", "--all", "--check"]) },
    Stage { name: "tidy", is_fast: true, run: |_| tidy::run() },
    Stage { name: "clippy", is_fast: true, run: |_| clippy() },
    Stage { name: "tests", is_fast: true, run: |run| test(&["--tests"], run) },
    slow("doc-tests", |run| test(&["--doc"], run)),
    slow("docs", |_| docs()),
    slow("features", |_| features()),
    slow("readme-projects", |_| readme_projects::run()),
    slow("sql-neighbours", |_| sql_neighbours::run()),
    slow("portable-cipher", |_| portable_cipher()),
    slow("schema", |_| schema::run(&schema::Options::check())),
    slow("validate-examples", |_| validate_examples::run(&validate_examples::Options::default())),
    slow("self-test", |_| validate_examples::run(&validate_examples::Options::self_test())),
    slow("public-api", |_| public_api::run()),
    slow("doc-examples", |_| doc_examples::run()),
    slow("compare-official", |_| compare_official::run(&compare_official::Options::default())),
    slow("chaos", |_| chaos::run_short(chaos::Store::Sqlite)),
    slow("chaos-postgres", |_| chaos::run_short(chaos::Store::Postgres)),
    slow("soak", |_| soak::run_short()),
    INTEROP,
    CONFORMANCE,
];

pub(super) const INTEROP: Stage = slow("interop", |run| interop::run_where_possible(run.packages.take()));
pub(super) const CONFORMANCE: Stage = slow("conformance", |run| conformance::run_where_possible(run.suite.take()));

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
    run.postgres.take().map_or(Ok(()), postgres::Installation::finish)?;
    let flags = build_flags::built(&run.metadata);
    let flags = flags.iter().map(String::as_str);
    passes(&["test"].into_iter().chain(flags).chain(targets.iter().copied()).collect::<Vec<_>>())
}

/// Without the command, whose pages would overwrite those of the library that has its name.
fn docs() -> Result<Outcome> {
    let arguments = [&["doc", "--no-deps", "--lib", "--bins", AS_FOR_TESTS], &CHECKED[..], &["--exclude", "mrtr-cli"]];
    let arguments = arguments.concat();
    cargo(&arguments, &[("RUSTDOCFLAGS", "-D warnings")])?;
    Ok(Outcome::Passed)
}

/// Crates by themselves, with features that a user may want alone: what another crate enables here does not help them.
fn features() -> Result<Outcome> {
    for features in FEATURES {
        passes(&[&["clippy", "--no-default-features", "--package"], features, &["--", "-D", "warnings"]].concat())?;
    }
    Ok(Outcome::Passed)
}

/// With ring its assembly seals, so that the portable cipher is the default here only.
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
