//! A server on stdin and stdout, for hosts that start their servers themselves.
//!
//! Such a host runs `cargo run -p mrtr-examples --bin stdio_server`: it reads messages line by line, and ends when its
//! input ends. Its own output goes to stderr.

use std::time::Duration;

use anyhow::Result;
use mrtr_server::{Flow, Sealer, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Crossing {
    /// Where to land
    port: String,
}

#[derive(Deserialize, JsonSchema)]
struct Passenger {
    /// The name on the ticket
    name: String,
}

/// Books a crossing, once it knows for whom.
async fn book(flow: Flow, crossing: Crossing) -> Result<String> {
    flow.progress(1, Some(2), "asking").await;
    let passenger: Passenger = flow.elicit("passenger", "Who is travelling?").await?;
    let port = crossing.port;
    flow.step("book", async {
        // On stdout it would be taken for a message: `serve` has sent it to stderr.
        println!("booked to {port}");
        Ok::<_, anyhow::Error>(())
    })
    .await?;
    Ok(format!("{} is booked to {port}", passenger.name))
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// For how long, in seconds
    seconds: u64,
}

/// Tells when the ferry is in; a client that does not want to know any more cancels it.
async fn wait_for_ferry(flow: Flow, wait: Wait) -> Result<String> {
    let _leaving = Leaving;
    flow.progress(0, None, "waiting").await;
    tokio::time::sleep(Duration::from_secs(wait.seconds)).await;
    Ok("The ferry is in".into())
}

/// Says on stderr that the wait is over, however it ended.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        eprintln!("no longer waiting");
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::builder("harbour", env!("CARGO_PKG_VERSION"))
        // A client that starts the server again goes on with what it asked before.
        .sealer(if std::env::var_os("MRTR_STATE_KEYS").is_some() {
            Sealer::from_env("MRTR_STATE_KEYS")?
        } else {
            Sealer::this_process_only()
        })
        .tool(Tool::new("book", book).description("Books a crossing"))
        .tool(Tool::new("wait_for_ferry", wait_for_ferry).description("Waits for the ferry"))
        .build()?;
    Ok(mrtr_stdio::serve(server).await?)
}
