//! Helpers of these tests: clients whose replies are checked, servers that share a key, and handlers that ask.

use bytes::Bytes;
use mrtr_schema::{ClientCapabilities, Revision, Wire};
use mrtr_server::testing::Client;
use mrtr_server::{Builder, Context, Failure, Flow, Reply, Server, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::schema;

/// A client that can be asked everything, and whose every message is checked.
pub(crate) fn client(server: &Server) -> Client {
    Client::new(server).watched_by(schema::check)
}

/// A client that can be asked nothing but what this says.
pub(crate) fn client_declaring(server: &Server, capabilities: &Value) -> Client {
    client(server).declaring(capabilities_of(capabilities))
}

pub(crate) fn capabilities_of(capabilities: &Value) -> ClientCapabilities {
    ClientCapabilities::from_json(&capabilities.to_string(), Revision::V2026_07_28.strict()).unwrap()
}

/// Begins a server whose states every other one made by this can open.
pub(crate) fn builder() -> Builder {
    let ring = KeyRing::new(Key::new("tests", [9; 32]).unwrap());
    Server::builder("whole", "1.0.0").sealer(Sealer::new(ring, "tests").unwrap())
}

/// A server of one tool, called `tool`.
pub(crate) fn serve<M>(handler: impl mrtr_server::handler::IntoHandler<M>) -> Server {
    builder().tool(Tool::new("tool", handler)).build().unwrap()
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

pub(crate) fn name(name: &str) -> Value {
    json!({ "name": name })
}

/// Asks for one name.
pub(crate) async fn greet(flow: Flow) -> Result<String, Failure> {
    let Name { name } = flow.elicit("who", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

/// Asks for three names, one a round.
pub(crate) async fn three_names(flow: &Flow) -> Result<String, Failure> {
    let mut names = Vec::new();
    for key in ["first", "second", "third"] {
        names.push(flow.elicit::<Name>(key, format!("The {key} name?")).await?.name);
    }
    Ok(names.join(", "))
}

/// Sends one message as it is, and gives the response, checked.
pub(crate) async fn send(server: &Server, body: impl Into<Bytes>, context: Context<'_>, method: &str) -> Value {
    let reply = Box::pin(server.handle(body.into(), context)).await;
    let error = if let Reply::Message { error, .. } = &reply { *error } else { None };
    let response: Value = serde_json::from_str(&reply.last().await.unwrap()).unwrap();
    schema::check(Revision::V2026_07_28, method, &response);
    assert_eq!(error.map(|(code, _)| code.as_i64()), response["error"]["code"].as_i64());
    response
}

/// The metadata that every request of the published revision has.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    })
}

/// The code of an error response.
pub(crate) fn code(response: &Value) -> Option<i64> {
    response["error"]["code"].as_i64()
}
