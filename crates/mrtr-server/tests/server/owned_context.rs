//! The caller and the tenant of a request, where its work outlives the request: in a stream, and in a single-use round.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::Clock;
use mrtr_schema::LoggingLevel;
use mrtr_server::extend::{Middleware, RequestInfo};
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Caller, Failure, Flow, ProtocolError, Server, Tool};
use mrtr_state::MemorySingleUse;
use serde_json::json;

use crate::support::{Name, builder, client, name};

/// Says something, so that a client that listens is answered with a stream; asks; and tells who it is that asks.
async fn whoami(flow: Flow) -> Result<String, Failure> {
    flow.log(LoggingLevel::Info, "looking").await;
    let Name { name } = flow.elicit("who", "Who are you?").await?;
    let caller = flow.principal().map(|caller| format!("{} of {}", caller.subject(), caller.issuer()));
    Ok(format!("{name} is {}", caller.unwrap_or_else(|| "nobody".to_owned())))
}

/// The callers and tenants that middleware saw, request by request.
#[derive(Debug, Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Middleware for Seen {
    async fn before(&self, call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        self.0.lock().unwrap().push(format!("{:?} at {:?}", call.caller.map(Caller::subject), call.tenant));
        Ok(())
    }
}

fn server(seen: &Seen) -> Server {
    let clock = FixedClock::default();
    let store = MemorySingleUse::new(clock.now());
    clock.advance(Duration::from_secs(1));
    builder()
        .clock(clock)
        .middleware(seen.clone())
        .tool(Tool::new("plain", whoami))
        .tool(Tool::new("once", whoami).single_use(store))
        .build()
        .unwrap()
}

fn ann(server: &Server, tenant: &str) -> Client {
    let tenant = tenant.to_owned();
    let caller = Caller::new("https://id.example.com", "ann");
    client(server).calling_as(caller).in_context(|context| context.tenant(tenant))
}

/// The ways in which the two rounds of a flow are answered: each with a stream or without.
const WAYS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

fn answered(client: Client, with_a_stream: bool) -> Client {
    if with_a_stream { client.hearing_logs(LoggingLevel::Debug) } else { client }
}

#[tokio::test]
async fn a_streamed_or_single_use_round_knows_who_sent_it_and_on_whose_behalf() {
    let seen = Seen::default();
    let server = server(&seen);
    for tool in ["plain", "once"] {
        for [first, second] in WAYS {
            let asked = answered(ann(&server, "acme"), first).call_tool(tool, json!({})).await;
            assert_eq!(asked.notifications().len(), usize::from(first), "{tool}");
            let done = asked.as_client(&answered(ann(&server, "acme"), second)).accept("who", name("Ada")).send().await;
            assert_eq!(done.notifications().len(), usize::from(second), "{tool}");
            assert_eq!(done.expect_text(), "Ada is ann of https://id.example.com", "{tool} {first} {second}");
        }
    }
    let all = seen.0.lock().unwrap().clone();
    assert!(all.iter().all(|who| who == r#"Some("ann") at Some("acme")"#), "{all:?}");
}

#[tokio::test]
async fn a_streamed_or_single_use_round_is_refused_to_another_caller_or_tenant() {
    let server = server(&Seen::default());
    for tool in ["plain", "once"] {
        for [first, second] in WAYS {
            let asked = answered(ann(&server, "acme"), first).call_tool(tool, json!({})).await;
            let bob = ann(&server, "acme").calling_as(Caller::new("https://id.example.com", "bob"));
            let nobody = ann(&server, "acme").calling_as(None);
            let no_tenant = client(&server).calling_as(Caller::new("https://id.example.com", "ann"));
            for other in [ann(&server, "other"), no_tenant, bob, nobody] {
                let call = asked.clone().as_client(&answered(other, second)).accept("who", name("Ada"));
                let refused = call.send().await.expect_error();
                assert_eq!(refused.message, "The request state is not valid", "{tool} {first} {second}");
            }
        }
    }
}
