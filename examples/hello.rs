//! A server that asks, and a client that answers on this terminal, in one program, over real HTTP.
//!
//! `cargo run -p mrtr-examples --bin hello` asks two questions and draws the messages on the wire. Answers may be piped
//! in, one per line: `printf 'Duplicate\n4301\n' | cargo run -p mrtr-examples --bin hello`.
//!
//! ```text
//! client → server  tools/call resolve
//! server → client  input_required (resolution: How was this bug resolved?), … bytes of sealed state
//! http://127.0.0.1:…/mcp asks, for `resolve`:
//!   How was this bug resolved?
//!   1. Fixed
//!   2. Duplicate
//! ? resolution: Duplicate
//! client → server  tools/call resolve, with the answer and the state
//! server → client  input_required (original: Which one is the original?), … bytes of sealed state
//! http://127.0.0.1:…/mcp asks, for `resolve`:
//!   Which one is the original?
//!   a whole number, at least 0
//! ? duplicate_of: 4301
//! client → server  tools/call resolve, with the answer and the state
//!   tracker: #4522 is linked to #4301
//! server → client  complete
//! Bug #4522 is a duplicate of #4301
//! ```

use mrtr::client::{ObservedTransport, WireMessage};
use mrtr::prelude::*;

#[data]
struct Bug {
    id: u64,
}
#[data]
#[derive(PartialEq)]
enum Resolution {
    Fixed,
    Duplicate,
}
#[data]
struct Resolved {
    resolution: Resolution,
}
#[data]
struct Original {
    duplicate_of: u64,
}

async fn resolve(flow: Flow, bug: Bug) -> Result<String> {
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution == Resolution::Fixed {
        return Ok(format!("Bug #{} is fixed", bug.id));
    }
    let Original { duplicate_of } = flow.elicit("original", "Which one is the original?").await?;
    flow.step("link", link(bug.id, duplicate_of)).await?;
    Ok(format!("Bug #{} is a duplicate of #{duplicate_of}", bug.id))
}

/// The effect: once, however often the handler runs.
#[expect(clippy::unused_async, reason = "a real tracker is asked over the network")]
async fn link(duplicate: u64, original: u64) -> Result<()> {
    println!("  tracker: #{duplicate} is linked to #{original}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("tracker", "1.0.0").tool(Tool::new("resolve", resolve)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(bound.run(async { drop(stopped.await) }));

    let transport = ObservedTransport::new(HttpTransport::new(&url)?, draw);
    let client = Client::builder(transport).terminal().build();
    let result = client.call_tool("resolve", json!({ "id": 4522 })).await?;
    println!("\n{}", result.text());

    drop(stop);
    serving.await??;
    Ok(())
}

// ---- What draws the wire.

fn draw(message: WireMessage<'_>) {
    let (WireMessage::Request(text) | WireMessage::Response(text)) = message else { return };
    let Ok(message) = serde_json::from_str::<Value>(text) else { return };
    if let Some(params) = message.get("params") {
        let parts = [("inputResponses", "the answer"), ("requestState", "the state")];
        let brings: Vec<_> = parts.into_iter().filter_map(|(member, name)| params.get(member).map(|_| name)).collect();
        let brings = if brings.is_empty() { String::new() } else { format!(", with {}", brings.join(" and ")) };
        println!("\nclient → server  {} {}{brings}", text_of(&message["method"]), text_of(&params["name"]));
        return;
    }
    let result = &message["result"];
    let asks = result["inputRequests"].as_object().into_iter().flatten();
    let asks: Vec<_> = asks.map(|(key, ask)| format!("{key}: {}", text_of(&ask["params"]["message"]))).collect();
    if asks.is_empty() {
        println!("server → client  {}", text_of(&result["resultType"]));
    } else {
        let (asks, state) = (asks.join("; "), text_of(&result["requestState"]).len());
        println!("server → client  input_required ({asks}), {state} bytes of sealed state");
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
