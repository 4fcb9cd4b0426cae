//! The `mrtr` command: what it is asked to do, and where that is done.

mod tour;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Calls MCP servers from a terminal, answers what they ask, and shows Multi Round-Trip Requests at work.
#[derive(Parser)]
#[command(name = "mrtr", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows what Multi Round-Trip Requests are for, story by story, on servers of its own
    Tour(tour::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Tour(options) => tour::run(options).await,
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
