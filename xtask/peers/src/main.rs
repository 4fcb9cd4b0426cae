//! Programs that are made with other SDKs, each as its own documentation shows: the tracker of the benchmark, and of the
//! interop matrix a client and a server.
//!
//! `cargo xtask bench` and `cargo xtask interop` start them; what is measured and what is judged is theirs.

mod conversation;
mod neva_client;
mod neva_server;
mod neva_tracker;
mod rmcp_client;
#[cfg(test)]
mod rmcp_inline_await;
mod rmcp_server;
mod rmcp_tools;
mod rmcp_tracker;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use core_affinity::CoreId;

use conversation::Scenario;

/// A program with another SDK
#[derive(Parser)]
enum Command {
    /// Serve the benchmark's tracker at `http://127.0.0.1:PORT/mcp`
    Serve {
        sdk: Sdk,
        #[arg(long)]
        port: u16,
        /// The core to run on
        #[arg(long)]
        core: Option<usize>,
    },
    /// Serve the interop matrix
    Server(ServerOptions),
    /// Have a conversation of the interop matrix, and print what came of it
    Client(ClientOptions),
}

#[derive(Clone, Copy, ValueEnum)]
enum Sdk {
    Neva,
    Rmcp,
}

/// The era in which a client opens a conversation.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Era {
    /// The SDK's own choice
    Default,
    Modern,
    Legacy,
}

/// The arguments of a server.
#[derive(Args)]
struct ServerOptions {
    sdk: Sdk,
    #[command(subcommand)]
    place: Place,
}

/// The place where a server serves.
#[derive(Subcommand)]
enum Place {
    /// At `http://127.0.0.1:PORT/mcp`
    Http { port: u16 },
    /// On standard input and output
    Stdio,
}

/// The arguments of a client.
#[derive(Args)]
struct ClientOptions {
    sdk: Sdk,
    scenario: Scenario,
    era: Era,
    #[command(subcommand)]
    server: Server,
}

/// The place where a client finds its server.
#[derive(Subcommand)]
enum Server {
    /// At a URL
    Http { url: String },
    /// In a process of its own
    Stdio {
        command: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Command::parse() {
        Command::Serve { sdk, port, core } => {
            // If the process cannot be kept on the core, the measurement continues and is less precise.
            if let Some(id) = core {
                core_affinity::set_for_current(CoreId { id });
            }
            match sdk {
                Sdk::Neva => neva_tracker::serve(port).await,
                Sdk::Rmcp => rmcp_tracker::serve(port).await,
            }
        }
        Command::Server(ServerOptions { sdk, place }) => match sdk {
            Sdk::Neva => neva_server::serve(&place).await,
            Sdk::Rmcp => rmcp_server::serve(&place).await,
        },
        Command::Client(ClientOptions { sdk, scenario, era, server }) => {
            let outcome = match sdk {
                Sdk::Neva => neva_client::call(scenario, era, &server).await?,
                Sdk::Rmcp => rmcp_client::call(scenario, era, &server).await?,
            };
            println!("{}", serde_json::to_string(&outcome)?);
            Ok(())
        }
    }
}

fn resolutions() -> Vec<String> {
    ["Fixed", "Won't Fix", "Duplicate", "By Design"].map(String::from).into()
}

fn closed(work_item: u64, fields: usize) -> String {
    format!("Bug #{work_item} resolved, {fields} fields set")
}

const SECRET: [u8; 32] = [7; 32];
