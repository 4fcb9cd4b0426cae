//! Programs of the interop matrix that are made with other SDKs: of each a server and a client.
//!
//! They are no part of a measurement: `cargo xtask interop` runs them, and shares the build of the SDKs that way.

mod neva_client;
mod neva_server;
mod outcome;
mod person;
mod questions;
mod rmcp_client;
mod rmcp_server;
mod scenario;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};

use scenario::Scenario;

#[derive(Clone, Copy, ValueEnum)]
enum Sdk {
    Neva,
    Rmcp,
}

/// Which of the two eras a client opens a conversation in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Era {
    /// As the SDK does by itself
    Default,
    Modern,
    Legacy,
}

/// What a server is called with.
#[derive(Args)]
pub(crate) struct ServerOptions {
    sdk: Sdk,
    #[command(subcommand)]
    place: Place,
}

/// Where a server serves.
#[derive(Subcommand)]
enum Place {
    /// At `http://127.0.0.1:PORT/mcp`
    Http { port: u16 },
    /// On standard input and output
    Stdio,
}

/// What a client is called with.
#[derive(Args)]
pub(crate) struct ClientOptions {
    sdk: Sdk,
    scenario: Scenario,
    era: Era,
    #[command(subcommand)]
    server: Server,
}

/// Where a client finds its server.
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
pub(crate) async fn serve(options: &ServerOptions) -> Result<()> {
    match options.sdk {
        Sdk::Neva => neva_server::serve(&options.place).await,
        Sdk::Rmcp => rmcp_server::serve(&options.place).await,
    }
}

/// Has the conversation and prints what came of it.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn call(options: &ClientOptions) -> Result<()> {
    let ClientOptions { sdk, scenario, era, server } = options;
    let outcome = match sdk {
        Sdk::Neva => neva_client::call(*scenario, *era, server).await?,
        Sdk::Rmcp => rmcp_client::call(*scenario, *era, server).await?,
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}
