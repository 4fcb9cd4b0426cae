//! `server/discover`: what a server says of itself.

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use mrtr_schema::discovery::DiscoverResult;
use mrtr_schema::{CacheScope, CachingHints, Icon, Json, JsonObject, Revision, ServerCapabilities};
use mrtr_server::extend::{Extension, ExtensionMessage, ExtensionNotice, ExtensionReply, ExtensionRequest};
use mrtr_server::handler::Completing;
use mrtr_server::{Context, Failure, Flow, Prompt, ProtocolError, Reply, Resource, ResourceTemplate, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{builder, client};

#[derive(Deserialize, JsonSchema)]
struct Path {
    #[expect(dead_code, reason = "only its name matters")]
    path: String,
}

async fn done(_: Flow) -> Result<&'static str, Failure> {
    Ok("done")
}

async fn discover(server: &Server) -> Value {
    let discovered = client(server).request("server/discover", json!({})).await;
    discovered.expect_result::<DiscoverResult>();
    discovered.response()["result"].clone()
}

#[tokio::test]
async fn ht_6_a_server_says_its_versions_capabilities_and_name() {
    let discovered = discover(&builder().tool(Tool::new("tool", done)).build().unwrap()).await;
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discovered["capabilities"], json!({ "tools": { "listChanged": true }, "logging": {} }));
    let name = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(*name, json!({ "name": "whole", "version": "1.0.0" }));
    assert_eq!(discovered.get("instructions"), None);
    assert_eq!((&discovered["ttlMs"], &discovered["cacheScope"]), (&json!(0), &json!("private")));
}

#[tokio::test]
async fn a_server_can_do_what_it_has_and_nothing_else() {
    let changes = json!({ "listChanged": true });
    assert_eq!(discover(&builder().build().unwrap()).await["capabilities"], json!({ "logging": {} }));
    let tools = builder().tool(Tool::new("tool", done)).build().unwrap();
    assert_eq!(discover(&tools).await["capabilities"], json!({ "tools": changes, "logging": {} }));

    let complete = async |_: Flow, _: Completing| Ok::<_, Failure>(vec![]);
    let read = async |_: Flow, _: Path| Ok::<_, Failure>("done");
    let template = ResourceTemplate::new("t://{path}", "template", read).complete("path", complete);
    let all = builder()
        .tool(Tool::new("tool", done))
        .prompt(Prompt::new("prompt", done))
        .resource(Resource::new("r://one", "one", done))
        .resource_template(template)
        .extension(Weather)
        .build()
        .unwrap();
    let expected = json!({
        "tools": changes, "prompts": changes, "resources": { "listChanged": true, "subscribe": true },
        "completions": {}, "logging": {}, "extensions": { "com.example/weather": { "units": ["K"] } },
    });
    assert_eq!(discover(&all).await["capabilities"], expected);
}

#[tokio::test]
async fn every_method_of_a_declared_capability_is_there() {
    let server = builder().prompt(Prompt::new("prompt", done)).build().unwrap();
    assert!(client(&server).request("prompts/list", json!({})).await.error().is_none());
    assert_eq!(discover(&server).await["capabilities"].get("completions"), None);
    let error = client(&server).request("completion/complete", json!({})).await.expect_error();
    assert_eq!(error.code.as_i64(), -32601);
}

#[tokio::test]
async fn instructions_icons_and_hints_are_told() {
    let server = builder()
        .instructions("Ask before you delete.")
        .icons([Icon::new("https://example.com/icon.png")])
        .list_caching(CachingHints::keep(1000, CacheScope::Public))
        .build()
        .unwrap();
    let discovered = discover(&server).await;
    assert_eq!(discovered["instructions"], "Ask before you delete.");
    let name = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(name["icons"][0]["src"], "https://example.com/icon.png");
    assert_eq!((&discovered["ttlMs"], &discovered["cacheScope"]), (&json!(1000), &json!("public")));
}

/// An extension with a method of its own.
struct Weather;

#[async_trait]
impl Extension for Weather {
    fn name(&self) -> &'static str {
        "com.example/weather"
    }

    fn capability(&self, revision: Revision) -> Option<JsonObject> {
        (revision == Revision::V2026_07_28).then(|| JsonObject::parse(r#"{"units": ["K"]}"#).unwrap())
    }

    fn owns(&self, method: &str, revision: Revision) -> bool {
        ["com.example/weather/now", "com.example/weather/wait"].contains(&method) && revision == Revision::V2026_07_28
    }

    async fn handle(&self, request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        let ExtensionRequest { method, params, .. } = request;
        let now = Json::from(json!({ "resultType": "complete", "kelvin": 290, "_meta": { "a": 1 } }));
        match params.get("place") {
            Some(place) if place.get() == r#""nowhere""# => Ok(ExtensionReply::Stream(stream::empty().boxed())),
            Some(_) if method.ends_with("/wait") => {
                let params = json!({ "kelvin": 280 }).into();
                let warming = ExtensionNotice { method: "com.example/weather/changed", params };
                let messages = [
                    ExtensionMessage::Notice(warming.clone()),
                    ExtensionMessage::Result(Ok(now)),
                    ExtensionMessage::Notice(warming),
                ];
                Ok(ExtensionReply::Stream(stream::iter(messages).boxed()))
            }
            Some(_) => Ok(now.into()),
            None => Err(ProtocolError::invalid_params("where?")),
        }
    }

    fn declare(&self, revision: Revision, capabilities: &mut ServerCapabilities) {
        match self.capability(revision) {
            Some(capability) => {
                capabilities.extensions.get_or_insert_default().insert(self.name().to_owned(), capability);
            }
            // An older revision has a place of its own for it.
            None => capabilities.logging = Some(JsonObject::default()),
        }
    }
}

#[tokio::test]
async fn an_extension_may_answer_with_a_stream_that_ends_with_its_result() {
    let server = builder().extension(Weather).build().unwrap();
    let request = json!({
        "jsonrpc": "2.0", "id": 7, "method": "com.example/weather/wait",
        "params": { "place": "Oslo", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let reply = server.handle(request.to_string().into(), Context::new()).await;
    let Reply::Subscription(messages) = reply else { panic!("{reply:?}") };
    let messages: Vec<Value> = messages.map(|text| serde_json::from_str(&text).unwrap()).collect().await;
    assert_eq!(messages.len(), 2, "nothing comes after the result: {messages:?}");
    assert_eq!(messages[0]["params"]["kelvin"], 280);
    assert_eq!((&messages[1]["id"], &messages[1]["result"]["kelvin"]), (&json!(7), &json!(290)));
    assert!(messages[1]["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(), "{messages:?}");
}

#[tokio::test]
async fn a_stream_of_an_extension_that_never_gives_its_result_ends_with_an_error() {
    let server = builder().extension(Weather).build().unwrap();
    let params = json!({ "place": "nowhere" });
    let told = mrtr_server::testing::Client::new(&server).request("com.example/weather/wait", params).await;
    assert_eq!(told.response()["error"]["code"], -32603, "{}", told.response());
}

#[tokio::test]
async fn an_extension_says_of_itself_where_the_revision_wants_it() {
    let server = builder().extension(Weather).build().unwrap();
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "draft-2026-02", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } });
    let context = Context::new().revision(Revision::Draft202602);
    let reply = server.handle_value(request, context).await.unwrap();
    assert!(reply["result"]["capabilities"]["logging"].is_object(), "{reply}");
    assert!(reply["result"]["capabilities"]["extensions"].is_null(), "{reply}");
}

#[tokio::test]
async fn ht_7_a_result_of_an_extension_is_signed_too() {
    let server = builder().extension(Weather).build().unwrap();
    let client = mrtr_server::testing::Client::new(&server);
    let told = client.request("com.example/weather/now", json!({ "place": "Paris" })).await;
    let result = &told.response()["result"];
    assert_eq!((&result["kelvin"], &result["_meta"]["a"]), (&json!(290), &json!(1)));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "whole");
    assert_eq!(client.request("com.example/weather/now", json!({})).await.expect_error().code.as_i64(), -32602);
    let old = client.speaking(Revision::Sep2322).request("com.example/weather/now", json!({})).await;
    assert_eq!(old.expect_error().code.as_i64(), -32601);
}
