//! Replies that mean harm: the call ends with an error, and nothing worse.

use mrtr_client::testing::Script;
use mrtr_client::{CallError, CallErrorKind, Client, Stop};
use mrtr_schema::RequestId;
use serde_json::{Value, json};

use super::common::{Function, complete, rooted};

fn is_bad_reply(error: &CallError) -> bool {
    matches!(error.kind, CallErrorKind::Stopped { stop: Stop::BadReply(_) | Stop::ForeignReply { .. }, .. })
}

#[tokio::test]
async fn what_is_no_response_to_the_request_is_refused() {
    for text in [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "\u{0}".to_owned(),
        r#"{"jsonrpc":"2.0","id":"another","result":{"content":[]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"another","error":{"code":1,"message":"x"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"1","method":"sampling/createMessage","params":{}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
    ] {
        let error = rooted(Script::new().text(&*text)).call_tool("t", json!({})).await.unwrap_err();
        assert!(is_bad_reply(&error), "{text:.60}: {error}");
        assert!(error.pending().is_some());
    }
}

#[tokio::test]
async fn results_and_errors_that_are_none_are_refused() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for body in [
        r#""result":[]"#.to_owned(),
        r#""result":"x""#.to_owned(),
        r#""result":null"#.to_owned(),
        r#""result":{},"error":{"code":1,"message":"x"}"#.to_owned(),
        r#""result":{},"result":{}"#.to_owned(),
        r#""result":{"a":1,"a":2}"#.to_owned(),
        r#""result":{"resultType":7}"#.to_owned(),
        r#""result":{"resultType":"input_required"}"#.to_owned(),
        r#""result":{"resultType":"input_required","inputRequests":{}}"#.to_owned(),
        r#""result":{"resultType":"input_required","inputRequests":[]}"#.to_owned(),
        r#""result":{"resultType":"input_required","requestState":7}"#.to_owned(),
        r#""result":{"resultType":"input_required","inputRequests":{"a":{}}}"#.to_owned(),
        r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}}}"#.to_owned(),
        r#""result":{"resultType":"task"}"#.to_owned(),
        r#""result":{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":-1}"#.to_owned(),
        format!(r#""result":{{"deep":{deep}}}"#),
        r#""error":{"code":"x","message":"y"}"#.to_owned(),
        r#""error":{"code":1}"#.to_owned(),
        r#""error":{"code":1,"message":"x","data":{"a":1,"a":2}}"#.to_owned(),
        format!(r#""error":{{"code":1,"message":"x","data":{deep}}}"#),
    ] {
        let reply = body.clone();
        let server = Function(move |_: &Value, id: &RequestId| format!(r#"{{"jsonrpc":"2.0","id":{},{reply}}}"#, json!(id)));
        let error = rooted(server).call_tool("t", json!({})).await.unwrap_err();
        assert!(is_bad_reply(&error), "{body:.80}: {error:?}");
    }
}

#[tokio::test]
async fn keys_of_a_mebibyte_are_answered_and_not_repeated_in_messages() {
    let key = "k".repeat(1 << 20);
    let asks = json!({ "resultType": "input_required", "inputRequests": { &*key: { "method": "roots/list" } } });
    let script = Script::new().result(&asks).result(complete("done")).result(&asks);
    rooted(script.clone()).call_tool("t", json!({})).await.unwrap();
    let error = Client::builder(script).build().call_tool("t", json!({})).await.unwrap_err();
    assert!(error.to_string().len() < 300);

    let unknown: serde_json::Map<_, _> =
        (0..20).map(|number| (format!("{number}{key}"), json!({ "method": "com.example/x" }))).collect();
    let asks = json!({ "resultType": "input_required", "inputRequests": unknown });
    let limits = mrtr_client::Limits { reply_bytes: 1 << 28, ..Default::default() };
    let client = Client::builder(Script::new().result(asks)).limits(limits).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::Stopped { stop: Stop::Unanswerable(keys), .. } if keys.len() == 20));
    assert!(error.to_string().len() < 2000);
}

#[tokio::test]
async fn a_form_that_cannot_be_checked_is_not_answered() {
    let patterns = json!({ "type": "object", "properties": {
        "a": { "type": "string", "default": 7 },
        "b": { "type": "string", "pattern": "(", "default": "x" },
    } });
    let params = json!({ "message": "m", "requestedSchema": patterns });
    let asks = json!({ "resultType": "input_required",
        "inputRequests": { "f": { "method": "elicitation/create", "params": params } } });
    let client = Client::builder(Script::new().result(asks).result(complete("done")))
        .on_elicit(|form| async move { form.accept(&json!({})) })
        .build();
    assert!(client.call_tool("t", json!({})).await.is_err());
}

#[tokio::test]
async fn params_of_an_input_that_its_owner_does_not_know_reach_no_handler() {
    use mrtr_schema::{Method, NamespacedInput};
    struct Count;
    impl NamespacedInput for Count {
        const METHOD: Method = Method::from_static("com.example/count");
        type Params = u64;
        type Response = u64;
    }
    let asks = json!({ "resultType": "input_required",
        "inputRequests": { "n": { "method": "com.example/count", "params": { "to": 3 } } } });
    let client = Client::builder(Script::new().result(asks))
        .on_input::<Count, _, _, _>(|_, _| async { Ok::<_, String>(3) })
        .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::BadQuestion { key, .. } if key == "n"), "{error}");
}
