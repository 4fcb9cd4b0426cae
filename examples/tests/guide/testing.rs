//! Section "Testing": counted effects, a check before deployment, and a scripted server for hosts.

use mrtr::client::testing::Script;
use mrtr::prelude::*;
use mrtr::server::testing;

use crate::effects::Effects;

#[data]
struct Mail {
    mail: String,
}

async fn pay(flow: Flow) -> Result<String> {
    flow.step("charge", charge(flow.state())).await?;
    let Mail { mail } = flow.elicit("mail", "Where shall the receipt go?").await?;
    Ok(format!("The receipt goes to {mail}"))
}

async fn charge(effects: &Effects) -> Result<()> {
    effects.note("charge");
    Ok(())
}

#[tokio::test]
async fn a_charge_is_made_once_however_often_it_is_asked() -> Result<()> {
    let effects = Effects::default();
    let server = Server::builder("shop", "1.0.0").state(effects.clone()).tool(Tool::new("pay", pay)).build()?;

    let call = testing::Client::new(&server).call_tool("pay", json!({})).await;
    let call = call.accept("mail", json!({ "mail": 7 })).send().await; // not a text
    call.expect_asked(&["mail"]);
    let call = call.accept("mail", json!({ "mail": "ada@example.com" })).send().await;

    assert_eq!(call.expect_text(), "The receipt goes to ada@example.com");
    assert_eq!(effects.noted(), ["charge"]);
    Ok(())
}

#[test]
fn what_would_fail_when_deployed_is_found() -> Result<()> {
    let server = Server::builder("shop", "1.0.0").tool(Tool::new("pay", pay)).build()?;
    let problems = testing::check(&server).expect_err("it is not ready").to_string();
    assert!(problems.contains("tool `pay` has no description"), "{problems}");
    assert!(problems.contains("openssl rand -base64 32"), "{problems}");
    Ok(())
}

#[tokio::test]
async fn a_host_shows_what_is_asked() -> Result<()> {
    let form = json!({ "type": "object", "properties": { "mail": { "type": "string" } } });
    let asks = json!({ "method": "elicitation/create",
        "params": { "mode": "form", "message": "Where shall the receipt go?", "requestedSchema": form } });
    let server = Script::new()
        .result(json!({ "resultType": "input_required", "requestState": "s", "inputRequests": { "mail": asks } }))
        .result(json!({ "resultType": "complete", "content": [] }));

    let shown = Effects::default();
    let screen = shown.clone();
    let show = move |form: FormRequest| {
        screen.note(form.message());
        async move { form.accept(&json!({ "mail": "ada@example.com" })) }
    };
    let client = Client::builder(server.clone()).on_elicit(show).build();
    client.call_tool("pay", json!({})).await?;

    assert_eq!(shown.noted(), ["Where shall the receipt go?"]);
    assert!(server.sent()[1].as_str().contains(r#""requestState":"s""#));
    Ok(())
}
