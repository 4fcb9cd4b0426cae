//! `subscriptions/listen`: acknowledged first, told what was asked for, and given a result at the end.

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Prompt, Resource};
use serde_json::{Value, json};

use crate::support::Site;
use crate::support::message::{Post, call, request};
use crate::support::wire::Wire;
use crate::tools::{self, Gate};

const ID: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

async fn listen(site: &Site, id: &str, filter: Value) -> (Wire, Value) {
    let mut message = request("subscriptions/listen", json!({ "notifications": filter }));
    message["id"] = json!(id);
    let mut wire = site.connect().await;
    wire.send(Post::of(&message).text()).await;
    assert_eq!(wire.head().await.header("content-type"), Some("text/event-stream"));
    let first = wire.event().await.unwrap();
    (wire, first)
}

#[tokio::test]
async fn ht_6_a_subscription_is_acknowledged_told_and_ended() {
    let server = tools::server();
    let site = Site::of(server.clone());
    let filter = json!({ "toolsListChanged": true, "promptsListChanged": true });
    let (mut wire, first) = listen(&site, "sub", filter).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], json!({ "toolsListChanged": true }), "there are no prompts");
    assert_eq!(first.pointer(ID), Some(&json!("sub")));

    server.changes().prompts_changed();
    server.changes().resource_updated("test://unasked");
    server.changes().tools_changed();
    let changed = wire.event().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed.pointer(ID), Some(&json!("sub")));

    server.changes().end_subscriptions();
    let last = wire.event().await.unwrap();
    assert_eq!(last["id"], "sub");
    assert!(last["result"].is_object(), "{last}");
    assert_eq!(wire.event().await, None);
}

#[tokio::test]
async fn ht_6_every_notification_says_which_subscription_it_is_for() {
    let server = tools::builder(&Gate::default()).prompt(Prompt::new("hello", tools::hello)).resource(Resource::new(
        "test://guide",
        "guide",
        tools::hello,
    ));
    let server = server.build().unwrap();
    let site = Site::of(server.clone());
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["test://guide"],
    });
    let (mut wire, first) = listen(&site, "all of it", filter.clone()).await;
    assert_eq!(first["params"]["notifications"], filter);
    server.changes().tools_changed();
    server.changes().prompts_changed();
    server.changes().resources_changed();
    server.changes().resource_updated("test://guide");
    for method in ["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"] {
        let told = wire.event().await.unwrap();
        assert_eq!(told["method"], format!("notifications/{method}"));
        assert_eq!(told.pointer(ID), Some(&json!("all of it")), "{told}");
    }
}

#[tokio::test]
async fn ht_6_each_subscriber_hears_what_it_asked_for() {
    let server = tools::server();
    let site = Site::of(server.clone());
    let (mut everything, _) = listen(&site, "a", json!({ "toolsListChanged": true })).await;
    let (mut nothing, acknowledged) = listen(&site, "b", json!({})).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
    server.changes().tools_changed();
    assert_eq!(everything.event().await.unwrap().pointer(ID), Some(&json!("a")));
    server.changes().end_subscriptions();
    assert_eq!(nothing.event().await.unwrap()["id"], "b", "nothing came before the end");
}

#[tokio::test]
async fn ht_6_subscriptions_do_not_take_the_places_of_requests() {
    let server = tools::server();
    let endpoint = Endpoint::anonymous(server.clone()).concurrency(1).subscriptions(2);
    let site = Site::start(Serve::new(endpoint));
    let hello = Post::of(&call("hello", json!({})));
    let listening = [listen(&site, "a", json!({})).await, listen(&site, "b", json!({})).await];
    assert_eq!(site.answer(&hello).await.status, 200);
    let third = Post::of(&request("subscriptions/listen", json!({ "notifications": {} })));
    let refused = site.answer(&third).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(site.answer(&hello).await.status, 200);
    // An end gives the place back.
    server.changes().end_subscriptions();
    for (mut wire, _) in listening {
        wire.event().await.unwrap();
        assert_eq!(wire.event().await, None);
    }
    listen(&site, "c", json!({})).await;
}

#[tokio::test]
async fn ht_6_what_a_server_says_of_itself_may_be_kept_for_so_long() {
    let server = tools::builder(&Gate::default()).prompt(Prompt::new("hello", tools::hello)).resource(Resource::new(
        "test://guide",
        "guide",
        tools::hello,
    ));
    let site = Site::of(server.build().unwrap());
    let methods = ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    let reading = ("resources/read", json!({ "uri": "test://guide" }));
    for (method, params) in methods.map(|method| (method, json!({}))).into_iter().chain([reading]) {
        let result = site.answer(&Post::of(&request(method, params))).await.json()["result"].clone();
        assert!(result["ttlMs"].is_u64(), "{method}: {result}");
        assert!(["public", "private"].contains(&result["cacheScope"].as_str().unwrap()), "{method}: {result}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test", "{method}");
    }
    let order = Post::of(&call("order", json!({ "item": "tea" }))).with("Mcp-Param-Item", "tea");
    let interim = site.answer(&order).await.json();
    assert_eq!(interim["result"]["resultType"], "input_required");
    assert_eq!((interim["result"].get("ttlMs"), interim["result"].get("cacheScope")), (None, None));
}
