//! The two older revisions: their shapes, their methods and their codes.

use mrtr_schema::Revision;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_server::transport::{HeaderClaim, Headers};
use mrtr_server::{Context, Failure, Flow, Prompt, Resource, Server, Tool};
use serde_json::{Value, json};

use crate::schema;
use crate::support::{builder, client, greet, name, three_names};

const OLDER: [Revision; 2] = [Revision::Draft202602, Revision::Sep2322];

fn server() -> Server {
    builder()
        .tool(Tool::new("ask", greet))
        .tool(Tool::new("names", async |flow: Flow| three_names(&flow).await))
        .tool(Tool::new("roots", async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len().to_string())))
        .prompt(Prompt::new("ask", greet))
        .resource(Resource::new("test://ask", "ask", greet))
        .instructions("Be kind.")
        .build()
        .unwrap()
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "old", "version": "1" },
    })
}

#[tokio::test]
async fn a_session_is_opened_with_the_version_of_the_mount() {
    for revision in OLDER {
        let client = client(&server()).speaking(revision);
        let opened = client.request("initialize", initialize()).await;
        let result = &opened.response()["result"];
        assert_eq!(result["protocolVersion"], revision.as_str());
        assert_eq!(result["serverInfo"], json!({ "name": "whole", "version": "1.0.0" }));
        assert_eq!(result["capabilities"], json!({ "tools": {}, "prompts": {}, "resources": {} }));
        assert_eq!(result["instructions"], "Be kind.");
        assert_eq!(client.request("initialize", json!({})).await.expect_error().code.as_i64(), -32602);
    }
}

#[tokio::test]
async fn a_ping_is_answered_with_nothing_but_what_a_result_must_have() {
    let answer =
        async |revision| client(&server()).speaking(revision).request("ping", json!({})).await.response().clone();
    assert_eq!(answer(Revision::Draft202602).await["result"], json!({}));
    assert_eq!(answer(Revision::Sep2322).await["result"], json!({ "resultType": "complete" }));
}

#[tokio::test]
async fn interim_results_have_the_shape_of_the_revision() {
    for revision in OLDER {
        let asked = client(&server()).speaking(revision).call_tool("ask", json!({})).await;
        let result = asked.response()["result"].as_object().unwrap();
        let mut members: Vec<_> = result.keys().map(String::as_str).collect();
        members.sort_unstable();
        match revision {
            Revision::Draft202602 => assert_eq!(members, ["inputRequests", "requestState"]),
            _ => assert_eq!(members, ["inputRequests", "requestState", "resultType"]),
        }
        let done = asked.accept("who", name("Ada")).send().await;
        assert_eq!(done.response()["result"].get("resultType").is_some(), revision == Revision::Sep2322);
        assert_eq!(done.expect_text(), "Hello, Ada");
    }
}

#[tokio::test]
async fn a_conversation_takes_three_rounds_over_three_instances() {
    for revision in OLDER {
        let mut call = client(&server()).speaking(revision).call_tool("names", json!({})).await;
        for (key, answer) in [("first", "Ada"), ("second", "Grace"), ("third", "Edsger")] {
            call.expect_asked(&[key]);
            call = call.accept(key, name(answer)).at(&server()).send().await;
        }
        assert_eq!(call.expect_text(), "Ada, Grace, Edsger");
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_there_too() {
    for revision in OLDER {
        let client = client(&server()).speaking(revision);
        let got = client.get_prompt("ask", json!({})).await.accept("who", name("Ada")).send().await;
        assert_eq!(got.response()["result"]["messages"][0]["content"]["text"], "Hello, Ada");
        let read = client.read_resource("test://ask").await.accept("who", name("Ada")).send().await;
        assert_eq!(read.response()["result"]["contents"][0]["text"], "Hello, Ada");
    }
}

#[tokio::test]
async fn roots_are_an_input_from_the_proposal_on() {
    let call = async |revision| client(&server()).speaking(revision).call_tool("roots", json!({})).await;
    assert_eq!(call(Revision::Draft202602).await.expect_error().code.as_i64(), -32602);
    call(Revision::Sep2322).await.expect_asked(&["roots"]);
}

#[tokio::test]
async fn a_client_is_asked_what_its_context_declares_and_there_is_no_code_of_its_own_for_the_rest() {
    let sample = async |flow: Flow| {
        let params = CreateMessageParams::new([SamplingMessage::user("Well?")], 10_u64);
        Ok::<_, Failure>(flow.sample("model", params).await?.model)
    };
    let server = builder().tool(Tool::new("sample", sample)).build().unwrap();
    for revision in OLDER {
        let client = client(&server).speaking(revision);
        client.call_tool("sample", json!({})).await.expect_asked(&["model"]);
        let mute = client.declaring(mrtr_schema::ClientCapabilities::new());
        let error = mute.call_tool("sample", json!({})).await.expect_error();
        assert_eq!(error.code.as_i64(), -32602);
        assert!(error.data.unwrap().as_str().contains("sampling"));
    }
}

#[tokio::test]
async fn methods_of_the_published_revision_are_unknown() {
    for revision in OLDER {
        for method in ["server/discover", "subscriptions/listen", "tasks/update", "no/such"] {
            let error = client(&server()).speaking(revision).request(method, json!({})).await.expect_error();
            assert_eq!(error.code.as_i64(), -32601, "{method}");
        }
    }
}

#[tokio::test]
async fn headers_and_metadata_of_the_published_revision_are_not_looked_for() {
    let headers = Headers { version: HeaderClaim::Text("1999".into()), ..Headers::default() };
    for revision in OLDER {
        let context = Context::new().revision(revision).headers(headers.clone());
        for params in [json!({}), json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "1999" } })] {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
            let reply = server().handle_value(body, context.clone()).await.unwrap();
            schema::check(revision, "tools/list", &reply);
            assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), 3);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": 7 } });
        assert_eq!(server().handle_value(body, context).await.unwrap()["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn a_state_belongs_to_its_revision() {
    for (one, other) in [(Revision::Draft202602, Revision::Sep2322), (Revision::Sep2322, Revision::V2026_07_28)] {
        let client = client(&server());
        let asked = client.clone().speaking(one).call_tool("ask", json!({})).await.accept("who", name("Ada"));
        assert_eq!(asked.as_client(&client.speaking(other)).send().await.expect_error().code.as_i64(), -32602);
    }
}
