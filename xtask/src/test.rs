//! `cargo xtask test`: every check and test there is.

use anyhow::Result;

use crate::workspace::cargo;
use crate::{Outcome, compare_official, conformance, doc_examples, public_api, schema, validate_examples};

/// Crates with the features that somebody may want alone.
const FEATURES: [&[&str]; 6] = [
    &["mrtr-schema"],
    &["mrtr-state"],
    &["mrtr-state", "--features", "ring"],
    &["mrtr-state", "--features", "sqlite"],
    &["mrtr-http", "--features", "server"],
    &["mrtr-http", "--features", "client"],
];

pub(crate) fn run() -> Result<Outcome> {
    let warnings_fail = [("RUSTDOCFLAGS", "-D warnings")];
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[])?;
    for features in FEATURES {
        cargo(&[&["clippy", "--no-default-features", "--package"], features, &["--", "-D", "warnings"]].concat(), &[])?;
    }
    cargo(&["doc", "--workspace", "--exclude", "mrtr-bench", "--no-deps", "--all-features"], &warnings_fail)?;
    cargo(&["test", "--workspace", "--exclude", "mrtr-bench", "--all-features"], &[])?;
    // With ring its assembly seals, so that the portable cipher is the default here only. Examples in the docs run above.
    cargo(
        &["test", "--tests", "--no-default-features", "--package", "mrtr-state", "--features", "contract,sqlite"],
        &[],
    )?;
    // Without its features: the servers of others are checked above, and need not be built.
    cargo(&["test", "--package", "mrtr-bench"], &[])?;

    let checks = [
        ("schema --check", schema::run(&schema::Options::check())?),
        ("validate-examples", validate_examples::run(&validate_examples::Options::default())?),
        ("validate-examples --self-test", validate_examples::run(&validate_examples::Options::self_test())?),
        ("public-api", public_api::run()?),
        ("doc-examples", doc_examples::run()?),
        ("compare-official", compare_official::run(&compare_official::Options::default())?),
        ("conformance", conformance::run_where_possible()?),
    ];
    let failed: Vec<_> =
        checks.iter().filter(|(_, outcome)| *outcome == Outcome::Failed).map(|(name, _)| name).collect();
    for name in &failed {
        eprintln!("failed: cargo xtask {name}");
    }
    Ok(if failed.is_empty() { Outcome::Passed } else { Outcome::Failed })
}
