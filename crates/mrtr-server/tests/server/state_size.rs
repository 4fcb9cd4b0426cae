//! The length of a state: it goes along with every reply and every retry.

use std::time::Duration;

use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use serde_json::json;

use crate::support::client;
use crate::work_item::{Update, resolve};

async fn update_work_item(flow: Flow, update: Update) -> Result<String, Failure> {
    resolve(&flow, &update, async |_, _| Ok::<_, Failure>(())).await
}

#[tokio::test]
async fn the_states_of_the_example_stay_within_their_bounds() {
    let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32]).unwrap()), "tracker-eu").unwrap();
    let clock = FixedClock::default();
    let builder = Server::builder("tracker", "1.0.0").clock(clock.clone()).sealer(sealer);
    let server = builder.tool(Tool::new("update_work_item", update_work_item)).build().unwrap();

    let arguments = json!({ "workItemId": 4522, "fields": { "System.State": "Resolved" } });
    let asked = client(&server).call_tool("update_work_item", arguments).await;
    let first = asked.state().unwrap().len();
    clock.advance(Duration::from_mins(50));
    let asked = asked.accept("resolution", json!({ "resolution": "Duplicate" })).send().await;
    let second = asked.state().unwrap().len();
    // A header of 15, and four characters for each three bytes: nonce and tag 40, claims 95 and 98, journal 18 and 93.
    assert!(first <= 222 && second < 330, "{first} and {second} characters");
    let done = asked.accept("duplicate_of", json!({ "duplicateOfId": 4301 })).send().await;
    assert_eq!(done.expect_text(), "Bug #4522 resolved as duplicate of #4301");
}
