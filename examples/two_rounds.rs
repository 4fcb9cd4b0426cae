//! A handler that asks twice and has one effect, in straight-line code, with each of its messages on the wire.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin two_rounds
//! ```
//!
//! Server and client are one program, and talk over HTTP. The program prints each message: the method, the keys that
//! are answered or asked, and the size of the state that the client carries, since the server keeps nothing. The
//! handler runs in every round, and its step once.
//!
//! ```text
//! --> tools/call, answers [], carries 0 bytes
//! <-- asks ["resolution"], carries … bytes
//! --> tools/call, answers ["resolution"], carries … bytes
//! <-- asks ["original"], carries … bytes
//! --> tools/call, answers ["original"], carries … bytes
//! tracker: #4522 is linked to #4301
//! <-- Bug #4522 is a duplicate of #4301
//! ```

use mrtr::client::{AnswerError, ObservedTransport, WireMessage};
use mrtr::prelude::*;
use mrtr::schema::elicitation::ElicitResult;

#[rustfmt::skip] #[data] struct Bug { id: u64 }
#[rustfmt::skip] #[data] #[derive(PartialEq)] enum Resolution { Fixed, Duplicate }
#[rustfmt::skip] #[data] struct Resolved { resolution: Resolution }
#[rustfmt::skip] #[data] struct Original { duplicate_of: u64 }

async fn resolve(flow: Flow, bug: Bug) -> Result<String> {
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution == Resolution::Fixed {
        return Ok(format!("Bug #{} is fixed", bug.id));
    }
    let Original { duplicate_of } = flow.elicit("original", "Which one is the original?").await?;
    flow.step("link", link(bug.id, duplicate_of)).await?;
    Ok(format!("Bug #{} is a duplicate of #{duplicate_of}", bug.id))
}

#[expect(clippy::unused_async, reason = "a real tracker is asked over the network")]
async fn link(duplicate: u64, original: u64) -> Result<()> {
    println!("tracker: #{duplicate} is linked to #{original}");
    Ok(())
}

async fn answer(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    match form.context().key.as_str() {
        "resolution" => form.accept(&json!({ "resolution": "Duplicate" })),
        _ => form.accept(&json!({ "duplicate_of": 4301 })),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("tracker", "1.0.0").tool(Tool::new("resolve", resolve)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(ObservedTransport::new(transport, show)).on_elicit(answer).build();
    client.call_tool("resolve", json!({ "id": 4522 })).await?;
    Ok(())
}

/// Shows a message that goes out or comes in.
fn show(message: WireMessage<'_>) {
    let (WireMessage::Request(text) | WireMessage::Response(text)) = message else { return };
    let Ok(message) = serde_json::from_str::<Value>(text) else { return };
    let (params, result) = (&message["params"], &message["result"]);
    if let Some(method) = message["method"].as_str() {
        let answers = keys(&params["inputResponses"]);
        println!("--> {method}, answers {answers:?}, carries {} bytes", length(&params["requestState"]));
    } else if let Some(text) = result["content"][0]["text"].as_str() {
        println!("<-- {text}");
    } else {
        println!("<-- asks {:?}, carries {} bytes", keys(&result["inputRequests"]), length(&result["requestState"]));
    }
}

fn keys(map: &Value) -> Vec<&String> {
    map.as_object().into_iter().flat_map(|map| map.keys()).collect()
}

fn length(state: &Value) -> usize {
    state.as_str().map_or(0, str::len)
}
