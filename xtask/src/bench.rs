//! `cargo xtask bench`: speed, as ratios within one run.

use anyhow::Result;

use crate::Outcome;
use crate::workspace::cargo;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measures less, and less precisely
    #[arg(long)]
    quick: bool,
    /// Writes the report as JSON
    #[arg(long)]
    json: bool,
    /// Commits the instructions that are counted, for this reason; with the group `instructions` only
    #[arg(long, value_name = "REASON", requires = "group")]
    accept: Option<String>,
    /// Measures this alone, and leaves docs/BENCHMARKS.md as it is
    #[arg(value_parser = GROUPS)]
    group: Option<String>,
}

/// In a process of its own: measurements need an optimized build, and a contributor's other commands do not.
pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let mut arguments = vec!["run", "--quiet", "--release", "--package", "mrtr-bench"];
    if options.measures_servers() {
        arguments.extend(["--features", "peers"]);
    }
    arguments.push("--");
    arguments.extend(options.arguments());
    cargo(&arguments, &[])?;
    Ok(Outcome::Passed)
}

impl Options {
    /// Only then are the servers of others built, which takes minutes.
    fn measures_servers(&self) -> bool {
        self.group.as_deref().is_none_or(|group| group == SERVER)
    }

    /// What the program that measures is told of them.
    fn arguments(&self) -> Vec<&str> {
        let Self { quick, json, accept, group } = self;
        let mut arguments = Vec::new();
        arguments.extend(quick.then_some("--quick"));
        arguments.extend(json.then_some("--json"));
        if let Some(reason) = accept {
            arguments.extend(["--accept", reason]);
        }
        arguments.extend(group.as_deref());
        arguments
    }
}

const SERVER: &str = "server";
const GROUPS: [&str; 8] = [SERVER, "client", "growth", "state", "message", "tasks", "postgres", "instructions"];
