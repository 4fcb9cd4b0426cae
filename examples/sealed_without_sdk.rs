//! Sealed state without our server: plain axum and `serde_json`, with `mrtr-state` for the sealing.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin sealed_without_sdk
//! ```
//!
//! A tool quotes a price that changes all the time, and asks whether to book. The quote goes to the client as
//! `requestState` and comes back with the answer: sealed, so that the client cannot write a price of its own, and bound
//! to its caller and its arguments, so that it is valid for no other request. The server keeps nothing.
//!
//! ```text
//! ada: A room in Oslo costs 101 euros. Shall it be booked?
//! bob, with ada's state: The request state is not valid
//! ada, for Paris: The request state is not valid
//! ada: A room in Oslo is booked for 101 euros; by now it costs 104
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Router, routing::post};
use mrtr_schema::{RawMembers, Revision};
use mrtr_state::{Binding, JsonPayload, Principal, Sealer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What the server must remember.
#[derive(Serialize, Deserialize)]
struct Quote {
    euros: u64,
}

impl JsonPayload for Quote {
    const KIND: &'static str = "com.example/quote";
}

#[derive(Deserialize)]
struct Request<'a> {
    id: Value,
    method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

#[derive(Clone)]
struct Hotel {
    sealer: Sealer,
    price: Arc<AtomicU64>,
}

impl Hotel {
    /// One round of `tools/call`; an SDK does much more around it.
    fn answer(&self, caller: &str, body: &str) -> Result<Value, Box<dyn Error>> {
        let request: Request<'_> = serde_json::from_str(body)?;
        let params = RawMembers::parse(request.params.get())?;
        let given: Value = serde_json::from_str(request.params.get())?;
        let city = given["arguments"]["city"].as_str().unwrap_or("nowhere");
        let price = self.price.fetch_add(1, Ordering::Relaxed) + 1;

        // The parameters as they came, without answers and state, and who sent them.
        let binding = Binding::new(Revision::V2026_07_28, &request.method, &params)?;
        let binding = binding.principal(Principal { issuer: "https://id.example.com", subject: caller });
        let now = SystemTime::now().into();
        let Some(state) = params.text("requestState")? else {
            let state = self.sealer.seal(&Quote { euros: price }, &binding, now)?;
            let form = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"] });
            let message = format!("A room in {city} costs {price} euros. Shall it be booked?");
            let question = json!({ "mode": "form", "message": message, "requestedSchema": form });
            return Ok(json!({ "jsonrpc": "2.0", "id": request.id, "result": {
                "resultType": "input_required", "requestState": state.untrusted_text(),
                "inputRequests": { "book": { "method": "elicitation/create", "params": question } },
            } }));
        };
        let quote = match self.sealer.open_text::<Quote>(&state, &binding, now) {
            Ok(opened) => opened.into_payload(),
            // Why goes to the log alone. On the wire there is one error for every reason.
            Err(refusal) => {
                tracing::warn!(reason = refusal.label(), "a state was refused");
                return Ok(json!({ "jsonrpc": "2.0", "id": request.id, "error": refusal.to_error() }));
            }
        };
        let text = if given["inputResponses"]["book"]["content"]["yes"] == true {
            format!("A room in {city} is booked for {} euros; by now it costs {price}", quote.euros)
        } else {
            "Nothing is booked".to_owned()
        };
        let content = json!([{ "type": "text", "text": text }]);
        Ok(json!({ "jsonrpc": "2.0", "id": request.id, "result": { "resultType": "complete", "content": content } }))
    }
}

async fn mcp(State(hotel): State<Hotel>, headers: HeaderMap, body: String) -> Result<String, StatusCode> {
    // A real server checks a signed token.
    let caller = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let reply = hotel.answer(caller.ok_or(StatusCode::UNAUTHORIZED)?, &body);
    reply.map(|reply| reply.to_string()).map_err(|_| StatusCode::BAD_REQUEST)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let hotel = Hotel { sealer: Sealer::this_process_only(), price: Arc::new(AtomicU64::new(100)) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(axum::serve(listener, Router::new().route("/mcp", post(mcp)).with_state(hotel)).into_future());

    let asked = send(&url, "ada", json!({ "name": "book", "arguments": { "city": "Oslo" } })).await?;
    println!("ada: {}", text(&asked["result"]["inputRequests"]["book"]["params"]["message"]));
    let retry = |city: &str| {
        json!({ "name": "book", "arguments": { "city": city }, "requestState": asked["result"]["requestState"],
            "inputResponses": { "book": { "action": "accept", "content": { "yes": true } } } })
    };
    println!("bob, with ada's state: {}", text(&send(&url, "bob", retry("Oslo")).await?["error"]["message"]));
    println!("ada, for Paris: {}", text(&send(&url, "ada", retry("Paris")).await?["error"]["message"]));
    println!("ada: {}", text(&send(&url, "ada", retry("Oslo")).await?["result"]["content"][0]["text"]));
    Ok(())
}

/// Plays a client.
async fn send(url: &str, caller: &str, params: Value) -> Result<Value, Box<dyn Error>> {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = reqwest::Client::new().post(url).bearer_auth(caller).body(message.to_string());
    Ok(serde_json::from_str(&request.send().await?.error_for_status()?.text().await?)?)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("(no text)")
}
