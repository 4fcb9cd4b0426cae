//! `cargo xtask test`: every check and test there is, or some of them.

mod report;
mod stages;

use std::time::Instant;

use anyhow::Result;

use crate::programs::Installation;
use crate::workspace::print;
use crate::{Outcome, postgres};
use report::{Ended, Row};
use stages::{Run, STAGES, Stage};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs only what a contributor wants every few minutes: format, tidy, clippy, unit and integration tests
    #[arg(long, conflicts_with = "only")]
    fast: bool,
    /// Runs only this stage; may be given more than once
    #[arg(long, value_name = "STAGE", value_parser = STAGES.map(|stage| stage.name))]
    only: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    // They come over the network, and the stages before it take minutes.
    let suite = options.selects(&stages::CONFORMANCE).then(Installation::suite_where_wanted).transpose()?;
    let packages = options.selects(&stages::INTEROP).then(Installation::sdks_where_wanted).transpose()?;
    let postgres = postgres::Installation::begin()?;
    let mut run = Run { suite: suite.flatten(), packages: packages.flatten(), postgres };
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
