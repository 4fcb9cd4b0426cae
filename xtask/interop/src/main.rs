//! `cargo xtask interop`: our client and server with those of other SDKs, scenario by scenario, and what came of it in
//! `docs/INTEROP.md`.
//!
//! A scenario is a row of `scenario.rs`, an SDK a row of `peer.rs`; what their programs do is in `xtask/interop`. Each
//! cell is one process of the client's. A cell that fails must be explained: by a lack of the SDK, or by a fault of the
//! peer that an exchange without our software shows.

mod as_they_come;
mod evidence;
mod expect;
mod faults;
mod marks;
mod matrix;
mod page;
mod peer;
mod process;
mod scenario;
mod script;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use xtask_support::packages::Sdks;
use xtask_support::{Outcome, print};

use matrix::Verdict;
use process::{Places, side_by_side};

#[derive(Parser)]
#[command(name = "cargo xtask interop")]
struct Options {
    /// Write docs/INTEROP.md, instead of comparing it
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// Run only the cells of the SDKs whose name has this in it, and leave the page alone
    #[arg(long, value_name = "SDK")]
    only: Option<String>,
}

fn main() -> ExitCode {
    xtask_support::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<Outcome> {
    let target = xtask_support::target()?;
    let packages = Sdks::install(&target)?;
    let places = Places { packages, programs: xtask_support::programs()?, folder: target.join("interop") };
    let seen = matrix::run(&matrix::groups(|peer| options.chooses(peer)), &places);
    let cells: Vec<_> = seen.into_iter().map(|(cell, seen)| (cell, Verdict::of(&cell, seen))).collect();
    let rows = if options.only.is_none() { as_they_come::rows(&places) } else { Vec::new() };
    let faults: Vec<_> = faults::FAULTS.iter().filter(|fault| options.chooses(fault.peer)).collect();
    let shown = side_by_side(&faults, |_, fault| evidence::show(fault, &places));
    print(&page::report(&cells, &rows))?;
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
    /// Returns true if the cells of an SDK are to be run.
    fn chooses(&self, peer: &str) -> bool {
        self.only.as_ref().is_none_or(|only| peer.to_lowercase().contains(&only.to_lowercase()))
    }
}
