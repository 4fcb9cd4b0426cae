//! The end of a server: running requests finish, subscriptions end, and the server waits for no client too long.

use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_schema::Revision;
use mrtr_server::{Failure, Flow, Server, TaskPolicy, Tool};
use mrtr_state::single_use::MemorySingleUse;
use mrtr_tasks::{MemoryTaskStore, Tasks};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::support::message::{Post, call, request, retry, watched};
use crate::support::{Site, within};
use crate::tools::{self, Address, Gate};

#[tokio::test]
async fn a_running_request_is_answered_and_no_other_is_taken() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    let address = site.address;
    let mut plain = site.connect().await;
    plain.send(Post::of(&call("wait", json!({}))).text()).await;
    let mut stream = site.connect().await;
    stream.send(Post::of(&watched(call("talk", json!({})))).text()).await;
    let idle = site.connect().await;
    gate.reached().await;
    gate.reached().await;

    let mut stopping = site.stop();
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut stopping).await.is_err(), "it waits for what runs");
    gate.open();
    gate.open();
    let response = plain.response().await;
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    stream.head().await;
    let mut messages = 0;
    while stream.event().await.is_some() {
        messages += 1;
    }
    assert_eq!(messages, 3);
    stopping.await.unwrap().unwrap();
    drop(idle);
}

#[tokio::test]
async fn ht_6_subscriptions_get_their_result() {
    let site = Site::of(tools::server());
    let mut wire = site.connect().await;
    let message = request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    wire.send(Post::of(&message).text()).await;
    wire.head().await;
    wire.event().await.unwrap();
    let stopping = site.stop();
    let last = wire.event().await.unwrap();
    assert!(last["result"].is_object(), "{last}");
    assert_eq!(wire.event().await, None);
    stopping.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_does_not_end_is_dropped_when_grace_is_over() {
    let gate = Gate::default();
    let server = tools::builder(&gate).build().unwrap();
    let site = Site::start(Serve::new(Endpoint::anonymous(server)).shutdown_timeout(Duration::from_millis(50)));
    let mut wire = site.connect().await;
    wire.send(Post::of(&call("wait", json!({}))).text()).await;
    gate.reached().await;
    site.stop().await.unwrap().unwrap();
    gate.dropped().await;
    assert_eq!(wire.rest().await, b"");
}

/// A `tasks/result` of the older revisions waits for as long as its task works: it is answered first, and then HTTP
/// ends.
#[tokio::test]
async fn a_result_that_is_waited_for_is_answered_and_does_not_hold_the_end_up() {
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let tasks = Tasks::new(MemoryTaskStore::default());
        let stall = Tool::new("stall", async |_: Flow| std::future::pending::<Result<String, Failure>>().await);
        let server = Server::builder("slow", "1.0.0")
            .tool(stall.tasks(TaskPolicy::Required))
            .extension(tasks.clone())
            .build()
            .unwrap();
        let site = Site::start(Serve::new(Endpoint::anonymous(server).revision(revision)));
        let post = |method: &str, params: Value| {
            Post::plain(json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string())
        };
        let created = site.answer(&post("tools/call", json!({ "name": "stall", "task": {} }))).await.json();
        let id = created["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
        let mut waits = site.connect().await;
        waits.send(post("tasks/result", json!({ "taskId": id })).text()).await;
        assert_eq!(waits.head().await.header("content-type"), Some("text/event-stream"), "{revision}: it blocks");

        let stopping = site.stop();
        let last = within("an answer to what waits", waits.event()).await.unwrap();
        assert_eq!((&last["id"], &last["error"]["code"]), (&json!(7), &json!(-32603)), "{revision}: {last}");
        assert!(last["error"]["message"].as_str().unwrap().contains("shutting down"), "{revision}: {last}");
        assert_eq!(waits.event().await, None, "{revision}");
        within("the end, long before its time is up", stopping).await.unwrap().unwrap();
        within("the hand-over", tasks.shut_down()).await;
    }
}

pub(crate) async fn pay(flow: Flow) -> Result<&'static str, Failure> {
    let _: Address = flow.elicit("address", "Where to?").await?;
    flow.step("charge", flow.state::<Gate>().pass_as_step()).await?;
    Ok("paid")
}

#[tokio::test]
async fn a_step_that_nobody_waits_for_is_finished_before_the_end() {
    let gate = Gate::default();
    let store = MemorySingleUse::new(std::time::SystemTime::UNIX_EPOCH.into());
    let server = Server::builder("test", "1.0.0").state(gate.clone()).tool(Tool::new("pay", pay).single_use(store));
    let site = Site::of(server.build().unwrap());
    let first = call("pay", json!({}));
    let asked = site.answer(&Post::of(&first)).await.json();
    let mut wire = site.connect().await;
    wire.send(Post::of(&retry(first, &asked, "address", &json!({ "street": "Here" }))).text()).await;
    gate.reached().await;
    drop(wire);
    let mut stopping = site.stop();
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut stopping).await.is_err(), "it waits for the step");
    gate.open();
    stopping.await.unwrap().unwrap();
    assert_eq!(gate.passed(), 1);
}

#[tokio::test]
async fn dropping_a_server_ends_it_at_once() {
    let gate = Gate::default();
    let bound = Serve::new(Endpoint::anonymous(tools::builder(&gate).build().unwrap())).bind("127.0.0.1:0").unwrap();
    let address = bound.address().unwrap();
    let running = tokio::spawn(bound.run(std::future::pending()));
    let mut wire = crate::support::wire::Wire::connect(address).await;
    wire.send(Post::of(&call("wait", json!({}))).text()).await;
    gate.reached().await;
    running.abort();
    gate.dropped().await;
    assert_eq!(wire.rest().await, b"");
}
