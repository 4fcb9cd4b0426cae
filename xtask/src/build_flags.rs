//! What cargo is told to build: one choice for all stages, so that each dependency is built once.
//!
//! Cargo unites the features that the selected packages ask of a dependency. Another selection is another dependency,
//! built anew: so stages select the same packages, also where they need one of them only.

use anyhow::Result;

use crate::metadata::Metadata;

/// For what is checked or documented: all that there is.
pub(crate) const CHECKED: [&str; 2] = ["--workspace", "--all-features"];

/// For what is built and run: all but the servers of others, which take minutes and which only `cargo xtask bench` runs.
pub(crate) fn built(metadata: &Metadata) -> [String; 3] {
    ["--workspace".to_owned(), "--features".to_owned(), metadata.features_but("mrtr-bench/peers")]
}

/// Selects no target, since none is an example in cargo's sense, and has cargo unite the features that tests ask for
/// with the others, as it does wherever it builds tests.
pub(crate) const AS_FOR_TESTS: &str = "--examples";

/// Programs of `examples` that are run as processes. After the tests they are there already.
pub(crate) fn programs(metadata: &Metadata, names: &[&str]) -> Result<()> {
    build_programs(metadata, names, &["build", "--quiet"])
}

/// The profile for a soak: optimized, but without what makes a release take minutes more.
pub(crate) const SOAK: &str = "soak";

/// Programs of `examples` whose speed matters.
pub(crate) fn optimized_programs(metadata: &Metadata, names: &[&str]) -> Result<()> {
    build_programs(metadata, names, &["build", "--quiet", "--profile", SOAK])
}

fn build_programs(metadata: &Metadata, names: &[&str], build: &[&str]) -> Result<()> {
    let flags = built(metadata);
    let flags = flags.iter().map(String::as_str);
    let programs = names.iter().flat_map(|name| ["--bin", name]).chain([AS_FOR_TESTS]);
    crate::workspace::cargo(&build.iter().copied().chain(flags).chain(programs).collect::<Vec<_>>(), &[])
}

/// The clients and servers of others, in the one program that has them.
pub(crate) fn peers(metadata: &Metadata) -> Result<()> {
    let [workspace, features, all] = built(metadata);
    let all = format!("{all},mrtr-bench/peers");
    let program = ["--bin", "mrtr-bench", AS_FOR_TESTS];
    let flags = ["build", "--quiet", &workspace, &features, &all];
    crate::workspace::cargo(&[&flags[..], &program].concat(), &[])
}
