//! A client for people at a terminal: it asks the server's questions there, and sends the answers back over HTTP.
//!
//! Server and client are one program here, and talk through a socket. Run it and answer, or pipe the answers in:
//!
//! ```sh
//! cargo run -p mrtr-examples --bin terminal_client
//! printf 'Duplicate\n4301\n' | cargo run -p mrtr-examples --bin terminal_client
//! ```

use anyhow::Result;
use futures_util::StreamExt;
use mrtr_client::{Client, EventKind};
use mrtr_http::{Endpoint, HttpTransport, Serve};
use mrtr_schema::Printable;
use mrtr_server::{Flow, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema, PartialEq)]
enum Resolution {
    Fixed,
    Duplicate,
}

#[derive(Deserialize, JsonSchema)]
struct Resolved {
    resolution: Resolution,
}

#[derive(Deserialize, JsonSchema)]
struct Original {
    /// The number of the older report
    work_item: u64,
}

async fn resolve(flow: Flow) -> Result<String> {
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution == Resolution::Fixed {
        return Ok("Bug resolved".to_owned());
    }
    let Original { work_item } = flow.elicit("original", "Which work item is the original?").await?;
    Ok(format!("Bug resolved as duplicate of #{work_item}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::builder("tracker", "1.0.0").tool(Tool::new("resolve", resolve)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).terminal().build();
    let rounds = client.events().for_each(async |event| {
        if let EventKind::Round(round) = event.kind {
            eprintln!("-- round {round}");
        }
    });
    tokio::spawn(rounds);
    let result = client.call_tool("resolve", json!({})).await?;
    println!("{}", Printable::text(&result.text()));
    Ok(())
}
