//! States that a handler by hand is refused: the log says why, and what helps.

use std::time::{Duration, SystemTime};

use mrtr_rmcp::state::{Round, States};
use mrtr_server::Sealer;
use mrtr_state::{JsonPayload, MemorySingleUse};
use rmcp::model::{CallToolRequestParams, InputRequests, NumberOrString};
use rmcp::service::{RequestContext, serve_directly};
use rmcp::{RoleServer, ServerHandler};

use crate::log::Log;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Quote;

impl JsonPayload for Quote {
    const KIND: &'static str = "com.example/quote";
}

/// Only there for its contexts.
struct Nothing;

impl ServerHandler for Nothing {}

fn context() -> RequestContext<RoleServer> {
    let (stream, _) = tokio::io::duplex(64);
    let running = serve_directly::<RoleServer, _, _, _, _>(Nothing, stream, None);
    RequestContext::new(NumberOrString::Number(1), running.peer().clone())
}

/// A retry with a state that these states have sealed.
fn retry(states: &States) -> CallToolRequestParams {
    let mut request = CallToolRequestParams::new("book");
    let Ok(Round::First(round)) = states.open::<Quote>(&request, &context()) else { panic!("it is the first") };
    request.request_state = round.ask(InputRequests::new(), &Quote).expect("it is sealed").request_state;
    request
}

#[tokio::test]
async fn a_store_in_memory_that_began_later_is_named() {
    let log = Log::of(&["mrtr_rmcp"]);
    let states = States::new(Sealer::this_process_only());
    let request = retry(&states);
    let restarted = MemorySingleUse::new((SystemTime::now() + Duration::from_secs(1)).into());
    let Ok(Round::Retry(round)) = states.open::<Quote>(&request, &context()) else { panic!("it opens") };
    let refused = round.once(&restarted, async { Ok("booked".to_owned()) }).await.expect_err("it is refused");
    assert_eq!(refused.message, "The request state is not valid");
    for expected in ["reason=before_memory", "a store in memory remembers nothing from before its process began"] {
        assert!(log.text().replace('"', "").contains(expected), "{expected}: {}", log.text());
    }
}

#[tokio::test]
async fn a_key_of_another_process_is_named() {
    let log = Log::of(&["mrtr_rmcp"]);
    let request = retry(&States::new(Sealer::this_process_only()));
    let restarted = States::new(Sealer::this_process_only());
    restarted.open::<Quote>(&request, &context()).expect_err("it is refused");
    assert!(log.text().contains("give `States::new` keys that stay"), "{}", log.text());
}
