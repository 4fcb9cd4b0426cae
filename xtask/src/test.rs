//! `cargo xtask test`: every check and test there is.

use anyhow::Result;

use crate::workspace::cargo;
use crate::{Outcome, compare_official, conformance, doc_examples, public_api, schema, validate_examples};

/// Crates with the features that somebody may want alone.
const FEATURES: [&[&str]; 7] = [
    &["mrtr-schema"],
    &["mrtr-state"],
    &["mrtr-state", "--features", "ring"],
    &["mrtr-state", "--features", "single-use"],
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
    let (outcome, last_lines) = conclusion(&checks);
    for line in last_lines {
        eprintln!("{line}");
    }
    Ok(outcome)
}

/// What failed and what was not looked at, which must not pass for passed: the last that a contributor reads.
fn conclusion(checks: &[(&str, Outcome)]) -> (Outcome, Vec<String>) {
    let left_out = checks.iter().filter_map(|(name, outcome)| match outcome {
        Outcome::LeftOut(lack) => Some(format!("left out: cargo xtask {name}, for lack of {lack}")),
        Outcome::Passed | Outcome::Failed => None,
    });
    let failed = checks.iter().filter(|(_, outcome)| *outcome == Outcome::Failed);
    let failed: Vec<_> = failed.map(|(name, _)| format!("failed: cargo xtask {name}")).collect();
    let outcome = if failed.is_empty() { Outcome::Passed } else { Outcome::Failed };
    (outcome, left_out.chain(failed).collect())
}

#[cfg(test)]
mod tests {
    use super::{Outcome, conclusion};

    #[test]
    fn what_was_left_out_is_named_at_the_end_and_fails_nothing() {
        let checks = [("schema --check", Outcome::Passed), ("conformance", Outcome::LeftOut("npm"))];
        let lines = vec!["left out: cargo xtask conformance, for lack of npm".to_owned()];
        assert_eq!(conclusion(&checks), (Outcome::Passed, lines));
    }

    #[test]
    fn what_failed_is_named_last() {
        let checks = [("public-api", Outcome::Failed), ("conformance", Outcome::LeftOut("npm"))];
        let (outcome, lines) = conclusion(&checks);
        let last = lines.last().map(String::as_str);
        assert_eq!((outcome, last), (Outcome::Failed, Some("failed: cargo xtask public-api")));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn where_all_passed_nothing_is_said() {
        assert_eq!(conclusion(&[("public-api", Outcome::Passed)]), (Outcome::Passed, Vec::new()));
    }
}
