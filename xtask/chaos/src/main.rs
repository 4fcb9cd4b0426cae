//! Tasks under fire, for `cargo xtask chaos` and the tests with real processes: the harness that kills, a worker that is
//! killed at any moment, and the clients that keep the books.
//!
//! Each worker is a server over one store of tasks, an SQLite file or a database of PostgreSQL, which all workers share.
//! What its flows do is also written to a file outside of that store, the trace, so that what really ran can be compared
//! with what was recorded and returned.

mod check;
mod clients;
mod customer;
mod faults;
mod fleet;
mod harness;
mod tools;
mod trace;
mod worker;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use tokio::runtime::Runtime;

/// Serves tasks that survive, or has them survive.
#[derive(Parser)]
enum Command {
    /// Start workers and clients, kill workers at any moment, and say whether all that must hold does
    Run(harness::Options),
    /// Serve tasks over a store that other workers share
    Worker(worker::Options),
    /// Create tasks, answer what they ask through any worker that lives, and check at the end that nothing was lost
    Clients(clients::Options),
    /// Bring up a PostgreSQL of its own, and make it fail as standard input says
    Database,
}

fn main() -> Result<ExitCode> {
    match Command::parse() {
        Command::Run(options) => Ok(xtask_support::exit(harness::run(&options))),
        Command::Worker(options) => Runtime::new()?.block_on(worker::run(options)).map(|()| ExitCode::SUCCESS),
        Command::Clients(options) => Runtime::new()?.block_on(clients::run(options)),
        Command::Database => faults::bring_up().map(|()| ExitCode::SUCCESS),
    }
}
