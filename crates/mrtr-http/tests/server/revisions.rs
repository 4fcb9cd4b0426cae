//! The older revisions: off by default, each on a path of its own, with rules of its own.

use mrtr_http::{Endpoint, Serve};
use mrtr_schema::{ClientCapabilities, Revision};
use serde_json::{Value, json};

use crate::support::Site;
use crate::support::message::{Post, call};
use crate::tools;

fn site() -> Site {
    let server = tools::server();
    let mut serve = Serve::new(Endpoint::anonymous(server.clone()));
    for revision in [Revision::Sep2322, Revision::Draft202602] {
        serve = serve.endpoint(format!("/{revision}"), Endpoint::anonymous(server.clone()).revision(revision));
    }
    Site::start(serve)
}

fn older(method: &str, params: &Value) -> Post {
    Post::plain(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

const PATHS: [&str; 2] = ["/sep-2322", "/draft-2026-02"];

#[tokio::test]
async fn without_metadata_and_headers_a_client_can_be_asked_everything() {
    let site = site();
    for path in PATHS {
        let order = json!({ "name": "order", "arguments": { "item": "tea" } });
        let asked = site.answer(&older("tools/call", &order).to(path)).await;
        assert_eq!(asked.status, 200);
        let asked = asked.json();
        assert!(asked["result"]["inputRequests"]["address"].is_object(), "{path}: {asked}");
        let mut again = order;
        again["requestState"] = asked["result"]["requestState"].clone();
        let accepted = json!({ "action": "accept", "content": { "street": "Here" } });
        again["inputResponses"] = json!({ "address": accepted });
        let done = site.answer(&older("tools/call", &again).to(path)).await.json();
        assert_eq!(done["result"]["content"][0]["text"], "tea to Here", "{path}: {done}");
        // A state belongs to its revision.
        let other = PATHS.into_iter().find(|other| *other != path).unwrap();
        assert_eq!(site.answer(&older("tools/call", &again).to(other)).await.code(), Some(-32602));
    }
}

#[tokio::test]
async fn what_clients_can_do_may_be_said() {
    let endpoint = Endpoint::anonymous(tools::server()).revision(Revision::Sep2322);
    let endpoint = endpoint.capabilities(ClientCapabilities::default());
    let site = Site::start(Serve::new(endpoint));
    let order = json!({ "name": "order", "arguments": { "item": "tea" } });
    let refused = site.answer(&older("tools/call", &order)).await;
    assert_eq!((refused.status, refused.code()), (200, Some(-32602)), "there is no other code for it");
}

#[tokio::test]
async fn sessions_begin_as_they_used_to() {
    let site = site();
    let hello = json!({ "protocolVersion": "x", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    for path in PATHS {
        let response = site.answer(&older("initialize", &hello).to(path)).await;
        assert_eq!(response.json()["result"]["serverInfo"]["name"], "test", "{path}");
        assert_eq!(site.answer(&older("ping", &json!({})).to(path)).await.status, 200);
        let unknown = site.answer(&older("no/such", &json!({})).to(path)).await;
        assert_eq!((unknown.status, unknown.code()), (200, Some(-32601)), "404 would end a session");
        let broken = site.answer(&Post::plain("{").to(path)).await;
        assert_eq!((broken.status, broken.code()), (400, Some(-32700)));
    }
}

#[tokio::test]
async fn nobody_is_taken_for_older_than_they_say() {
    let site = site();
    let refused = site.answer(&older("tools/list", &json!({}))).await;
    assert_eq!((refused.status, refused.code()), (400, Some(-32602)));
    // Where nothing older is mounted, there is nothing.
    let only = Site::of(tools::server());
    for path in PATHS {
        assert_eq!(only.answer(&older("tools/list", &json!({})).to(path)).await.status, 404);
    }
    assert_eq!(only.answer(&Post::of(&call("hello", json!({})))).await.status, 200);
}

#[test]
fn a_legacy_revision_has_sessions_and_no_path_of_its_own() {
    for revision in Revision::LEGACY {
        let mounted = std::panic::catch_unwind(|| drop(Endpoint::anonymous(tools::server()).revision(revision)));
        assert!(mounted.is_err(), "{revision}");
    }
}
