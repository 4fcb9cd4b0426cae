//! Speed, as ratios within one run: `cargo xtask bench`.

mod machine;
mod measure;
mod message;
#[cfg(feature = "peers")]
mod peers;
mod report;
mod server;
mod state;
mod statistics;
mod tracker;

use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};

use machine::{Core, pin};
use report::{Group, Report};
use server::Candidate;

/// Speed, as ratios within one run
#[derive(Parser)]
#[command(name = "cargo xtask bench", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Measures less, and less precisely
    #[arg(long)]
    quick: bool,
    /// Writes the report as JSON
    #[arg(long)]
    json: bool,
    /// Measures this alone, and leaves the document as it is
    group: Option<GroupName>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupName {
    Server,
    State,
    Message,
}

impl GroupName {
    fn measure(self, scale: Scale) -> Result<Group> {
        Ok(match self {
            Self::Server => server::measure(scale)?,
            Self::State => state::measure(scale),
            Self::Message => message::measure(scale),
        })
    }
}

/// What the benchmark runs in processes of their own.
#[derive(Subcommand)]
enum Part {
    /// Serves the tracker, to be measured
    #[command(hide = true)]
    Serve {
        candidate: Candidate,
        #[arg(long)]
        port: u16,
    },
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Quick,
    Full,
}

impl Scale {
    /// How often each candidate has its turn.
    fn turns(self) -> usize {
        match self {
            Self::Quick => 5,
            Self::Full => 15,
        }
    }

    /// How long a turn lasts.
    fn window(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(150),
            Self::Full => Duration::from_millis(400),
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(Part::Serve { candidate, port }) = arguments.part {
        pin(Core::Measured);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(candidate.serve(port));
    }
    pin(Core::Load);
    let scale = if arguments.quick { Scale::Quick } else { Scale::Full };
    let names = arguments.group.as_ref().map_or(GroupName::value_variants(), std::slice::from_ref);
    let groups = names.iter().map(|name| name.measure(scale)).collect::<Result<_>>()?;
    let report =
        Report { version: env!("CARGO_PKG_VERSION"), machine: machine::description(), quick: arguments.quick, groups };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.groups.iter().for_each(|group| println!("{group}"));
    }
    Ok(())
}
