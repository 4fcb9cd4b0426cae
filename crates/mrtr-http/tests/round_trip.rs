//! A whole conversation over a real socket: our client, our server.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use mrtr_client::{Client, FormRequest};
use mrtr_http::{Endpoint, HttpTransport, Serve};
use mrtr_schema::Revision;
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

#[derive(Deserialize, JsonSchema)]
struct Login {
    name: String,
}

async fn greet(flow: Flow) -> Result<String, Failure> {
    flow.progress(1, Some(2), "asking").await;
    let login: Login = flow.elicit("login", "Who are you?").await?;
    Ok(format!("Hello, {}", login.name))
}

#[tokio::test]
async fn a_tool_that_asks_is_called_over_a_socket() {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap();
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", bound.address().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(bound.run(async { drop(stopped.await) }));

    let answer = |form: FormRequest| async move { form.accept(&json!({ "name": "Ada" })) };
    let client = Client::builder(HttpTransport::new(&url).unwrap()).on_elicit(answer).build();
    let events = client.events();
    let result = client.call_tool("greet", json!({})).await.unwrap();
    assert_eq!(serde_json::to_value(&result).unwrap()["content"][0]["text"], "Hello, Ada");
    drop((events, client));

    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_of_an_older_revision_is_taken_to_answer_all_that_it_can_be_asked() {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap();
    let older = Endpoint::anonymous(server.clone()).revision(Revision::Sep2322);
    let bound = Serve::new(Endpoint::anonymous(server)).endpoint("/sep-2322", older).bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/sep-2322", bound.address().unwrap());
    let serving = tokio::spawn(bound.run(std::future::pending()));

    let answer = |form: FormRequest| async move { form.accept(&json!({ "name": "Ada" })) };
    let client = Client::builder(HttpTransport::new(&url).unwrap()).revision(Revision::Sep2322).on_elicit(answer);
    let result = client.build().call_tool("greet", json!({})).await.unwrap();
    assert_eq!(serde_json::to_value(&result).unwrap()["content"][0]["text"], "Hello, Ada");
    serving.abort();
}
