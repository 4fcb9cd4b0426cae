//! Hostile callers beside honest ones, for `cargo xtask soak`: a server on one core, honest clients that are timed, a tenth
//! of all connections that attack, and the judgement.
//!
//! The server, the honest clients and each attack are processes of their own, so that what an attack takes is the
//! server's, and what it leaves behind is seen when its process is gone. All of it stays on this machine's loopback
//! addresses, and every attack is bounded in connections, requests and time.

mod attack;
mod attacks;
mod caller;
mod connection;
mod honest;
mod message;
mod process;
mod report;
mod run;
mod samples;
mod server;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// glibc's allocator raises the size from which it gives memory back with each large block that is freed, and keeps a heap
/// for each thread: after attacks with large bodies it kept 180 MiB. This one gives back what is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Attacks a server, and judges what honest callers notice.
#[derive(Parser)]
enum Command {
    /// Run the whole soak: a baseline, each attack in turn, and the time after
    Run(run::Options),
    /// Serve, on one core
    Serve(server::Options),
    /// Run one attack, and say what it sent
    Attack(attack::Options),
}

fn main() -> Result<ExitCode> {
    let command = Command::parse();
    // Threads inherit the cores of the thread that starts them, so this comes before the runtime.
    let core = matches!(command, Command::Serve(_)).then_some(process::SERVER_CORE);
    process::pin(core)?;
    if matches!(command, Command::Attack(_)) {
        process::give_way()?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Run(options) => run::run(&options).await,
            Command::Serve(options) => server::serve(options).await.map(|()| ExitCode::SUCCESS),
            Command::Attack(options) => attack::run(options).await.map(|()| ExitCode::SUCCESS),
        }
    })
}
