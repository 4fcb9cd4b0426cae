//! HT-6: subscriptions hear what they asked for, and nothing else, until the server ends them.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::{JsonObject, Revision};
use mrtr_server::extend::{Extension, ExtensionNotice, ExtensionNotices, ExtensionReply, ExtensionRequest};
use mrtr_server::flow::FlowChanges;
use mrtr_server::testing::Listening;
use mrtr_server::{Context, Failure, Flow, Prompt, ProtocolError, Resource, Server, Tool};
use serde_json::{Value, json};

use crate::support::{builder, client};

fn server() -> Server {
    let done = async |_: Flow| Ok::<_, Failure>("done");
    let changes = async |flow: Flow| {
        flow.changes().tools_changed();
        flow.changes().resource_updated("test://one");
        Ok::<_, Failure>("changed")
    };
    builder()
        .tool(Tool::new("change", changes))
        .prompt(Prompt::new("prompt", done))
        .resource(Resource::new("test://one", "one", done))
        .build()
        .unwrap()
}

fn everything() -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    filter.prompts_list_changed = Some(true);
    filter.resources_list_changed = Some(true);
    filter.resource_subscriptions = Some(vec!["test://one".into(), "test://two".into()]);
    filter
}

/// Makes every kind of change there is, once.
fn change_everything(server: &Server) {
    server.changes().tools_changed();
    server.changes().prompts_changed();
    server.changes().resources_changed();
    for uri in ["test://one", "test://three", "test://two"] {
        server.changes().resource_updated(uri);
    }
}

/// Returns what was heard: methods, with the URI where there is one.
fn heard(listening: &mut Listening) -> Vec<String> {
    let told = listening.heard();
    for message in &told {
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], 1, "{message}");
    }
    let short = |message: &Value| {
        let method = message["method"].as_str().unwrap().trim_start_matches("notifications/").to_owned();
        method + message["params"]["uri"].as_str().unwrap_or_default()
    };
    told.iter().map(short).collect()
}

#[tokio::test]
async fn ht_6_the_first_message_acknowledges_what_will_be_told() {
    let mut listening = client(&server()).listen(everything()).await;
    let first = listening.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let expected = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["test://one", "test://two"],
    });
    assert_eq!(first["params"]["notifications"], expected);
}

#[tokio::test]
async fn ht_6_what_the_server_does_not_have_is_not_acknowledged() {
    let done = async |_: Flow| Ok::<_, Failure>("done");
    let server = builder().prompt(Prompt::new("prompt", done)).build().unwrap();
    let mut listening = client(&server).listen(everything()).await;
    let first = listening.next().await.unwrap();
    assert_eq!(first["params"]["notifications"], json!({ "promptsListChanged": true }));
    change_everything(&server);
    assert_eq!(heard(&mut listening), ["prompts/list_changed"]);
}

#[tokio::test]
async fn ht_6_a_subscriber_hears_exactly_what_it_asked_for() {
    let server = server();
    let mut filters = vec![(SubscriptionFilter::new(), vec![])];
    let mut tools = SubscriptionFilter::new();
    (tools.tools_list_changed, tools.prompts_list_changed) = (Some(true), Some(false));
    filters.push((tools, vec!["tools/list_changed"]));
    let mut prompts = SubscriptionFilter::new();
    prompts.prompts_list_changed = Some(true);
    filters.push((prompts, vec!["prompts/list_changed"]));
    let mut one = SubscriptionFilter::new();
    one.resource_subscriptions = Some(vec!["test://one".into()]);
    filters.push((one, vec!["resources/updatedtest://one"]));
    filters.push((
        everything(),
        vec![
            "tools/list_changed",
            "prompts/list_changed",
            "resources/list_changed",
            "resources/updatedtest://one",
            "resources/updatedtest://two",
        ],
    ));
    let mut all = Vec::new();
    for (filter, expected) in filters {
        let mut listening = client(&server).listen(filter).await;
        listening.next().await.unwrap();
        all.push((listening, expected));
    }
    change_everything(&server);
    for (listening, expected) in &mut all {
        assert_eq!(heard(listening), *expected);
    }
}

#[tokio::test]
async fn a_change_between_the_request_and_its_acknowledgement_is_heard() {
    let server = server();
    let mut listening = client(&server).listen(everything()).await;
    server.changes().tools_changed();
    assert_eq!(heard(&mut listening), ["subscriptions/acknowledged", "tools/list_changed"]);
}

#[tokio::test]
async fn a_handler_may_tell_what_it_changed() {
    let server = server();
    let mut listening = client(&server).listen(everything()).await;
    listening.next().await.unwrap();
    client(&server).call_tool("change", json!({})).await.expect_text();
    assert_eq!(heard(&mut listening), ["tools/list_changed", "resources/updatedtest://one"]);
}

#[tokio::test]
async fn ht_6_a_subscription_that_the_server_ends_ends_with_its_result() {
    let server = server();
    let mut listening = client(&server).listen(everything()).await;
    listening.next().await.unwrap();
    server.changes().tools_changed();
    server.changes().end_subscriptions();
    server.changes().prompts_changed();
    assert_eq!(listening.next().await.unwrap()["method"], "notifications/tools/list_changed");
    let last = listening.next().await.unwrap();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(listening.next().await, None);
}

#[tokio::test]
async fn a_subscriber_that_fell_behind_is_ended_and_not_left_in_the_belief_that_it_is_up_to_date() {
    let server = server();
    let mut listening = client(&server).listen(everything()).await;
    listening.next().await.unwrap();
    for _ in 0..2000 {
        server.changes().tools_changed();
    }
    assert_eq!(listening.next().await.unwrap()["id"], 1);
    assert_eq!(listening.next().await, None);
}

#[tokio::test]
async fn a_subscription_does_not_keep_its_server_alive() {
    let done = async |_: Flow| Ok::<_, Failure>("done");
    let server = builder().tool(Tool::new("tool", done)).build().unwrap();
    let reply = {
        let params = json!({ "notifications": {}, "_meta": crate::support::meta() });
        let body = json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params });
        server.handle(body.to_string().into(), Context::new()).await
    };
    drop(server);
    let last: Value = serde_json::from_str(&reply.last().await.unwrap()).unwrap();
    assert_eq!((&last["id"], last["result"].is_object()), (&json!("s"), true));
}

#[tokio::test]
async fn older_revisions_have_no_such_method() {
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let call = client(&server()).speaking(revision);
        let call = call.request("subscriptions/listen", json!({ "notifications": {} })).await;
        assert_eq!(call.expect_error().code.as_i64(), -32601);
    }
}

/// An extension that tells every subscriber one thing.
struct Weather;

#[async_trait]
impl Extension for Weather {
    fn name(&self) -> &'static str {
        "com.example/weather"
    }

    fn capability(&self, _: Revision) -> Option<JsonObject> {
        Some(JsonObject::default())
    }

    async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        Err(ProtocolError::invalid_params("it has no methods"))
    }

    fn listen(
        &self,
        _: &SubscriptionFilter,
        _: &ExtensionRequest<'_>,
    ) -> Result<Option<ExtensionNotices>, ProtocolError> {
        let params = json!({ "kelvin": 290, "_meta": { "forged": true } }).into();
        let notice = ExtensionNotice { method: "com.example/weather/changed", params };
        let notices = stream::once(async { notice }).boxed();
        Ok(Some(ExtensionNotices { acknowledged: SubscriptionFilter::new(), notices }))
    }
}

/// An extension that always has something to tell.
struct Chatter;

#[async_trait]
impl Extension for Chatter {
    fn name(&self) -> &'static str {
        "com.example/chatter"
    }

    fn capability(&self, _: Revision) -> Option<JsonObject> {
        Some(JsonObject::default())
    }

    async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        Err(ProtocolError::invalid_params("it has no methods"))
    }

    fn listen(
        &self,
        _: &SubscriptionFilter,
        _: &ExtensionRequest<'_>,
    ) -> Result<Option<ExtensionNotices>, ProtocolError> {
        let notice = ExtensionNotice { method: "com.example/chatter/said", params: json!({}).into() };
        let notices = stream::repeat(notice).boxed();
        Ok(Some(ExtensionNotices { acknowledged: SubscriptionFilter::new(), notices }))
    }
}

#[test]
fn one_who_reads_a_subscription_that_is_always_ready_leaves_others_their_turns() {
    let (done, ended) = std::sync::mpsc::channel();
    // On a thread of its own, so that the test fails where the thread spins.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = builder().extension(Chatter).build().unwrap();
            let mut listening = mrtr_server::testing::Client::new(&server).listen(SubscriptionFilter::new()).await;
            let reading = tokio::spawn(async move { while listening.next().await.is_some() {} });
            tokio::time::sleep(Duration::from_millis(20)).await;
            reading.abort();
            done.send(()).ok();
        });
    });
    ended.recv_timeout(Duration::from_secs(20)).expect("a timer beside it fires");
}

#[tokio::test]
async fn ht_6_what_an_extension_tells_says_which_subscription_it_is_for() {
    let server = builder().extension(Weather).build().unwrap();
    let mut listening = mrtr_server::testing::Client::new(&server).listen(SubscriptionFilter::new()).await;
    listening.next().await.unwrap();
    let told = listening.next().await.unwrap();
    assert_eq!((&told["method"], &told["params"]["kelvin"]), (&json!("com.example/weather/changed"), &json!(290)));
    assert_eq!(told["params"]["_meta"], json!({ "io.modelcontextprotocol/subscriptionId": 1 }));
}
