//! The family of the published revision: the extension's methods, and what they say.

use mrtr_schema::Revision;
use mrtr_server::testing::{Client, everything};
use mrtr_server::transport::{HeaderClaim, Headers};
use mrtr_server::{ProtocolError, TaskPolicy, ToolError};
use serde_json::{Value, json};

use crate::support::{Name, OLDER, Outside, Site, greeting, keys, tool, with_tasks};

#[tokio::test(start_paused = true)]
async fn tk_10_a_call_is_answered_with_a_task_that_asks_and_ends_inline() {
    let site = Site::of(greeting());
    let task = site.start().await;
    let created = &task.created;
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    assert_eq!(created["ttlMs"], 86_400_000);
    assert_eq!(created["pollIntervalMs"], 1_000);
    assert_eq!(created["createdAt"], "2026-07-28T12:00:00.000Z");
    assert_eq!(created["createdAt"], created["lastUpdatedAt"]);

    let asks = task.until("input_required").await;
    assert_eq!(asks["resultType"], "complete", "of the request, which is done");
    assert_eq!(asks["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(asks["inputRequests"]["name"]["params"]["message"], "Who are you?");
    assert!(asks.get("result").is_none() && asks.get("error").is_none());

    let said = task.deliver(json!({ "name": { "action": "accept", "content": { "name": "Ada" } } })).await;
    assert_eq!(keys(&without_server(&said["result"])), ["resultType"], "an acknowledgement says nothing else");

    let done = task.until("completed").await;
    assert_eq!(done["createdAt"], created["createdAt"]);
    assert!(done.get("inputRequests").is_none());
    let result = &done["result"];
    assert_eq!(result["content"][0]["text"], "Hello, Ada");
}

#[tokio::test(start_paused = true)]
async fn tk_10_the_older_familys_methods_are_unknown() {
    let site = Site::of(greeting());
    let task = site.start().await;
    for method in ["tasks/result", "tasks/list", "tasks/input_response"] {
        let said = task.send(method, json!({ "inputResponses": {} })).await;
        assert_eq!(said["error"]["code"], -32601, "{method}: {said}");
    }
    for revision in OLDER {
        let said = task.by(&site.older(revision)).send("tasks/update", json!({ "inputResponses": {} })).await;
        assert_eq!(said["error"]["code"], -32601, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_10_without_the_capability_on_this_request_there_are_no_tasks() {
    let site = Site::of(greeting());
    let task = site.start().await;
    let undeclared = task.by(&Client::new(&site.server).declaring(everything()));
    for (method, params) in
        [("tasks/get", json!({})), ("tasks/update", json!({ "inputResponses": {} })), ("tasks/cancel", json!({}))]
    {
        let said = undeclared.send(method, params).await;
        assert_eq!(said["error"]["code"], -32021, "{method}: {said}");
        let needed = &said["error"]["data"]["requiredCapabilities"]["extensions"];
        assert_eq!(keys(needed), ["io.modelcontextprotocol/tasks"]);
    }
    let in_place = undeclared.client.call_tool("tool", json!({})).await;
    in_place.expect_asked(&["name"]);
}

#[tokio::test(start_paused = true)]
async fn tk_10_a_tool_that_never_is_a_task_is_none_though_the_client_could() {
    let site = Site::of(greeting().tasks(TaskPolicy::Never));
    site.client().call_tool("tool", json!({})).await.expect_asked(&["name"]);
}

#[tokio::test(start_paused = true)]
async fn tk_10_the_capability_is_declared_in_each_family() {
    let site = Site::of(greeting());
    let said = site.client().request("server/discover", json!({})).await;
    let capabilities = &said.response()["result"]["capabilities"];
    assert_eq!(capabilities["extensions"]["io.modelcontextprotocol/tasks"], json!({}), "{capabilities}");
    assert!(capabilities.get("tasks").is_none(), "that is the older family's: {capabilities}");
}

#[tokio::test(start_paused = true)]
async fn tk_11_completed_carries_exactly_what_the_request_would_have_returned() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |_, _| Err(ToolError::new("out of paper").into())));
    let task = site.start().await;
    let done = task.until("completed").await;
    let direct = Client::new(&site.server).call_tool("tool", json!({})).await;
    assert_eq!(without_server(&done["result"]), without_server(&direct.response()["result"]));
    assert_eq!(done["result"]["isError"], true);
    assert!(done.get("error").is_none());
}

#[tokio::test(start_paused = true)]
async fn tk_11_failed_carries_the_error_and_nothing_else() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |_, _| {
        Err(ProtocolError::new(mrtr_schema::ErrorCode::INTERNAL_ERROR, "no such luck").into())
    }));
    let task = site.start().await;
    let failed = task.until("failed").await;
    assert_eq!(failed["error"], json!({ "code": -32603, "message": "no such luck" }));
    assert!(failed.get("result").is_none() && failed.get("inputRequests").is_none());
}

#[tokio::test(start_paused = true)]
async fn tk_13_ids_are_128_random_bits() {
    let site = Site::of(greeting());
    let (one, other) = (site.start().await, site.start().await);
    assert_ne!(one.id, other.id);
    for task in [one, other] {
        assert_eq!(task.id.len(), 32);
        assert!(task.id.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}

#[tokio::test(start_paused = true)]
async fn tk_20_the_status_follows_the_record_and_a_partial_answer_leaves_it() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, outside| {
        let (one, other) = (flow.elicit::<Name>("one", "One?"), flow.elicit::<Name>("other", "Other?"));
        outside.note("run");
        let (one, other) = flow.join((one, other)).await?;
        Ok(format!("{} and {}", one.name, other.name))
    }));
    let task = site.start().await;
    task.until_asked(&["one", "other"]).await;
    task.accept("one", json!({ "name": "Ada" })).await;
    // At once, while a run looks at it, and when that run has ended.
    assert_eq!(task.get().await["status"], "input_required");
    outside.until("run", 2).await;
    assert_eq!(task.asked().await, ["other"], "the key stays, since the request does");
    task.at_rest(&site).await;
    assert_eq!(task.asked().await, ["other"]);
    task.accept("other", json!({ "name": "Bob" })).await;
    assert_eq!(task.text().await, "Ada and Bob");
}

#[tokio::test(start_paused = true)]
async fn tk_21_no_progress_or_log_notifications_come_of_a_task() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, _| {
        flow.progress(1, Some(2), "halfway").await;
        flow.log(mrtr_schema::LoggingLevel::Error, "oh").await;
        Ok("done".into())
    }));
    let client = site.client().hearing_progress("p1").hearing_logs(mrtr_schema::LoggingLevel::Debug);
    let call = client.call_tool("tool", json!({})).await;
    assert_eq!(call.notifications(), [Value::Null; 0]);
    let task = site.started(client, Revision::V2026_07_28, call.response());
    assert_eq!(task.text().await, "done");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_named_by_its_id_and_nothing_else_will_do() {
    let site = Site::of(greeting());
    let task = site.start().await;
    for params in [json!({}), json!({ "taskId": 7 }), json!({ "taskId": null })] {
        let said = task.client.request("tasks/get", params).await;
        assert_eq!(said.response()["error"]["code"], -32602, "{}", said.response());
    }
    let upper = task.id.to_uppercase();
    for other in
        ["", "echo", &task.id[1..], &format!("{}0", task.id), &format!("{} ", task.id), &"é".repeat(16), &upper]
    {
        let said = task.client.request("tasks/get", json!({ "taskId": other })).await;
        assert_eq!(said.response()["error"], json!({ "code": -32602, "message": "Unknown task" }), "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_declares_less_than_at_creation_is_shown_what_it_declared() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, _| {
        let (name, roots) = flow.join((flow.elicit::<Name>("name", "Who?"), flow.roots("roots"))).await?;
        Ok(format!("{} has {} roots", name.name, roots.len()))
    }));
    let task = site.start().await;
    task.until_asked(&["name", "roots"]).await;
    let mut fewer = everything();
    fewer.roots = None;
    let forms_only = task.by(&Client::new(&site.server).declaring(with_tasks(fewer.clone())));
    assert_eq!(forms_only.asked().await, ["name"]);
    forms_only.accept("name", json!({ "name": "Ada" })).await;
    let said = forms_only.send("tasks/get", json!({})).await;
    assert_eq!(said["error"]["code"], -32021, "nothing that is left can be shown: {said}");
    assert_eq!(said["error"]["data"]["requiredCapabilities"], json!({ "roots": {} }));
    assert_eq!(task.asked().await, ["roots"], "and the client that can be asked is");
}

/// A result without the member that says which server it is from.
pub(crate) fn without_server(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(result) = result.as_object_mut() {
        result.remove("_meta");
    }
    result
}

#[tokio::test(start_paused = true)]
async fn tk_10_the_header_that_names_a_request_is_the_tasks_id() {
    let site = Site::of(greeting());
    let task = site.start().await;
    let claiming = |method: &'static str, name: &str| {
        let text = |text: &str| HeaderClaim::Text(text.to_owned().into());
        let mut headers = Headers::default();
        (headers.version, headers.method, headers.name) = (text("2026-07-28"), text(method), text(name));
        task.by(&site.client().in_context(|context| context.headers(headers)))
    };
    let answers = json!({ "inputResponses": {} });
    for (method, params) in [("tasks/get", json!({})), ("tasks/update", answers), ("tasks/cancel", json!({}))] {
        let said = claiming(method, &"0".repeat(32)).send(method, params.clone()).await;
        assert_eq!(said["error"]["code"], -32020, "{method}: {said}");
        let said = claiming(method, &task.id).send(method, params).await;
        assert!(said["result"].is_object(), "{method}: {said}");
    }
}
