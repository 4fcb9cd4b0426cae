//! Section "Hosts and eras": what each client is sent, and a call that is put down and picked up.

use mrtr::client::testing::Script;
use mrtr::prelude::*;
use mrtr::schema::{CallToolResult, ClientCapabilities};
use mrtr::serde_json;
use mrtr::server::testing;

use crate::page;
use crate::session::Session;

#[data]
struct Name {
    name: String,
}

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

/// The block of the section that has this member, beside the id.
fn shown(member: &str) -> Result<Value> {
    let mut messages = page::blocks("json").filter_map(|block| serde_json::from_str::<Value>(block.text).ok());
    Ok(messages.find(|message| message.get("id").and(message.get(member)).is_some()).ok_or("the page shows it")?)
}

#[tokio::test]
async fn a_modern_client_gets_a_reply_that_asks() -> Result<()> {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    let call = testing::Client::new(&server).call_tool("greet", json!({})).await;
    let mut shown = shown("result")?;
    // Each state is another.
    shown["result"]["requestState"] = json!(call.state());
    assert_eq!(*call.response(), shown);
    Ok(())
}

#[tokio::test]
async fn a_legacy_client_gets_a_request_that_asks() -> Result<()> {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    let mut session = Session::open(server, "2025-06-18").await?;
    let question = session.call("greet").await?;
    let mut shown = shown("method")?;
    // The id is the server's.
    shown["id"] = question["id"].clone();
    assert_eq!(question, shown);
    let result = session.accept(&question, json!({ "name": "Ada" })).await?;
    assert_eq!(result["result"]["content"][0]["text"], "Hello, Ada", "{result}");
    Ok(())
}

async fn describe(flow: Flow) -> Result<String> {
    if !flow.capabilities().samples() {
        return Ok("A picture".into());
    }
    Ok("A picture, which a model may be asked about".into())
}

#[tokio::test]
async fn a_handler_sees_what_a_client_can_do() -> Result<()> {
    let server = Server::builder("gallery", "1.0.0").tool(Tool::new("describe", describe)).build()?;
    let able = testing::Client::new(&server);
    assert!(able.call_tool("describe", json!({})).await.expect_text().ends_with("asked about"));
    let plain = able.declaring(ClientCapabilities::default());
    assert_eq!(plain.call_tool("describe", json!({})).await.expect_text(), "A picture");
    Ok(())
}

/// Makes one round; if something is asked, the call becomes text to be kept.
async fn begin(client: &Client) -> Result<String> {
    match client.call_tool_once("greet", json!({})).await? {
        RoundOutcome::Asked(call) => Ok(serde_json::to_string(&call)?),
        other => Err(format!("nothing was asked: {other:?}").into()),
    }
}

/// Next week, in another process.
async fn finish(client: &Client, kept: &str) -> Result<CallToolResult> {
    let mut call: PendingCall = serde_json::from_str(kept)?;
    for key in call.unanswered().map(str::to_owned).collect::<Vec<_>>() {
        println!("{}", call.message(&key).unwrap_or_default());
        call.accept(&key, &json!({ "name": "Ada" }))?;
    }
    Ok(client.resume(call).await?)
}

#[tokio::test]
async fn a_call_is_put_down_and_picked_up() -> Result<()> {
    let asks = shown("result")?["result"].clone();
    let script = Script::new()
        .result(asks)
        .result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": "Hello, Ada" }] }));
    let client = || Client::builder(script.clone()).on_elicit(async |form: FormRequest| form.decline()).build();
    let kept = begin(&client()).await?;
    assert_eq!(finish(&client(), &kept).await?.text(), "Hello, Ada");
    assert!(script.sent()[1].as_str().contains(r#""content":{"name":"Ada"}"#), "{:?}", script.sent());
    Ok(())
}
