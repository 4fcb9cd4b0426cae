//! A client is asked only what it declared for this very request.

use std::collections::HashMap;

use mrtr_schema::sampling::{CreateMessageParams, IncludeContext, SamplingMessage};
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{ClientCapabilities, Revision, Tool};
use mrtr_server::flow::SamplingTools;
use mrtr_server::handler::IntoHandler;
use mrtr_server::testing::everything;
use mrtr_server::{Failure, Flow};
use serde_json::{Value, json};

use crate::support::{Approval, Effects, Name, begin, client};

fn declared(capabilities: Value) -> ClientCapabilities {
    serde_json::from_value(capabilities).unwrap()
}

/// Returns what a client that declared this lacks, or null if it is asked.
async fn lacking<M>(handler: impl IntoHandler<M>, capabilities: Value) -> Value {
    let call = begin(&client(handler).declaring(declared(capabilities))).await;
    if call.interim().is_some() {
        return Value::Null;
    }
    assert_eq!(call.expect_error().code.as_i64(), -32021);
    call.response()["error"]["data"]["requiredCapabilities"].clone()
}

async fn form(flow: Flow) -> Result<String, Failure> {
    Ok(flow.elicit::<Name>("name", "Who?").await?.name)
}

async fn url(flow: Flow) -> Result<(), Failure> {
    Ok(flow.elicit_url("go", "Go", "https://example.com").await?)
}

#[tokio::test]
async fn forms_and_urls_are_declared_apart_and_an_empty_object_means_forms() {
    let form_needed = json!({ "elicitation": { "form": {} } });
    let url_needed = json!({ "elicitation": { "url": {} } });
    assert_eq!(lacking(form, json!({})).await, form_needed);
    assert_eq!(lacking(form, json!({ "elicitation": {} })).await, Value::Null);
    assert_eq!(lacking(form, json!({ "elicitation": { "form": {} } })).await, Value::Null);
    assert_eq!(lacking(form, json!({ "elicitation": { "url": {} } })).await, form_needed);
    assert_eq!(lacking(url, json!({ "elicitation": {} })).await, url_needed);
    assert_eq!(lacking(url, json!({ "elicitation": { "form": {} } })).await, url_needed);
    assert_eq!(lacking(url, json!({ "elicitation": { "url": {} } })).await, Value::Null);
}

/// More clients than a server remembers the words of, in turns and again and again.
#[tokio::test]
async fn sv_8_what_one_client_declared_never_counts_for_another() {
    let clients = 0..20;
    for turn in [clients.clone(), clients.clone(), clients] {
        for client in turn {
            let mut declared = json!({ "experimental": { format!("client-{client}"): {} } });
            if client % 3 == 0 {
                declared["elicitation"] = json!({});
            }
            let needed = if client % 3 == 0 { Value::Null } else { json!({ "elicitation": { "form": {} } }) };
            assert_eq!(lacking(form, declared).await, needed, "client {client}");
        }
    }
}

#[tokio::test]
async fn sampling_roots_and_extensions_are_declared_each_for_itself() {
    let params = || CreateMessageParams::new([SamplingMessage::user("Hi")], 10_u64);
    let plain = move |flow: Flow| async move { Ok::<_, Failure>(flow.sample("s", params()).await?.model) };
    assert_eq!(lacking(plain, json!({})).await, json!({ "sampling": {} }));
    assert_eq!(lacking(plain, json!({ "sampling": {} })).await, Value::Null);

    let tools = move |flow: Flow| async move {
        let weather = Tool::new("weather", InputSchema::parse(r#"{"type": "object"}"#)?);
        let tools = SamplingTools::new().tool(weather, async |_| Ok("sunny".into()));
        Ok::<_, Failure>(flow.sample_with_tools("s", params(), &tools).await?.model)
    };
    assert_eq!(lacking(tools, json!({ "sampling": {} })).await, json!({ "sampling": { "tools": {} } }));
    assert_eq!(lacking(tools, json!({ "sampling": { "tools": {} } })).await, Value::Null);

    let context = |include: IncludeContext| {
        move |flow: Flow| async move {
            let mut params = params();
            params.include_context = Some(include);
            Ok::<_, Failure>(flow.sample("s", params).await?.model)
        }
    };
    let needed = json!({ "sampling": { "context": {} } });
    assert_eq!(lacking(context(IncludeContext::ThisServer), json!({ "sampling": {} })).await, needed);
    assert_eq!(lacking(context(IncludeContext::ThisServer), needed.clone()).await, Value::Null);
    assert_eq!(lacking(context(IncludeContext::None), json!({ "sampling": {} })).await, Value::Null);

    let roots = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len().to_string());
    assert_eq!(lacking(roots, json!({})).await, json!({ "roots": {} }));
    assert_eq!(lacking(roots, json!({ "roots": {} })).await, Value::Null);

    let asks = async |flow: Flow| Ok::<_, Failure>(flow.ask::<Approval>("a", HashMap::new()).await?.to_string());
    let needed = json!({ "extensions": { "com.example/approval": {} } });
    assert_eq!(lacking(asks, json!({ "extensions": { "com.example/other": {} } })).await, needed);
    assert_eq!(lacking(asks, needed.clone()).await, Value::Null);
}

#[tokio::test]
async fn all_that_is_missing_is_named_together() {
    let handler = async |flow: Flow| {
        let asks = (flow.elicit::<Name>("n", "?"), flow.elicit_url("u", "?", "https://example.com"), flow.roots("r"));
        flow.join(asks).await?;
        Ok::<_, Failure>("done")
    };
    let needed = json!({ "elicitation": { "form": {}, "url": {} }, "roots": {} });
    assert_eq!(lacking(handler, json!({ "sampling": {} })).await, needed);
    let needed = json!({ "elicitation": { "url": {} } });
    assert_eq!(lacking(handler, json!({ "elicitation": {}, "roots": {} })).await, needed);
}

#[tokio::test]
async fn a_retry_that_no_longer_declares_a_kind_is_not_asked_for_it() {
    let able = client(form);
    let call = begin(&able).await;
    call.expect_asked(&["name"]);
    let retry = call.clone().as_client(&able.clone().declaring(ClientCapabilities::new())).send().await;
    assert_eq!(retry.expect_error().code.as_i64(), -32021);
    let answered = call.as_client(&able.declaring(ClientCapabilities::new())).accept("name", json!({ "name": "Ada" }));
    assert_eq!(answered.send().await.expect_text(), "Ada", "what is answered need not be asked");
}

#[tokio::test]
async fn a_flow_sees_what_the_client_declared() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.capabilities().lists_roots().to_string());
    assert_eq!(begin(&client(handler)).await.expect_text(), "true");
    assert_eq!(begin(&client(handler).declaring(ClientCapabilities::new())).await.expect_text(), "false");
}

#[tokio::test]
async fn older_revisions_have_no_code_for_it_and_fewer_kinds() {
    let call = begin(&client(form).speaking(Revision::Sep2322).declaring(ClientCapabilities::new())).await;
    assert_eq!(call.expect_error().code.as_i64(), -32602);
    let effects = Effects::default();
    let seen = effects.clone();
    let roots = move |flow: Flow| {
        let effects = seen.clone();
        async move {
            effects.happen(format!("{:?}", flow.roots("optional").optional().await.map(|roots| roots.len())));
            Ok::<_, Failure>(flow.roots("roots").await?.len().to_string())
        }
    };
    let call = begin(&client(roots).speaking(Revision::Draft202602).declaring(everything())).await;
    assert_eq!(call.expect_error().code.as_i64(), -32602);
    assert_eq!(effects.all(), ["None"]);
}
