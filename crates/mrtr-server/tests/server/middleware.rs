//! Middleware: may refuse a request before it runs, in every round, and hears how it ended.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::{ErrorCode, ErrorObject};
use mrtr_server::extend::{Middleware, RequestInfo};
use mrtr_server::{Caller, Failure, Flow, ProtocolError, Resource, Server, Tool, ToolError};
use serde_json::json;

use crate::support::{builder, client, greet, name};

#[derive(Debug, Clone, Default)]
struct Audit {
    who: &'static str,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Audit {
    fn write(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

#[async_trait]
impl Middleware for Audit {
    async fn before(&self, call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        let caller = call.caller.map_or("nobody", Caller::subject);
        let retry = if call.is_retry { " again" } else { "" };
        self.write(format!("{}> {caller} {} {}{retry}", self.who, call.method, call.name.unwrap_or("-")));
        Ok(())
    }

    async fn after(&self, call: &RequestInfo<'_>, outcome: Result<(), &ErrorObject>) {
        let outcome = outcome.map_or_else(|error| error.code.as_i64(), |()| 0);
        self.write(format!("{}< {} {outcome}", self.who, call.method));
    }
}

/// Lets only Ann use tools.
#[derive(Debug)]
struct OnlyAnn;

#[async_trait]
impl Middleware for OnlyAnn {
    async fn before(&self, call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        match call.caller.map(Caller::subject) {
            Some("ann") => Ok(()),
            _ if call.method != "tools/call" => Ok(()),
            _ => Err(ProtocolError::new(ErrorCode::new(-32001), "You may not")),
        }
    }
}

fn server(audit: &Audit) -> Server {
    let sorry = async |_: Flow| Err::<(), _>(ToolError::new("sorry"));
    let refuses = async |_: Flow| Err::<(), _>(ProtocolError::invalid_params("no"));
    builder()
        .middleware(audit.clone())
        .tool(Tool::new("ask", greet))
        .tool(Tool::new("sorry", sorry))
        .tool(Tool::new("refuses", refuses))
        .resource(Resource::new("test://one", "one", async |_: Flow| Ok::<_, Failure>("one")))
        .build()
        .unwrap()
}

#[tokio::test]
async fn every_round_is_seen_with_who_and_what() {
    let audit = Audit::default();
    let client = client(&server(&audit)).calling_as(Caller::new("issuer", "ann"));
    client.call_tool("ask", json!({})).await.accept("who", name("Ada")).send().await.expect_text();
    client.read_resource("test://one").await;
    client.request("tools/list", json!({})).await;
    let expected = [
        "> ann tools/call ask",
        "< tools/call 0",
        "> ann tools/call ask again",
        "< tools/call 0",
        "> ann resources/read test://one",
        "< resources/read 0",
        "> ann tools/list -",
        "< tools/list 0",
    ];
    assert_eq!(audit.take(), expected);
}

#[tokio::test]
async fn an_end_is_heard_also_if_it_is_a_failure() {
    let audit = Audit::default();
    let client = client(&server(&audit));
    for tool in ["sorry", "refuses", "nobody"] {
        client.call_tool(tool, json!({})).await;
    }
    let ends: Vec<_> = audit.take().into_iter().filter(|line| line.starts_with('<')).collect();
    assert_eq!(ends, ["< tools/call 0", "< tools/call -32602", "< tools/call -32602"]);
}

#[tokio::test]
async fn a_refusal_is_decided_anew_in_every_round() {
    let audit = Audit::default();
    let server = builder().middleware(audit.clone()).middleware(OnlyAnn).tool(Tool::new("ask", greet)).build().unwrap();
    let ann = client(&server).calling_as(Caller::new("issuer", "ann"));
    let asked = ann.call_tool("ask", json!({})).await;
    let by_bob = client(&server).calling_as(Caller::new("issuer", "bob"));
    let refused = asked.accept("who", name("Ada")).as_client(&by_bob).send().await.expect_error();
    assert_eq!((refused.code.as_i64(), refused.message.as_str()), (-32001, "You may not"));
    assert!(by_bob.request("tools/list", json!({})).await.error().is_none());
}

#[tokio::test]
async fn who_let_a_request_through_hears_that_another_refused_it() {
    let (outer, inner) = (Audit { who: "outer", ..Audit::default() }, Audit { who: "inner", ..Audit::default() });
    let inner = Audit { lines: Arc::clone(&outer.lines), ..inner };
    let built = |middleware: bool| {
        let builder = builder().middleware(outer.clone());
        let builder = if middleware { builder.middleware(OnlyAnn) } else { builder };
        builder.middleware(inner.clone()).tool(Tool::new("ask", greet)).build().unwrap()
    };
    client(&built(true)).call_tool("ask", json!({})).await.expect_error();
    assert_eq!(outer.take(), ["outer> nobody tools/call ask", "outer< tools/call -32001"]);
    client(&built(false)).call_tool("ask", json!({})).await.expect_asked(&["who"]);
    let onion =
        ["outer> nobody tools/call ask", "inner> nobody tools/call ask", "inner< tools/call 0", "outer< tools/call 0"];
    assert_eq!(outer.take(), onion);
}

#[tokio::test]
async fn what_is_refused_before_is_never_seen() {
    let audit = Audit::default();
    let server = server(&audit);
    client(&server).request("no/such", json!({})).await.expect_error();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    drop(server.handle(body.into(), mrtr_server::Context::new()).await);
    assert_eq!(audit.take(), [""; 0]);
}

#[tokio::test]
async fn a_subscription_is_seen_as_it_begins() {
    let audit = Audit::default();
    let _listening = client(&server(&audit)).listen(SubscriptionFilter::new()).await;
    assert_eq!(audit.take(), ["> nobody subscriptions/listen -", "< subscriptions/listen 0"]);
}

#[tokio::test]
async fn a_request_that_talks_is_seen_once() {
    let audit = Audit::default();
    let talks = async |flow: Flow| {
        flow.progress(1, None, "").await;
        Ok::<_, Failure>("done")
    };
    let server = builder().middleware(audit.clone()).tool(Tool::new("talk", talks)).build().unwrap();
    client(&server).hearing_progress("t").call_tool("talk", json!({})).await.expect_text();
    assert_eq!(audit.take(), ["> nobody tools/call talk", "< tools/call 0"]);
}
