//! The stages of the test run, in their order.

use anyhow::Result;

use crate::programs::{self, Chaos, Installation, Soak, Store};
use crate::workspace::{AS_FOR_TESTS, BUILT, CHECKED, cargo};
use crate::{
    Outcome, compare_official, doc_examples, postgres, public_api, readme_projects, schema, tidy, validate_examples,
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
    /// Nothing where the conformance suite cannot run.
    pub(super) suite: Option<Installation>,
    /// Nothing where clients of other SDKs cannot be had.
    pub(super) packages: Option<Installation>,
    /// Nothing where PostgreSQL is there, or cannot be had.
    pub(super) postgres: Option<postgres::Installation>,
}

/// The quick ones first; and clippy before the tests, since what does not compile is told sooner.
pub(super) const STAGES: [Stage; 20] = [
    Stage { name: "format", is_fast: true, run: |_| passes(&["fmt", "--all", "--check"]) },
    Stage { name: "tidy", is_fast: true, run: |_| tidy::run() },
    Stage { name: "clippy", is_fast: true, run: |_| clippy() },
    Stage { name: "tests", is_fast: true, run: |run| test(&["--tests"], run) },
    slow("doc-tests", |run| test(&["--doc"], run)),
    slow("docs", |_| docs()),
    slow("features", |_| features()),
    slow("readme-projects", |_| readme_projects::run()),
    slow("portable-cipher", |_| portable_cipher()),
    slow("schema", |_| schema::run(&schema::Options::check())),
    slow("validate-examples", |_| validate_examples::run(&validate_examples::Options::default())),
    slow("self-test", |_| validate_examples::run(&validate_examples::Options::self_test())),
    slow("public-api", |_| public_api::run()),
    slow("doc-examples", |_| doc_examples::run()),
    slow("compare-official", |_| compare_official::run(&compare_official::Options::default())),
    slow("chaos", |_| Chaos::short(Store::Sqlite).run()),
    slow("chaos-postgres", |_| Chaos::short(Store::Postgres).run()),
    slow("soak", |_| Soak::short().run()),
    INTEROP,
    CONFORMANCE,
];

pub(super) const INTEROP: Stage = slow("interop", |run| programs::interop_where_possible(run.packages.take()));
pub(super) const CONFORMANCE: Stage = slow("conformance", |run| programs::conformance_where_possible(run.suite.take()));

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
    passes(&[&["test"], &BUILT[..], targets].concat())
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
    passes(&["test", "--tests", "--no-default-features", "--package", "mrtr-state", "--features", "contract,sqlite"])
}

const FEATURES: [&[&str]; 25] = [
    &["mrtr", "--features", "client"],
    &["mrtr", "--features", "client,http"],
    &["mrtr", "--features", "http,server"],
    &["mrtr-schema"],
    &["mrtr-schema", "--features", "validate"],
    &["mrtr-state"],
    &["mrtr-state", "--features", "ring"],
    &["mrtr-state", "--features", "single-use"],
    &["mrtr-state", "--features", "sqlite"],
    &["mrtr-flow"],
    &["mrtr-server"],
    &["mrtr-tasks"],
    &["mrtr-tasks", "--features", "sqlite"],
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
