//! rmcp's HTTP service without sessions: a client that initializes cannot be asked, and is told why.

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, Tool};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::person::{Person, call, text};
use crate::sites::{Lifecycle, serve_as, visit};

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

#[tokio::test]
async fn who_cannot_be_asked_without_a_session_is_told_so() {
    let ask = async |flow: Flow| {
        let Word { word } = flow.elicit("word", "A word?").await?;
        Ok::<_, Failure>(word)
    };
    let wave = async |_: Flow| Ok::<_, Failure>("hello");
    let server = Server::builder("gate", "1.0.0").tool(Tool::new("ask", ask)).tool(Tool::new("wave", wave)).build();
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false);
    let address = serve_as(Flows::new(server.expect("it is well made")), config).await;
    let person = Person::answering([("A word?", json!({ "word": "hi" }))]);

    let client = visit(address, &person, Lifecycle::Initialize, None).await;
    assert_eq!(text(&client.call_tool(call("wave", json!({}))).await.expect("it is answered")), "hello");
    let refused = client.call_tool(call("ask", json!({}))).await.expect("it is answered");
    assert_eq!(refused.is_error, Some(true));
    assert_eq!(
        text(&refused),
        "This call would ask for `word`, and this server keeps no sessions in which a client of this protocol version \
         could be asked"
    );
    let client = visit(address, &person, Lifecycle::Discover, None).await;
    assert_eq!(text(&client.call_tool(call("ask", json!({}))).await.expect("it is answered")), "hi");
}
