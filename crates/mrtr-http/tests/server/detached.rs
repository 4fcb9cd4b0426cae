//! Rounds of single-use tools whose clients hang up: they count as requests for as long as they run, and wait for
//! nothing that only a client would wait for.

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Server, Tool};
use mrtr_state::single_use::MemorySingleUse;
use serde_json::{Value, json};

use crate::shutdown::pay;
use crate::support::message::{Post, call, request, retry, watched};
use crate::support::{Site, until};
use crate::tools::{self, Gate};

fn server(gate: &Gate) -> Server {
    let store = MemorySingleUse::new(std::time::SystemTime::UNIX_EPOCH.into());
    let server = Server::builder("test", "1.0.0").state(gate.clone()).tool(Tool::new("pay", pay).single_use(store));
    server.tool(Tool::new("hello", tools::hello)).build().unwrap()
}

/// The second round of a call, which begins its step at once.
async fn paying(site: &Site) -> Value {
    let first = call("pay", json!({}));
    let asked = site.answer(&Post::of(&first)).await.json();
    retry(first, &asked, "address", &json!({ "street": "Here" }))
}

fn discover() -> Post {
    Post::of(&request("server/discover", json!({})))
}

/// A server of one connection at a time: a client that is served next knows that the one before is gone.
#[tokio::test]
async fn ht_8_a_round_that_goes_on_without_its_client_is_a_request_that_runs() {
    for is_stream in [false, true] {
        let gate = Gate::default();
        let server = server(&gate);
        let site = Site::start(Serve::new(Endpoint::anonymous(server.clone()).concurrency(2)).connections(1));
        for _ in 0..2 {
            let paying = paying(&site).await;
            let paying = if is_stream { watched(paying) } else { paying };
            let mut wire = site.connect().await;
            wire.send(Post::of(&paying).text()).await;
            gate.reached().await;
        }
        let refused = site.answer(&discover()).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "as a stream: {is_stream}");
        assert_eq!(server.detached(), 2);
        gate.open();
        until("one has ended", || server.detached() == 1).await;
        assert_eq!(site.answer(&discover()).await.status, 200, "its permit is free");
        gate.open();
        until("both have ended", || server.detached() == 0).await;
    }
}

#[tokio::test]
async fn ht_8_who_waits_for_a_round_and_hangs_up_waits_no_longer() {
    const MOST: usize = 6;
    let gate = Gate::default();
    let server = server(&gate);
    let site = Site::start(Serve::new(Endpoint::anonymous(server.clone()).concurrency(MOST / 3 * 4)));
    let paying = Post::of(&paying(&site).await);
    let mut first = site.connect().await;
    first.send(paying.text()).await;
    gate.reached().await;
    for _ in 0..5 {
        let mut waiting = Vec::new();
        for number in 1..MOST {
            let mut wire = site.connect().await;
            wire.send(paying.text()).await;
            until("it waits for the round that runs", || server.detached() > number).await;
            waiting.push(wire);
        }
        assert_eq!(site.answer(&discover()).await.status, 503);
        drop(waiting);
        // Long before the claim of the one that runs lapses.
        until("those that wait have ended", || server.detached() == 1).await;
    }
    assert_eq!(site.answer(&discover()).await.status, 200);
    gate.open();
    assert_eq!(first.response().await.json()["result"]["content"][0]["text"], "paid");
    assert_eq!(gate.passed(), 1);
}
