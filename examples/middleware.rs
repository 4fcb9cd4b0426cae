//! Middleware: an audit that hears of every request and its end, and a quota that refuses the second call of a caller.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin middleware
//! ```
//!
//! Server and clients are one program, and talk over HTTP. `before` runs in the order in which the middleware was added,
//! `after` in the reverse order. A retry is a request of its own: the audit writes down every round, and the quota counts
//! the first one alone.
//!
//! ```text
//! ada calls greet
//! ada: greet is answered
//! ada calls greet, with an answer
//! ada: greet is answered
//! Hello, Ada
//! ada calls greet
//! ada: greet is refused: You have no calls left
//! bob calls greet
//! bob: greet is answered
//! bob calls greet, with an answer
//! bob: greet is answered
//! Hello, Bob
//! ```

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderValue, header};
use mrtr::async_trait;
use mrtr::http::{Authenticator, Challenge, Identity, RequestHead};
use mrtr::prelude::*;
use mrtr::schema::{ErrorCode, ErrorObject};
use mrtr::server::extend::{Middleware, RequestInfo};
use mrtr::server::{Caller, ProtocolError};

/// Writes down who calls what, and how it ends.
#[derive(Debug)]
struct Audit;

#[async_trait]
impl Middleware for Audit {
    async fn before(&self, call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        let retry = if call.is_retry { ", with an answer" } else { "" };
        println!("{} calls {}{retry}", who(call), call.name.unwrap_or(call.method));
        Ok(())
    }

    async fn after(&self, call: &RequestInfo<'_>, outcome: Result<(), &ErrorObject>) {
        let outcome = outcome.map_or_else(|error| format!("refused: {}", error.message), |()| "answered".into());
        println!("{}: {} is {outcome}", who(call), call.name.unwrap_or(call.method));
    }
}

fn who<'a>(call: &RequestInfo<'a>) -> &'a str {
    call.caller.map_or("a stranger", Caller::subject)
}

/// Lets each caller call tools so many times. Other requests, and the retries of a call, are not counted.
#[derive(Debug)]
struct Quota {
    most: u32,
    used: Mutex<HashMap<String, u32>>,
}

#[async_trait]
impl Middleware for Quota {
    async fn before(&self, call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        if call.method != "tools/call" || call.is_retry {
            return Ok(());
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = used.entry(who(call).to_owned()).or_default();
        if *used == self.most {
            return Err(ProtocolError::new(ErrorCode::new(429), "You have no calls left"));
        }
        *used += 1;
        Ok(())
    }
}

#[rustfmt::skip] #[data] struct Name { name: String }

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

/// Says who calls: a real one checks signed tokens.
#[derive(Debug)]
struct Tokens;

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let name = match head.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes) {
            Some(b"Bearer token-of-ada") => "ada",
            Some(b"Bearer token-of-bob") => "bob",
            _ => return Err(Challenge::bearer()),
        };
        Ok(Identity::of(Caller::new("https://id.example.com", name)))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("greeter", "1.0.0")
        .middleware(Audit)
        .middleware(Quota { most: 1, used: Mutex::default() })
        .tool(Tool::new("greet", greet))
        .build()?;
    let bound = Serve::new(Endpoint::new(server, Tokens)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = |token: &str, name: &'static str| {
        let answer = move |form: FormRequest| std::future::ready(form.accept(&json!({ "name": name })));
        Ok::<_, Failure>(Client::builder(HttpTransport::new(&url)?.bearer(token)).on_elicit(answer).build())
    };
    let (ada, bob) = (client("token-of-ada", "Ada")?, client("token-of-bob", "Bob")?);
    println!("{}", ada.call_tool("greet", json!({})).await?.text());
    if ada.call_tool("greet", json!({})).await.is_ok() {
        return Err("the quota did not hold".into());
    }
    println!("{}", bob.call_tool("greet", json!({})).await?.text());
    Ok(())
}
