//! Tasks under fire, for `cargo xtask chaos` and the tests with real processes: a worker that is killed at any moment, and
//! the clients that keep the books.
//!
//! Each worker is a server over one store of tasks, an SQLite file or a database of PostgreSQL, which all workers share. What its flows do is also written to a
//! file outside of that store, the trace, so that what really ran can be compared with what was recorded and returned.

#[path = "chaos/check.rs"]
mod check;
#[path = "chaos/clients.rs"]
mod clients;
#[path = "chaos/clock.rs"]
mod clock;
#[path = "chaos/customer.rs"]
mod customer;
#[path = "chaos/database.rs"]
mod database;
#[path = "chaos/figures.rs"]
mod figures;
#[path = "chaos/ledger.rs"]
mod ledger;
#[path = "chaos/random.rs"]
mod random;
#[path = "chaos/store.rs"]
mod store;
#[path = "chaos/tools.rs"]
mod tools;
#[path = "chaos/trace.rs"]
mod trace;
#[path = "chaos/worker.rs"]
mod worker;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// Serves tasks that survive, or has them survive.
#[derive(Parser)]
enum Command {
    /// Serves tasks over a store that other workers share
    Worker(worker::Options),
    /// Creates tasks, answers what they ask through whichever worker lives, and checks at the end that nothing was lost
    Clients(clients::Options),
    /// Brings up a PostgreSQL of its own, and has it fail as it is told
    Database,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    match Command::parse() {
        Command::Worker(options) => worker::run(options).await.map(|()| ExitCode::SUCCESS),
        Command::Clients(options) => clients::run(options).await,
        Command::Database => database::run().map(|()| ExitCode::SUCCESS),
    }
}
