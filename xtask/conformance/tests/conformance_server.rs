//! Tests of the conformance server beyond the suite's fixtures, over real sockets.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use std::time::Duration;

use http::HeaderValue;
use http::header::AUTHORIZATION;
use mrtr_client::{
    Builder, CallError, CallErrorKind, Client, FormRequest, PendingCall, QuestionContext, RoundOutcome, UrlRequest,
};
use mrtr_fixtures::Program;
use mrtr_http::HttpTransport;
use mrtr_schema::content::{Role, TextContent};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent, ToolUseContent};
use mrtr_schema::{CallToolResult, ErrorCode, InputResponse, JsonObject, Method, NamespacedInput, Revision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn serve(options: &[&str]) -> Program {
    Program::start(env!("CARGO_BIN_EXE_conformance-server"), |command, address| {
        command.arg("--port").arg(address.port().to_string()).args(options);
    })
}

fn client(program: &Program, path: &str) -> Builder {
    Client::builder(HttpTransport::new(&program.url(path)).unwrap())
}

/// A client that fills in every form that these fixtures have.
fn person(program: &Program, path: &str) -> Builder {
    client(program, path)
        .on_elicit(|form: FormRequest| async move { form.accept(&json!({ "name": "Ada", "ok": true })) })
}

fn text(result: &CallToolResult) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The first round of a call that asks, and the call with the answer to `confirm`.
async fn asked(client: &Client, tool: &str, ok: bool) -> PendingCall {
    let RoundOutcome::Asked(mut pending) = client.call_tool_once(tool, json!({})).await.unwrap() else {
        panic!("it asks")
    };
    confirm(&mut pending, ok);
    pending
}

fn confirm(pending: &mut PendingCall, ok: bool) {
    let content: Value = json!({ "ok": ok });
    let answer = ElicitResult::accept(JsonObject::of(&content).unwrap());
    pending.answer("confirm", &InputResponse::of(&answer, Revision::V2026_07_28).unwrap()).unwrap();
}

fn code(error: &CallError) -> Option<ErrorCode> {
    if let CallErrorKind::Server { error, .. } = &error.kind { Some(error.code) } else { None }
}

#[tokio::test]
async fn a_state_belongs_to_whoever_it_was_given_to() {
    let server = serve(&["--bearer-principals"]);
    let as_principal = |token: &'static str| {
        let transport = HttpTransport::new(&server.url("/mcp")).unwrap();
        let transport = transport.header(AUTHORIZATION, HeaderValue::from_static(token));
        Client::builder(transport).on_elicit(|form: FormRequest| async move { form.decline() }).build()
    };
    let ann = as_principal("Bearer ann");
    let pending = asked(&ann, "test_input_required_result_request_state", true).await;
    let anonymous = person(&server, "/mcp").build();
    for other in [as_principal("Bearer bob"), anonymous] {
        assert_eq!(code(&other.resume(pending.clone()).await.unwrap_err()), Some(ErrorCode::INVALID_PARAMS));
    }
    assert!(ann.resume(pending).await.unwrap().text().contains("state-ok"));
}

#[tokio::test]
async fn a_state_expires() {
    let server = serve(&["--state-ttl-ms", "1"]);
    let client = person(&server, "/mcp").build();
    let pending = asked(&client, "test_input_required_result_request_state", true).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(code(&client.resume(pending).await.unwrap_err()), Some(ErrorCode::INVALID_PARAMS));
}

#[tokio::test]
async fn instances_that_share_keys_go_on_with_each_others_flows() {
    let keys = [
        "--state-keys",
        "k2:CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=,k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
    ];
    let (one, other, stranger) = (serve(&keys), serve(&keys), serve(&[]));
    let pending = asked(&person(&one, "/mcp").build(), "test_input_required_result_request_state", true).await;
    // To a client, each instance is a server of its own.
    let moved = |to: &Client| pending.clone().trust_other_server(to.server());
    let stranger = person(&stranger, "/mcp").build();
    let refused = stranger.resume(moved(&stranger)).await.unwrap_err();
    assert_eq!(code(&refused), Some(ErrorCode::INVALID_PARAMS));
    let other = person(&other, "/mcp").build();
    let result = other.resume(moved(&other)).await.unwrap();
    assert!(result.text().contains("state-ok"));
}

#[tokio::test]
async fn a_state_that_did_not_come_back_is_not_called_good() {
    let server = serve(&[]);
    let client = person(&server, "/mcp").build();
    for tool in ["test_input_required_result_request_state", "test_input_required_result_tampered_state"] {
        let mut without = serde_json::to_value(asked(&client, tool, true).await).unwrap();
        assert!(without.as_object_mut().unwrap().remove("state").is_some(), "{without}");
        let result = client.resume(serde_json::from_value(without).unwrap()).await.unwrap();
        assert!(!result.text().contains("state-ok"), "{}", result.text());
        assert!(result.text().contains("no state came"), "{}", result.text());
    }
}

#[tokio::test]
async fn a_single_use_state_is_redeemed_once() {
    let server = serve(&[]);
    let client = person(&server, "/mcp").build();
    let pending = asked(&client, "test_single_use", true).await;
    let first = client.resume(pending.clone()).await.unwrap();
    assert!(first.text().contains("state-ok"));
    assert_eq!(client.resume(pending.clone()).await.unwrap(), first, "the same answers get the same reply");
    let mut other_answer = pending;
    confirm(&mut other_answer, false);
    assert_eq!(code(&client.resume(other_answer).await.unwrap_err()), Some(ErrorCode::INVALID_PARAMS));
}

#[tokio::test]
async fn a_state_is_carried_twice_with_nothing_asked() {
    let server = serve(&[]);
    let client = client(&server, "/mcp").build();
    let mut round = client.call_tool_once("test_state_only", json!({})).await.unwrap();
    let mut put_off = 0;
    while let RoundOutcome::BackOff(pending, _) = round {
        put_off += 1;
        round = client.advance(pending).await.unwrap();
    }
    assert!(matches!(round, RoundOutcome::Complete(_)), "{round:?}");
    assert_eq!(put_off, 2);
}

#[tokio::test]
async fn a_person_is_asked_to_visit_a_page() {
    let server = serve(&[]);
    let agrees = client(&server, "/mcp").on_url(|url: UrlRequest| async move {
        assert!(url.url().starts_with("https://example.com/connect?id="));
        url.consent()
    });
    let result = agrees.build().call_tool("test_url_elicitation", json!({})).await.unwrap();
    assert_eq!(text(&result), "The person went to connect their account");

    let declines = client(&server, "/mcp").on_url(|url: UrlRequest| async move { url.decline() }).build();
    let result = declines.call_tool("test_url_elicitation", json!({})).await.unwrap();
    assert_eq!(result.is_error, Some(true));

    let only_forms = person(&server, "/mcp").build();
    let refused = only_forms.call_tool("test_url_elicitation", json!({})).await.unwrap_err();
    // The server refused the request with -32021, which names what this client has no handler for.
    assert!(matches!(refused.kind, CallErrorKind::NoHandler { key: None, .. }), "{refused:?}");
}

struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    approver: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Seen {}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Seen;
}

#[tokio::test]
async fn an_approval_is_shown_in_the_best_way_that_a_client_knows() {
    let server = serve(&[]);
    let call = |client: Client| async move { client.call_tool("test_namespaced_input", json!({})).await };

    let show = |pending: Pending, _: QuestionContext| async move {
        assert_eq!(pending.approver, "Ada");
        Ok::<_, String>(Seen {})
    };
    let knows = client(&server, "/mcp").on_input::<Approval, _, _, _>(show).build();
    assert_eq!(text(&call(knows).await.unwrap()), "deployed");

    let opens_urls = client(&server, "/mcp").on_url(|url: UrlRequest| async move {
        assert_eq!(url.message(), "Ada must approve: deploy");
        url.consent()
    });
    assert_eq!(text(&call(opens_urls.build()).await.unwrap()), "deployed");

    let refused = call(client(&server, "/mcp").build()).await.unwrap_err();
    assert_eq!(code(&refused), Some(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY));
}

#[tokio::test]
async fn a_model_calls_a_tool_before_it_answers() {
    let server = serve(&[]);
    let model = |params: CreateMessageParams, _: QuestionContext| async move {
        let said = |content| CreateMessageResult::new(Role::Assistant, content, "none");
        let conversation = serde_json::to_string(&params.messages).unwrap();
        Ok::<_, String>(if conversation.contains("It is sunny in Paris") {
            said(SamplingContent::Text(TextContent::new("Take no umbrella")))
        } else {
            let city = JsonObject::of(&json!({ "city": "Paris" })).unwrap();
            said(SamplingContent::ToolUse(ToolUseContent::new("1", "get_weather", city)))
        })
    };
    let client = client(&server, "/mcp").on_sample_with_tools(model).build();
    let result = client.call_tool("test_sampling_with_tools", json!({})).await.unwrap();
    assert_eq!(text(&result), "Take no umbrella");
}

#[tokio::test]
async fn a_resource_asks_before_it_is_read() {
    let server = serve(&[]);
    let contents = person(&server, "/mcp").build().read_resource("test://input-required").await.unwrap();
    let contents = serde_json::to_value(contents).unwrap();
    assert_eq!(contents["contents"][0]["text"], "Hello, Ada!");
    assert_eq!(contents["contents"][0]["uri"], "test://input-required");
}

#[tokio::test]
async fn older_revisions_are_served_where_they_are_wanted() {
    let server = serve(&["--older"]);
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let client = person(&server, &format!("/{revision}")).revision(revision).build();
        let result = client.call_tool("test_input_required_result_elicitation", json!({})).await.unwrap();
        assert_eq!(text(&result), "Hello, Ada!", "{revision}");
    }
    let without = serve(&[]);
    let client = person(&without, "/sep-2322").revision(Revision::Sep2322).build();
    assert!(client.list_tools().await.is_err());
}
