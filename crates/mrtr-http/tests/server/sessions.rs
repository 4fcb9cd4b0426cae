//! The legacy era on the same endpoint: sessions, their streams, and what real clients do.

use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_schema::Revision;
use mrtr_server::testing::FixedClock;
use mrtr_server::{Legacy as LegacyMode, Server, SessionLimits, Tool};
use serde_json::{Value, json};

use crate::authentication::ByName;
use crate::support::legacy::{Legacy, call, everything, initialize};
use crate::support::message::{Post, request};
use crate::support::{Site, until, within};
use crate::tools::{self, Gate};

#[tokio::test]
async fn a_call_that_says_nothing_on_the_way_is_answered_by_json() {
    let site = Site::of(tools::server());
    let client = Legacy::open(&site, "2025-11-25").await;
    let response = client.send(&call(1, "hello", &json!({}))).await;
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    assert_eq!(response.json()["result"]["content"][0]["text"], "Hello");
    let unknown = client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/fly" })).await;
    assert_eq!((unknown.status, unknown.code()), (200, Some(-32601)), "404 would end the session");
}

#[tokio::test]
async fn events_have_ids_and_a_newer_stream_begins_with_one() {
    let site = Site::of(tools::server());
    let ask = call(1, "order", &json!({ "item": "tea" }));
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut events = client.stream(&ask).await;
    let prime = events.event().await.unwrap();
    assert_eq!((prime.id.as_deref(), prime.retry.as_deref(), &*prime.data), (Some("1.0"), Some("1000"), ""));
    let asked = events.event().await.unwrap();
    assert_eq!((asked.id.as_deref(), asked.retry), (Some("1.1"), None));
    let client = Legacy::open(&site, "2025-06-18").await;
    let asked = client.stream(&ask).await.event().await.unwrap();
    assert!(asked.data.contains("elicitation/create"), "no event without a message: {asked:?}");
}

#[tokio::test]
async fn a_stream_that_was_lost_is_resumed_by_its_last_event() {
    let site = Site::of(tools::server());
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut events = client.stream(&call(1, "order", &json!({ "item": "tea" }))).await;
    let asked = events.next().await.unwrap();
    let last_id = events.last_id.clone();
    drop(events);
    let mut again = client.listen(last_id.as_deref()).await.unwrap();
    client.accept(&asked, &json!({ "street": "Here" })).await;
    let done = again.next().await.unwrap();
    assert_eq!((&done["id"], &done["result"]["content"][0]["text"]), (&json!(1), &json!("tea to Here")));
    assert!(again.next().await.is_none());
    // Lost on its way, it is found again; what was never sent is not.
    let mut again = client.listen(last_id.as_deref()).await.unwrap();
    assert_eq!(again.next().await.unwrap()["id"], 1);
    for gone in ["9.1", "nonsense", ""] {
        assert_eq!(client.listen(Some(gone)).await.err().unwrap().status, 400, "{gone:?}");
    }
}

#[tokio::test]
async fn a_lost_connection_cancels_nothing() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut wire = site.connect().await;
    wire.send(client.post(&call(1, "wait", &json!({}))).text()).await;
    gate.reached().await;
    drop(wire);
    // The server notices that it is gone when it serves the next one, and the call goes on.
    assert_eq!(client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })).await.status, 200);
    assert_eq!((gate.waiting(), gate.passed()), (1, 0));
    gate.open();
    until("it is through", || gate.passed() == 1).await;
}

#[tokio::test]
async fn a_cancelled_call_is_accepted_and_not_answered() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut wire = site.connect().await;
    wire.send(client.post(&call(1, "wait", &json!({}))).text()).await;
    gate.reached().await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(client.send(&cancel).await.status, 202);
    let response = wire.response().await;
    assert_eq!((response.status, response.body.len()), (202, 0));
    gate.dropped().await;
    assert_eq!(gate.passed(), 0);
}

#[tokio::test]
async fn get_and_delete_need_a_session() {
    let site = Site::of(tools::server());
    let client = Legacy::open(&site, "2025-11-25").await;
    for method in ["GET", "DELETE"] {
        let bare = site.answer(&client.bare(method).without("Mcp-Session-Id")).await;
        assert_eq!((bare.status, bare.header("allow")), (405, Some("POST")), "{method}");
        assert_eq!(site.answer(&client.bare(method).with("Mcp-Session-Id", "0123")).await.status, 404, "{method}");
        let two = site.answer(&client.bare(method).also("Mcp-Session-Id", "0123")).await;
        assert_eq!(two.status, 404, "{method}: two ids name none");
    }
    assert_eq!(site.answer(&client.bare("PUT")).await.status, 405);
    assert_eq!(site.answer(&client.bare("GET").with("Accept", "application/json")).await.status, 406);
    assert_eq!(site.answer(&client.bare("GET").with("Origin", "https://evil.example")).await.status, 403);
    let other_version = client.bare("GET").with("MCP-Protocol-Version", "2025-06-18");
    assert_eq!(site.answer(&other_version).await.status, 400);

    let mut listening = client.listen(None).await.unwrap();
    assert_eq!(site.answer(&client.bare("DELETE")).await.status, 204);
    assert!(listening.next().await.is_none(), "its streams end");
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let gone = client.send(&ping).await;
    assert_eq!((gone.status, gone.json()["id"].as_i64()), (404, Some(2)));
    for method in ["GET", "DELETE"] {
        assert_eq!(site.answer(&client.bare(method)).await.status, 404, "{method}");
    }
    assert_eq!(client.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).await.status, 404);
}

#[tokio::test]
async fn what_changes_is_heard_on_the_stream_of_a_get() {
    let server = tools::server();
    let site = Site::of(server.clone());
    let client = Legacy::open(&site, "2025-11-25").await;
    assert_eq!(client.opened["capabilities"]["tools"]["listChanged"], true);
    let mut listening = client.listen(None).await.unwrap();
    listening.event().await.unwrap();
    server.changes().tools_changed();
    assert_eq!(listening.next().await.unwrap()["method"], "notifications/tools/list_changed");
    let empty = Site::of(Server::builder("empty", "1.0.0").build().unwrap());
    let client = Legacy::open(&empty, "2025-11-25").await;
    assert_eq!(client.listen(None).await.err().unwrap().status, 405, "there is nothing to hear");
}

#[tokio::test]
async fn another_principals_session_is_not_found() {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("order", tools::order)).build().unwrap();
    let site = Site::start(Serve::new(Endpoint::new(server, ByName)));
    let ann = Legacy::open_as(&site, "2025-11-25", Some("ann@acme")).await;
    let mut events = ann.stream(&call(1, "order", &json!({ "item": "tea" }))).await;
    let asked = events.next().await.unwrap();
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline" } });
    for stranger in ["Bearer eve@acme", "Bearer ann@other"] {
        let as_stranger = |post: Post| post.with("Authorization", stranger);
        assert_eq!(site.answer(&as_stranger(ann.post(&answer))).await.status, 404, "{stranger}");
        let resumed = as_stranger(ann.bare("GET")).with("Last-Event-ID", "1.0");
        assert_eq!(site.answer(&resumed).await.status, 404, "{stranger}");
        assert_eq!(site.answer(&as_stranger(ann.bare("DELETE"))).await.status, 404, "{stranger}");
    }
    assert_eq!(site.answer(&ann.bare("DELETE").without("Authorization")).await.status, 401);
    ann.accept(&asked, &json!({ "street": "Here" })).await;
    assert_eq!(events.next().await.unwrap()["result"]["content"][0]["text"], "tea to Here");
}

/// A client that wants the newest era first, and takes the other.
#[tokio::test]
async fn a_probe_pins_nothing() {
    let site = Site::of(tools::server());
    let probe = Post::of(&request("server/discover", json!({})));
    for _ in 0..2 {
        let discovered = site.answer(&probe).await;
        assert_eq!(discovered.status, 200);
        assert_eq!(discovered.json()["result"]["supportedVersions"], json!(["2026-07-28"]), "modern versions only");
    }
    let client = Legacy::open(&site, "2025-11-25").await;
    // In the middle of a session, and with its id, it is answered as anywhere.
    let again = site.answer(&probe.with("Mcp-Session-Id", &client.session)).await;
    assert_eq!(again.status, 200);
    assert_eq!(client.send(&call(1, "hello", &json!({}))).await.status, 200);
    // The server tells a client without a version which versions there are.
    let bare = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" });
    let refused = site.answer(&Post::plain(bare.to_string())).await;
    assert_eq!((refused.status, refused.code()), (400, Some(-32602)));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("2025-11-25"));
}

#[tokio::test]
async fn a_legacy_header_with_a_modern_version_in_the_body_is_refused_and_explained() {
    let site = Site::of(tools::server());
    let client = Legacy::open(&site, "2025-11-25").await;
    let post = Post::of(&request("tools/list", json!({}))).with("MCP-Protocol-Version", "2025-11-25");
    for post in [post.clone(), post.with("Mcp-Session-Id", &client.session)] {
        let refused = site.answer(&post).await;
        assert_eq!((refused.status, refused.code()), (400, Some(-32020)));
        let text = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(text.contains("it names 2025-11-25") && text.contains("session"), "{text}");
    }
}

#[tokio::test]
async fn the_version_header_of_a_session_is_its_own() {
    let site = Site::of(tools::server());
    let client = Legacy::open(&site, "2025-06-18").await;
    let ping = client.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(site.answer(&ping.clone().without("MCP-Protocol-Version")).await.status, 200);
    let refused = site.answer(&ping.with("MCP-Protocol-Version", "2025-11-25")).await;
    assert_eq!((refused.status, refused.code()), (400, Some(-32600)));
}

#[tokio::test]
async fn an_empty_capability_means_forms() {
    let site = Site::of(tools::server());
    let opened = site.answer(&Post::plain(initialize("2025-06-18", &json!({ "elicitation": {} })).to_string())).await;
    let session = opened.header("mcp-session-id").unwrap();
    let ask = Post::plain(call(1, "order", &json!({ "item": "tea" })).to_string()).with("Mcp-Session-Id", session);
    let mut wire = site.connect().await;
    wire.send(ask.text()).await;
    assert_eq!(wire.head().await.header("content-type"), Some("text/event-stream"));
    let event = String::from_utf8(wire.chunk().await.unwrap()).unwrap();
    assert!(event.contains("elicitation/create") && !event.contains("\"mode\""), "{event}");
}

#[tokio::test]
async fn an_expired_session_is_not_found() {
    let clock = FixedClock::default();
    let server = tools::builder(&Gate::default()).clock(clock.clone()).build().unwrap();
    let site = Site::of(server.clone());
    let client = Legacy::open(&site, "2025-11-25").await;
    clock.advance(Duration::from_mins(30));
    assert_eq!(client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await.status, 404);
    until("it is removed", || server.sessions().open() == 0).await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_is_no_request_that_runs() {
    let server = tools::server();
    let site = Site::start(Serve::new(Endpoint::anonymous(server).concurrency(1)));
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut waiting = Vec::new();
    for id in 1..=3 {
        let mut events = client.stream(&call(id, "order", &json!({ "item": "tea" }))).await;
        let asked = events.next().await.unwrap();
        waiting.push((events, asked));
    }
    for (mut events, asked) in waiting {
        client.accept(&asked, &json!({ "street": "Here" })).await;
        assert_eq!(events.next().await.unwrap()["result"]["content"][0]["text"], "tea to Here");
    }
}

#[tokio::test]
async fn streams_without_end_are_counted_and_a_session_has_one() {
    let server = tools::server();
    let site = Site::start(Serve::new(Endpoint::anonymous(server).subscriptions(2)));
    let (one, other) = (Legacy::open(&site, "2025-11-25").await, Legacy::open(&site, "2025-11-25").await);
    let mut first = one.listen(None).await.unwrap();
    let second = one.listen(None).await.unwrap();
    first.event().await.unwrap();
    assert!(first.next().await.is_none(), "the newer one has its place");
    let third = other.listen(None).await.unwrap();
    assert_eq!(other.listen(None).await.err().unwrap().status, 503, "there are two");
    drop((second, third));
    // Those that are gone give their places back, as soon as the server has noticed.
    let listening = async {
        while other.listen(None).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within("a place", listening).await;
}

#[tokio::test]
async fn too_many_sessions_are_sent_away() {
    let limits = SessionLimits { sessions: 1, ..SessionLimits::default() };
    let site = Site::of(tools::builder(&Gate::default()).session_limits(limits).build().unwrap());
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut events = client.stream(&call(1, "order", &json!({ "item": "tea" }))).await;
    events.next().await.unwrap();
    let refused = site.answer(&Post::plain(initialize("2025-11-25", &everything()).to_string())).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn a_server_that_stops_ends_streams_and_waits_for_no_answer() {
    let site = Site::of(tools::server());
    let client = Legacy::open(&site, "2025-11-25").await;
    let mut listening = client.listen(None).await.unwrap();
    let mut events = client.stream(&call(1, "order", &json!({ "item": "tea" }))).await;
    events.next().await.unwrap();
    drop(client);
    let stopping = site.stop();
    assert!(listening.next().await.is_none());
    assert_eq!(events.next().await.unwrap()["method"], "notifications/cancelled");
    let last = events.next().await.unwrap();
    assert_eq!(last["result"]["isError"], true, "{last}");
    within("the end of the server", stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn without_sessions_plain_tools_work_and_drafts_have_none() {
    let builder = || tools::builder(&Gate::default());
    let stateless = Site::of(builder().legacy(LegacyMode::Stateless).build().unwrap());
    let opened = stateless.answer(&Post::plain(initialize("2025-11-25", &everything()).to_string())).await;
    assert_eq!((opened.status, opened.header("mcp-session-id")), (200, None));
    let plain = |tool, arguments: Value| {
        Post::plain(call(1, tool, &arguments).to_string()).with("MCP-Protocol-Version", "2025-11-25")
    };
    let hello = stateless.answer(&plain("hello", json!({}))).await;
    assert_eq!(hello.json()["result"]["content"][0]["text"], "Hello");
    let refused = stateless.answer(&plain("order", json!({ "item": "tea" }))).await.json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(stateless.answer(&Post::plain(ready.to_string())).await.status, 202);

    let server = builder().build().unwrap();
    let draft = Endpoint::anonymous(server.clone()).revision(Revision::Sep2322);
    let site = Site::start(Serve::new(Endpoint::anonymous(server)).endpoint("/sep-2322", draft));
    let client = Legacy::open(&site, "2025-11-25").await;
    assert_eq!(site.answer(&client.bare("GET").to("/sep-2322")).await.status, 405);
    let opened = Post::plain(initialize("2025-11-25", &everything()).to_string()).to("/sep-2322");
    assert_eq!(site.answer(&opened).await.header("mcp-session-id"), None);
}
