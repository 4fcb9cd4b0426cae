//! JSON that two readers could read differently is refused, wherever it stands: a key that appears twice in its object,
//! and half a surrogate pair.

mod written;

use mrtr_schema::Revision;
use mrtr_server::handler::Completing;
use mrtr_server::{Context, Failure, Flow, Prompt, Resource, ResourceTemplate, Server, Tool};
use mrtr_state::Timestamp;
use mrtr_state::single_use::MemorySingleUse;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{builder, capabilities_of, code, greet, meta};
use written::{Fault, places, written_with};

#[derive(Deserialize, JsonSchema)]
struct City {
    #[expect(dead_code, reason = "only its name matters")]
    city: String,
}

/// A server with all that a client can call.
fn server() -> Server {
    let complete = async |_: Flow, _: Completing| Ok::<_, Failure>(vec!["Paris".to_owned()]);
    let visit = Prompt::new("visit", async |flow: Flow, _: City| greet(flow).await).complete("city", complete);
    builder()
        .tool(Tool::new("asks", greet))
        .tool(Tool::new("plain", async |_: Flow| Ok::<_, Failure>("plain")))
        .tool(Tool::new("once", greet).single_use(MemorySingleUse::new(Timestamp::from_millis(0))))
        .prompt(visit)
        .resource(Resource::new("test://one", "one", greet))
        .resource_template(ResourceTemplate::new("geo://{city}", "place", async |flow: Flow, _: City| {
            greet(flow).await
        }))
        .build()
        .unwrap()
}

/// A request of every method, each right as it is.
fn requests() -> Vec<(&'static str, Value)> {
    let prompt = json!({ "type": "ref/prompt", "name": "visit" });
    vec![
        ("tools/call", json!({ "name": "asks", "arguments": { "a": { "b": [1] } } })),
        ("tools/call", json!({ "name": "plain", "arguments": {} })),
        ("tools/call", json!({ "name": "once" })),
        ("prompts/get", json!({ "name": "visit", "arguments": { "city": "Paris" } })),
        ("resources/read", json!({ "uri": "test://one" })),
        ("resources/read", json!({ "uri": "geo://Paris" })),
        ("completion/complete", json!({ "ref": prompt, "argument": { "name": "city", "value": "P" } })),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("server/discover", json!({})),
    ]
}

fn with_meta(mut params: Value) -> Value {
    params["_meta"] = meta();
    params
}

/// A request whose parameters end with this text.
fn request(method: &str, params: &Value, more: &str) -> String {
    let params = params.to_string();
    let params = params.strip_suffix('}').unwrap();
    let comma = if params == "{" { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}{comma}{more}}}}}"#)
}

async fn answered(server: &Server, body: String, revision: Revision) -> Value {
    let context = Context::new().revision(revision).capabilities(capabilities_of(&json!({ "elicitation": {} })));
    let reply = server.handle(body.into(), context).await;
    serde_json::from_str(&reply.last().await.unwrap()).unwrap()
}

const AMBIGUOUS: [&str; 8] = [
    r#"{"a":1,"a":1}"#,
    r#"{"a":1,"\u0061":2}"#,
    r#"[{"b":{"c":[],"d":0,"c":{}}}]"#,
    r#""\ud800""#,
    r#"["\udc00\ud800"]"#,
    r#"{"\ud83d":1}"#,
    r#"{"a":"\ud83d\u0041"}"#,
    r#"{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"1":0}"#,
];

#[tokio::test]
async fn in_a_parameter_that_no_method_has() {
    let server = server();
    for (method, params) in requests() {
        for value in AMBIGUOUS {
            let body = request(method, &with_meta(params.clone()), &format!(r#""x":{value}"#));
            let response = answered(&server, body.clone(), Revision::V2026_07_28).await;
            assert_eq!(code(&response), Some(-32602), "{body}\n{response}");
            assert!(response["error"]["message"].as_str().unwrap().starts_with("$.x"), "{response}");
        }
    }
}

#[tokio::test]
async fn in_older_revisions_too() {
    let server = server();
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        for (method, params) in requests().into_iter().filter(|(method, _)| *method != "server/discover") {
            for value in AMBIGUOUS {
                let places = [format!(r#""x":{value}"#), format!(r#""_meta":{{"com.example/x":{value}}}"#)];
                for more in places {
                    let body = request(method, &params, &more);
                    let response = answered(&server, body.clone(), revision).await;
                    assert_eq!(code(&response), Some(-32602), "{revision} {body}\n{response}");
                }
            }
        }
    }
}

#[tokio::test]
async fn in_metadata_also_if_it_comes_again() {
    let server = server();
    for (method, params) in requests() {
        for value in AMBIGUOUS {
            let meta = meta().to_string();
            let more = format!(r#""_meta":{},"com.example/x":{value}}}"#, meta.strip_suffix('}').unwrap());
            let body = request(method, &params, &more);
            for _ in 0..3 {
                let response = answered(&server, body.clone(), Revision::V2026_07_28).await;
                assert_eq!(code(&response), Some(-32602), "{body}\n{response}");
            }
        }
    }
}

#[tokio::test]
async fn in_an_answer_that_was_not_asked_for() {
    let server = server();
    for (method, params) in requests() {
        for value in AMBIGUOUS {
            let answer = format!(r#"{{"action":"accept","content":{{"x":{value}}}}}"#);
            let more = format!(r#""inputResponses":{{"unasked":{answer}}}"#);
            let body = request(method, &with_meta(params.clone()), &more);
            let response = answered(&server, body.clone(), Revision::V2026_07_28).await;
            assert_eq!(code(&response), Some(-32602), "{body}\n{response}");
        }
    }
}

#[tokio::test]
async fn in_an_answer_that_was_asked_for() {
    let server = server();
    for (method, params) in requests() {
        let asked =
            answered(&server, request(method, &with_meta(params.clone()), r#""x":1"#), Revision::V2026_07_28).await;
        let Some(state) = asked["result"]["requestState"].as_str() else { continue };
        for value in AMBIGUOUS {
            let answer = format!(r#"{{"action":"accept","content":{{"name":"Ada","x":{value}}}}}"#);
            let more = format!(r#""x":1,"requestState":"{state}","inputResponses":{{"who":{answer}}}"#);
            let body = request(method, &with_meta(params.clone()), &more);
            let response = answered(&server, body.clone(), Revision::V2026_07_28).await;
            assert_eq!(code(&response), Some(-32602), "{body}\n{response}");
        }
    }
}

/// A message has no such members and the server reads none; still they must not mean two things.
#[tokio::test]
async fn in_a_member_that_no_message_has() {
    for value in AMBIGUOUS {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","x":{value},"params":{}}}"#,
            with_meta(json!({}))
        );
        let response = answered(&server(), body, Revision::V2026_07_28).await;
        assert_eq!((code(&response), &response["id"]), (Some(-32600), &json!(7)), "{response}");
    }
    let body =
        format!(r#"{{"jsonrpc":"2.0","x":1,"id":7,"method":"tools/list","x":1,"params":{}}}"#, with_meta(json!({})));
    let response = answered(&server(), body, Revision::V2026_07_28).await;
    assert_eq!((code(&response), &response["id"]), (Some(-32600), &json!(7)), "{response}");
}

/// Any JSON, mostly of objects.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), "[a-z\"\\\\é]{0,4}".prop_map(Value::from)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z\"\\\\é]{0,3}", inner, 0..12).prop_map(|members| json!(members)),
        ]
    })
}

/// A request of any method, with JSON of any shape wherever the protocol leaves room for it.
fn any_request() -> impl Strategy<Value = Value> {
    let object = any_json().prop_map(|value| json!({ "free": value }));
    (prop::sample::select(requests()), any_json(), any_json(), object).prop_map(
        |((method, params), x, in_meta, object)| {
            let mut params = with_meta(params);
            params["_meta"]["com.example/x"] = in_meta;
            params["inputResponses"] = json!({ "unasked": object });
            if method == "tools/call" {
                params["arguments"] = object;
            }
            params["x"] = x.clone();
            json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params, "y": x })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// One object, at any depth, means two things or none: the message is refused, and as what it is. Where the object
    /// is the message or its `params`, or stands outside `params`, it is no message (-32600); within a parameter, that
    /// parameter is wrong (-32602).
    #[test]
    fn what_is_ambiguous_anywhere_is_refused(
        request in any_request(),
        place in any::<prop::sample::Index>(),
        fault in any_fault(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let server = server();
        let right = runtime.block_on(answered(&server, request.to_string(), Revision::V2026_07_28));
        prop_assert_eq!(code(&right), None, "{}", right);

        let places = places(&request);
        let place = place.get(&places);
        let in_params = place.path.first().is_some_and(|first| first == "params");
        let in_a_parameter = in_params && (place.path.len() > 1 || matches!(fault, Fault::HalfAPairIn));
        let body = written_with(&request, place, &fault);
        let response = runtime.block_on(answered(&server, body.clone(), Revision::V2026_07_28));
        prop_assert_eq!(code(&response), Some(if in_a_parameter { -32602 } else { -32600 }), "{}\n{}", body, response);
    }
}

fn any_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        any_json().prop_map(Fault::Twice),
        any_json().prop_map(Fault::TwiceInEscapes),
        Just(Fault::HalfAPair),
        Just(Fault::HalfAPairIn),
    ]
}
