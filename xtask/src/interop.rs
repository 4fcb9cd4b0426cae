//! `cargo xtask interop`: our client and server with those of other SDKs, scenario by scenario, and what came of it in
//! `docs/INTEROP.md`.
//!
//! A scenario is a row of `scenario.rs`, an SDK a row of `peer.rs`; what their programs do is in `xtask/interop`. Each
//! cell is one process of the client's. A cell that fails must be explained: by a lack of the SDK, or by a fault of the
//! peer that an exchange without our software shows.

mod as_they_come;
mod cell;
mod evidence;
mod expect;
mod faults;
mod matrix;
mod packages;
mod page;
mod peer;
mod places;
mod pool;
mod process;
mod python;
mod report;
mod scenario;
mod tracker;
mod verdict;
mod versions;

use anyhow::{Context, Result};

pub(crate) use packages::Installation;

use crate::workspace::print;
use crate::{Outcome, build_flags, metadata};
use places::Places;
use verdict::Verdict;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Writes docs/INTEROP.md, instead of comparing it
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// Runs only the cells of the SDKs whose name has this in it, and leaves the page alone
    #[arg(long, value_name = "SDK")]
    only: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    run_with(options, Installation::begin_anyway()?)
}

/// Runs it as part of all tests, where its installation was begun.
pub(crate) fn run_where_possible(packages: Option<Installation>) -> Result<Outcome> {
    packages.map_or(Ok(Outcome::LeftOut("npm or Python")), |packages| run_with(&Options::default(), packages))
}

fn run_with(options: &Options, packages: Installation) -> Result<Outcome> {
    let metadata = metadata::read()?;
    build_flags::programs(&metadata, &["azure_devops", "interop-client", "interop-server", "mrtr"])?;
    build_flags::peers(&metadata)?;
    let programs = metadata.target_directory.join("debug");
    let folder = packages::folder(&metadata.target_directory);
    let places = Places { packages: packages.finish()?, programs, folder };
    let seen = matrix::run(&matrix::groups(|peer| options.chooses(peer)), &places);
    let cells: Vec<_> = seen.into_iter().map(|(cell, seen)| (cell, Verdict::of(&cell, seen))).collect();
    let rows = if options.only.is_none() { as_they_come::rows(&places) } else { Vec::new() };
    let faults: Vec<_> = faults::FAULTS.iter().filter(|fault| options.chooses(fault.peer)).collect();
    let shown = pool::run(&faults, |_, fault| evidence::show(fault, &places));
    print(&report::text(&cells, &rows))?;
    let has_failed =
        cells.iter().any(|(_, verdict)| !verdict.is_explained()) || rows.iter().any(|row| row.seen.is_err());
    let shown: Vec<_> = shown.into_iter().collect::<Result<_>>().context("a fault can no longer be shown")?;
    if has_failed {
        return Ok(Outcome::Failed);
    }
    if options.only.is_some() {
        return Ok(Outcome::Passed);
    }
    page::keep(&page::text(&cells, &shown, &rows)?, options.write)
}

impl Options {
    /// Whether the cells of an SDK are run.
    fn chooses(&self, peer: &str) -> bool {
        self.only.as_ref().is_none_or(|only| peer.to_lowercase().contains(&only.to_lowercase()))
    }
}
