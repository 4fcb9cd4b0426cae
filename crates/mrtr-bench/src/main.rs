//! Speed, as ratios within one run: `cargo xtask bench`.

mod client;
mod document;
mod growth;
mod instructions;
mod machine;
mod measure;
mod message;
mod picture;
mod postgres;
mod report;
mod server;
mod state;
// The store keeps its statements in this type, so the benchmark takes them from there.
#[path = "../../mrtr-postgres/src/statement.rs"]
mod statement;
mod tasks;
mod tracker;
#[path = "../../mrtr-postgres/src/values.rs"]
#[allow(dead_code, reason = "not every value is part of what is measured")]
mod values;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand, ValueEnum};

// The shared statements look for this name here.
use mrtr_postgres::Schema;

use machine::{Core, pin};
use report::{Group, Report};
use server::Candidate;

/// Speed, as ratios within one run
#[derive(Parser)]
#[command(name = "cargo xtask bench", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Measure less, and less precisely
    #[arg(long)]
    quick: bool,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
    /// Commit the instructions that are counted, for this reason; with the group `instructions` only
    #[arg(long, value_name = "REASON", requires = "group", value_parser = NonEmptyStringValueParser::new())]
    accept: Option<String>,
    /// Measure this alone, and leave the document as it is
    group: Option<GroupName>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupName {
    Server,
    Client,
    State,
    Message,
    Growth,
    Tasks,
    Postgres,
    Instructions,
}

impl GroupName {
    /// Measures in a thread of its own, which is kept on a core. A database has all cores, as its processes have.
    fn measure_pinned(self, scale: Scale, accept: Option<&str>) -> Result<Group> {
        std::thread::scope(|scope| {
            let measuring = scope.spawn(|| {
                if self != Self::Postgres {
                    pin(Core::Load);
                }
                self.measure(scale, accept)
            });
            measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn measure(self, scale: Scale, accept: Option<&str>) -> Result<Group> {
        Ok(match self {
            Self::Server => server::measure(scale)?,
            Self::Client => client::measure(scale)?,
            Self::State => state::measure(scale),
            Self::Message => message::measure(scale),
            Self::Growth => growth::measure(scale)?,
            Self::Tasks => tasks::measure(scale)?,
            Self::Postgres => postgres::measure(scale)?,
            Self::Instructions => instructions::measure(accept)?,
        })
    }
}

/// A part that the benchmark runs in a process of its own.
#[derive(Subcommand)]
enum Part {
    /// Serve the tracker, to be measured
    #[command(hide = true)]
    Serve {
        candidate: Candidate,
        #[arg(long)]
        port: u16,
        #[arg(long)]
        core: Option<usize>,
    },
    /// Keep tasks, phase by phase, as the parent process tells
    #[command(hide = true)]
    KeepTasks(tasks::child::Options),
    /// Write to a file without a pause, until it is killed
    #[command(hide = true)]
    WriteWithoutPause(tasks::neighbour::Options),
    /// Serve with so many tasks that wait, and measure what the parent process tells
    #[command(hide = true)]
    WaitWithTasks { waiting: usize },
    /// Run a path so often, to have its instructions counted; with at most so many runs in mind
    #[command(hide = true)]
    Count { path: instructions::Path, times: u32, most: u32 },
    /// Count allocations, parses and openings of a request, and fail if it is not one parse and one opening
    Calls,
}

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Quick,
    Full,
}

impl Scale {
    /// The number of turns for each candidate.
    fn turns(self) -> usize {
        match self {
            Self::Quick => 5,
            Self::Full => 15,
        }
    }

    /// The length of a turn.
    fn window(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(150),
            Self::Full => Duration::from_millis(400),
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    let outcome = match arguments.part.take() {
        Some(part) => part.run(),
        None => measure(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Part {
    fn run(self) -> Result<()> {
        match self {
            Self::Serve { candidate, port, core } => {
                core.into_iter().for_each(machine::pin_to);
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(candidate.serve(port))
            }
            Self::KeepTasks(options) => tasks::child::run(&options),
            Self::WriteWithoutPause(options) => tasks::neighbour::run(&options),
            Self::WaitWithTasks { waiting } => tasks::waiting::run(waiting),
            Self::Count { path, times, most } => path.run(times, most),
            Self::Calls => {
                instructions::require()?;
                let counts = instructions::calls()?;
                println!("{}", serde_json::to_string_pretty(&counts)?);
                instructions::check_one_pass(&counts)
            }
        }
    }
}

fn measure(arguments: &Arguments) -> Result<()> {
    let counts = arguments.group == Some(GroupName::Instructions);
    ensure!(counts || arguments.accept.is_none(), "--accept is for the group `instructions`");
    if counts {
        instructions::require()?;
    }
    let scale = if arguments.quick { Scale::Quick } else { Scale::Full };
    let names = arguments.group.as_ref().map_or(GroupName::value_variants(), std::slice::from_ref);
    let groups = names.iter().map(|name| name.measure_pinned(scale, arguments.accept.as_deref()));
    let groups = groups.collect::<Result<_>>()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = Report {
        versions: report::locked(&root)?,
        compiler: machine::COMPILER,
        machine: machine::description(),
        date: today(),
        quick: arguments.quick,
        groups,
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.groups.iter().for_each(|group| println!("{group}"));
    }
    if arguments.group.is_none() {
        document::write(&report, &root)?;
    }
    if counts {
        report.groups.iter().try_for_each(instructions::check)?;
    }
    Ok(())
}

/// Today, such as `28 Jul 2026`: the part between the day of the week and the time.
fn today() -> String {
    httpdate::fmt_http_date(SystemTime::now()).chars().skip(5).take(11).collect()
}
