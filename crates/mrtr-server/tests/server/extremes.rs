//! The longest times that can be set: a flow of several rounds goes its way under each of them.

use std::time::Duration;

use mrtr_server::extend::ShedAfterQueueing;
use mrtr_server::flow::Retry;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, Guard, Server, SessionLimits, Tool};
use mrtr_state::{Lifetimes, MemorySingleUse, Timestamp};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

async fn patient(flow: Flow) -> Result<String, Failure> {
    let name = flow.elicit::<Name>("name", "Who?").valid_for(Duration::MAX).await?.name;
    flow.step("one", async { Ok::<_, Failure>(1) }).timeout(Duration::MAX).await?;
    let again =
        flow.step_with("two", || async { Ok::<_, Failure>(2) }).retry(Retry::times(u32::MAX).after(Duration::MAX));
    again.await?;
    flow.elicit::<Name>("other", "And who?").await?;
    Ok(name)
}

/// Calls a tool to its end, through all its rounds.
async fn play(server: &Server, setting: &str) {
    let asked = Client::new(server).call_tool("patient", json!({})).await;
    asked.expect_asked(&["name"]);
    let asked = asked.accept("name", json!({ "name": "Ada" })).send().await;
    asked.expect_asked(&["other"]);
    let done = asked.accept("other", json!({ "name": "Bob" })).send().await;
    assert_eq!(done.expect_text(), "Ada", "{setting}");
}

#[tokio::test]
async fn every_time_that_an_author_sets_may_be_as_long_as_can_be_said() {
    let tool = || Tool::new("patient", patient);
    let builder = || Server::builder("test", "1");
    let now = Timestamp::from(std::time::SystemTime::now());
    let single_use = || Guard::from(MemorySingleUse::new(now));
    let forever = Lifetimes { round: Duration::MAX, flow: Duration::MAX, rounds: u32::MAX };
    let limits = || SessionLimits { idle: Duration::MAX, question_timeout: Duration::MAX, ..SessionLimits::default() };
    let rows = [
        ("a server's deadline", builder().run_deadline(Duration::MAX).tool(tool())),
        (
            "a server's deadline with single use",
            builder().run_deadline(Duration::MAX).tool(tool().single_use(single_use())),
        ),
        ("a tool's deadline", builder().tool(tool().run_deadline(Duration::MAX))),
        (
            "a tool's deadline with single use",
            builder().tool(tool().run_deadline(Duration::MAX).single_use(single_use())),
        ),
        ("lifetimes", builder().tool(tool().lifetimes(forever))),
        ("lifetimes with single use", builder().tool(tool().lifetimes(forever).single_use(single_use()))),
        ("a time for answers", builder().tool(tool().question_timeout(Duration::MAX))),
        ("sessions", builder().session_limits(limits()).tool(tool())),
        ("shedding", builder().shedder(ShedAfterQueueing(Duration::MAX)).tool(tool())),
    ];
    for (setting, builder) in rows {
        play(&builder.build().unwrap(), setting).await;
    }
}

/// A clock that stands at the end of time: nothing goes past it.
#[tokio::test]
async fn the_end_of_time_is_a_time() {
    let clock = FixedClock::new(Timestamp::from_millis(u64::MAX - 1));
    clock.advance(Duration::MAX);
    let server = Server::builder("test", "1").clock(clock).tool(Tool::new("patient", patient)).build().unwrap();
    // A state that is issued then has no time left: it is refused, and that is all.
    let asked = Client::new(&server).call_tool("patient", json!({})).await;
    let answered = asked.accept("name", json!({ "name": "Ada" })).send().await;
    assert!(answered.response()["error"]["code"] == -32602 || answered.response()["result"].is_object());
}
