//! The table of errors in the order of the checks, and the winner of two.

use std::collections::BTreeMap;

use mrtr_schema::sampling::{CreateMessageParams, IncludeContext, SamplingMessage};
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::transport::{HeaderClaim, Headers};
use mrtr_server::{Context, Failure, Flow, Prompt, Resource, Server, Tool, ToolError};
use serde_json::{Value, json};

use crate::support::{Name, builder, client, client_declaring, code, greet, meta, send};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greeting {
    #[expect(dead_code, reason = "only its type matters")]
    times: u8,
}

fn server() -> Server {
    builder()
        .tool(Tool::new("ask", greet))
        .tool(Tool::new("repeat", async |flow: Flow, _: Greeting| greet(flow).await))
        .tool(Tool::new("broken", async |_: Flow| Err::<(), Failure>("the database at 10.0.0.7 is down".into())))
        .tool(Tool::new("sorry", async |_: Flow| Err::<(), _>(ToolError::new("not on Sundays"))))
        .tool(Tool::new("panic", async |flow: Flow| {
            let _: &Vec<u8> = flow.state();
            Ok::<_, Failure>(())
        }))
        .prompt(Prompt::new("greeting", async |_: Flow| Ok::<_, Failure>("Say hello")))
        .resource(Resource::new("test://one", "one", async |_: Flow| Ok::<_, Failure>("one")))
        .build()
        .unwrap()
}

fn said(text: &str) -> HeaderClaim<'_> {
    HeaderClaim::Text(text.into())
}

fn call(params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn text_that_is_not_json_is_a_parse_error_without_an_id() {
    for body in ["", "{", "nul", "{\"jsonrpc\":\"2.0\",}", "\u{1}", "{\"id\":7} {}"] {
        let response = send(&server(), body.as_bytes().to_vec(), Context::new(), "tools/call").await;
        assert_eq!((code(&response), response.get("id")), (Some(-32700), None), "{body}");
    }
    let response = send(&server(), vec![b'{', 0xff, b'}'], Context::new(), "tools/call").await;
    assert_eq!(code(&response), Some(-32700));
}

#[tokio::test]
async fn what_is_no_request_is_refused_under_its_id_if_it_has_one() {
    let no_requests = [
        (json!([]), None),
        (json!([{ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }]), None),
        (json!(7), None),
        (json!({ "id": 7, "method": "tools/list" }), Some(7)),
        (json!({ "jsonrpc": "1.0", "id": 7, "method": "tools/list" }), Some(7)),
        (json!({ "jsonrpc": "2.0", "id": 7 }), Some(7)),
        (json!({ "jsonrpc": "2.0", "id": null, "method": "tools/list" }), None),
        (json!({ "jsonrpc": "2.0", "id": 1.5, "method": "tools/list" }), None),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": [] }), Some(7)),
        (json!({ "jsonrpc": "2.0", "id": 7, "result": {} }), Some(7)),
        (json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "" } }), Some(7)),
    ];
    for (body, id) in no_requests {
        let response = send(&server(), body.to_string(), Context::new(), "tools/list").await;
        assert_eq!((code(&response), response.get("id")), (Some(-32600), id.map(Value::from).as_ref()), "{body}");
    }
}

#[tokio::test]
async fn a_notification_is_not_answered() {
    for method in ["notifications/initialized", "notifications/cancelled", "no/such"] {
        let body = json!({ "jsonrpc": "2.0", "method": method }).to_string();
        assert!(server().handle(body.into(), Context::new()).await.last().await.is_none());
    }
}

/// One request with every fault there is; each line mends the first of them, and the next one shows.
#[tokio::test]
async fn ht_7_the_first_fault_in_the_order_of_the_table_is_the_one_that_is_told() {
    let params = json!({
        "_meta": {}, "name": "nobody", "arguments": 1, "inputResponses": 1, "requestState": "forged",
    });
    let mut sent = json!({
        "headers": { "version": null, "method": "tools/list", "name": "somebody" },
        "body": { "jsonrpc": "2.0", "id": 7, "method": "no/such", "params": params },
    });
    let (old, new) = (json!("1999-01-01"), json!("2026-07-28"));
    let mut of_1999 = meta();
    of_1999["io.modelcontextprotocol/protocolVersion"] = old.clone();
    let without_capabilities = json!({ "io.modelcontextprotocol/protocolVersion": new });
    let mended = [
        (-32602, "protocolVersion", vec![]),
        (-32020, "MCP-Protocol-Version", vec![("/body/params/_meta", of_1999)]),
        (-32020, "MCP-Protocol-Version", vec![("/headers/version", new.clone())]),
        (-32022, "version", vec![("/headers/version", old)]),
        (-32602, "clientCapabilities", vec![("/headers/version", new), ("/body/params/_meta", without_capabilities)]),
        (-32020, "Mcp-Method", vec![("/body/params/_meta", meta())]),
        (-32601, "Method not found", vec![("/headers/method", json!("no/such"))]),
        (-32020, "Mcp-Name", vec![("/headers/method", json!("tools/call")), ("/body/method", json!("tools/call"))]),
        (-32602, "Unknown tool: nobody", vec![("/headers/name", json!("nobody"))]),
        (-32602, "arguments", vec![("/headers/name", json!("repeat")), ("/body/params/name", json!("repeat"))]),
        (-32602, "inputResponses", vec![("/body/params/arguments", json!({ "times": -1 }))]),
        (-32602, "request state", vec![("/body/params/inputResponses", json!({}))]),
    ];
    let server = server();
    for (expected, names, mended) in mended {
        for (place, value) in mended {
            *sent.pointer_mut(place).unwrap() = value;
        }
        let response = send(&server, sent["body"].to_string(), in_context(&sent), "tools/call").await;
        let message = response["error"]["message"].as_str().unwrap_or_default();
        assert!(code(&response) == Some(expected) && message.contains(names), "{expected} {names}: {response}");
        assert_eq!(response["id"], 7);
    }
    sent["body"]["params"].as_object_mut().unwrap().remove("requestState");
    let response = send(&server, sent["body"].to_string(), in_context(&sent), "tools/call").await;
    assert_eq!(response["result"]["isError"], true);
    sent["body"]["params"]["arguments"]["times"] = json!(1);
    let response = send(&server, sent["body"].to_string(), in_context(&sent), "tools/call").await;
    assert_eq!(response["result"]["resultType"], "input_required");
}

/// A context with the headers that are to be sent.
fn in_context(sent: &Value) -> Context<'_> {
    let header = |name: &str| sent["headers"][name].as_str().map_or(HeaderClaim::Missing, said);
    let (version, method, name) = (header("version"), header("method"), header("name"));
    Context::new().headers(Headers { version, method, name, params: Vec::new() })
}

#[tokio::test]
async fn ht_7_a_request_without_metadata_is_never_taken_for_an_older_revisions() {
    let requests = [
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": { "_meta": null } }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": { "protocolVersion": "2025-11-25" } }),
    ];
    for request in requests {
        let response = send(&server(), request.to_string(), Context::new(), "tools/list").await;
        assert_eq!(code(&response), Some(-32602), "{request}");
        let message = response["error"]["message"].as_str().unwrap();
        assert!(!message.contains("Method not found"), "{request}: {message}");
        assert_eq!(message.contains("2026-07-28"), request["method"] == "initialize", "{request}: {message}");
    }
}

#[tokio::test]
async fn ht_7_the_rest_of_the_metadata_is_checked() {
    let faults = [
        ("io.modelcontextprotocol/clientCapabilities", json!(null)),
        ("io.modelcontextprotocol/clientCapabilities", json!({ "elicitation": true })),
        ("io.modelcontextprotocol/clientInfo", json!("a client")),
        ("io.modelcontextprotocol/logLevel", json!("loud")),
        ("progressToken", json!({})),
    ];
    for (member, value) in faults {
        let mut meta = meta();
        meta[member] = value;
        let response =
            send(&server(), call(&json!({ "name": "ask", "_meta": meta })), Context::new(), "tools/call").await;
        let message = response["error"]["message"].as_str().unwrap();
        assert!(code(&response) == Some(-32602) && message.contains(member), "{member}: {message}");
    }
}

#[tokio::test]
async fn a_version_that_is_not_served_is_answered_with_those_that_are() {
    let mut meta = meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("draft-2026-02");
    let response = send(&server(), call(&json!({ "name": "ask", "_meta": meta })), Context::new(), "tools/call").await;
    let data = json!({ "requested": "draft-2026-02", "supported": ["2026-07-28"] });
    assert_eq!((code(&response), &response["error"]["data"]), (Some(-32022), &data));
}

#[tokio::test]
async fn each_header_must_be_there_and_say_what_the_body_says() {
    let params = json!({ "name": "ask", "arguments": {}, "_meta": meta() });
    let right =
        || Headers { version: said("2026-07-28"), method: said("tools/call"), name: said("ask"), params: Vec::new() };
    let send_with = async |headers| {
        let response = send(&server(), call(&params), Context::new().headers(headers), "tools/call").await;
        (code(&response), response["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(send_with(right()).await.0, None);
    for wrong in [HeaderClaim::Missing, said("TOOLS/CALL"), said(""), HeaderClaim::Unreadable] {
        let cases = [
            ("MCP-Protocol-Version", Headers { version: wrong.clone(), ..right() }),
            ("Mcp-Method", Headers { method: wrong.clone(), ..right() }),
            ("Mcp-Name", Headers { name: wrong.clone(), ..right() }),
        ];
        for (header, headers) in cases {
            let (code, message) = send_with(headers).await;
            assert!(code == Some(-32020) && message.contains(header), "{header} as {wrong:?}: {message}");
        }
    }
}

#[tokio::test]
async fn a_header_that_names_what_the_body_does_not_is_told_before_the_missing_name() {
    let headers =
        Headers { version: said("2026-07-28"), method: said("tools/call"), name: said("ask"), params: Vec::new() };
    let body = call(&json!({ "_meta": meta() }));
    let response = send(&server(), body.clone(), Context::new().headers(headers.clone()), "tools/call").await;
    assert_eq!(code(&response), Some(-32020));
    let unnamed = Context::new().headers(Headers { name: HeaderClaim::Missing, ..headers });
    assert_eq!(code(&send(&server(), body, unnamed, "tools/call").await), Some(-32602));
}

#[tokio::test]
async fn methods_of_sessions_and_of_nobody_are_unknown() {
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/result", "tasks/get", "tools/Call", ""]
    {
        let error = client(&server()).request(method, json!({})).await.expect_error();
        assert_eq!(error.code.as_i64(), -32601, "{method}");
        assert_eq!(error.message.contains("2026-07-28"), method == "initialize", "{method}: {}", error.message);
    }
}

#[tokio::test]
async fn methods_of_what_a_server_does_not_have_are_unknown() {
    let empty = builder().build().unwrap();
    for method in [
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
    ] {
        assert_eq!(client(&empty).request(method, json!({})).await.expect_error().code.as_i64(), -32601, "{method}");
    }
}

#[tokio::test]
async fn what_is_missing_to_be_asked_is_named() {
    let error = client_declaring(&server(), &json!({})).call_tool("ask", json!({})).await.expect_error();
    assert_eq!(error.code.as_i64(), -32021);
    let data: Value = error.data.unwrap().to().unwrap();
    assert_eq!(data, json!({ "requiredCapabilities": { "elicitation": { "form": {} } } }));
    assert!(error.message.ends_with(": elicitation.form"), "{}", error.message);
}

#[tokio::test]
async fn all_that_is_missing_is_named_in_the_message_too() {
    let asks = async |flow: Flow| {
        let plain = CreateMessageParams::new([SamplingMessage::user("Well?")], 100_u64);
        let mut with_tools = plain.clone();
        with_tools.tools = Some(vec![mrtr_schema::Tool::new("weather", InputSchema::parse(r#"{"type": "object"}"#)?)]);
        let mut with_context = plain.clone();
        with_context.include_context = Some(IncludeContext::ThisServer);
        let url = flow.elicit_url("url", "Please go there", "https://example.com/there");
        let samples =
            (flow.sample("plain", plain), flow.sample("tools", with_tools), flow.sample("context", with_context));
        tokio::try_join!(
            async { flow.elicit::<Name>("who", "Who?").await.map(drop) },
            url.into_future(),
            async { flow.join(samples).await.map(drop) },
            async { flow.roots("roots").await.map(drop) },
            async { flow.ask::<Seat>("seat", BTreeMap::new()).await.map(drop) },
        )?;
        Ok::<_, Failure>("never")
    };
    let server = builder().input::<Seat>().tool(Tool::new("ask", asks)).build().unwrap();
    let missing = async |declared: Value| {
        let error = client_declaring(&server, &declared).call_tool("ask", json!({})).await.expect_error();
        assert_eq!(error.code.as_i64(), -32021);
        error.message.rsplit_once(": ").unwrap().1.to_owned()
    };
    let all = "elicitation.form, elicitation.url, sampling.tools, sampling.context, roots, \
               extensions[\"com.example/seat\"]";
    assert_eq!(missing(json!({})).await, all);
    let seat = json!({ "com.example/seat": {} });
    let declared = json!({ "elicitation": {}, "sampling": { "tools": {} }, "roots": {}, "extensions": seat });
    assert_eq!(missing(declared).await, "elicitation.url, sampling.context");
    let plainly = async |flow: Flow| {
        let params = CreateMessageParams::new([SamplingMessage::user("Well?")], 100_u64);
        Ok::<_, Failure>(flow.sample("plain", params).await?.text().unwrap_or_default())
    };
    let server = crate::support::serve(plainly);
    let error = client_declaring(&server, &json!({})).call_tool("tool", json!({})).await.expect_error();
    assert!(error.message.ends_with(": sampling"), "{}", error.message);
}

/// An input of an application's own.
struct Seat;

impl NamespacedInput for Seat {
    const METHOD: Method = Method::from_static("com.example/seat");
    type Params = BTreeMap<String, u32>;
    type Response = u32;
}

#[tokio::test]
async fn parameters_that_are_wrong_or_name_nothing_are_invalid() {
    let cases = [
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({ "name": "nobody" })),
        ("tools/call", json!({ "name": "ask", "arguments": [] })),
        ("tools/call", json!({ "name": "ask", "arguments": null })),
        ("tools/call", json!({ "name": "ask", "inputResponses": null })),
        ("tools/call", json!({ "name": "ask", "inputResponses": [] })),
        ("tools/call", json!({ "name": "ask", "inputResponses": { "who": 12345 } })),
        ("tools/call", json!({ "name": "ask", "requestState": 7 })),
        ("tools/call", json!({ "name": "ask", "requestState": "" })),
        ("prompts/get", json!({})),
        ("prompts/get", json!({ "name": "nobody" })),
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": "test://two" })),
        ("tools/list", json!({ "cursor": "nowhere" })),
        ("subscriptions/listen", json!({})),
        ("subscriptions/listen", json!({ "notifications": [] })),
    ];
    for (method, params) in cases {
        let error = client(&server()).request(method, params.clone()).await.expect_error();
        assert_eq!(error.code.as_i64(), -32602, "{method} {params}");
    }
}

#[tokio::test]
async fn duplicate_keys_are_refused_wherever_they_stand() {
    let meta = meta();
    for params in [
        format!(r#"{{"name":"ask","name":"broken","_meta":{meta}}}"#),
        format!(r#"{{"name":"ask","arguments":{{"a":1,"a":2}},"_meta":{meta}}}"#),
        format!(r#"{{"name":"ask","inputResponses":{{"who":{{}},"who":{{}}}},"_meta":{meta}}}"#),
        r#"{"name":"ask","_meta":{"progressToken":1,"progressToken":2}}"#.to_owned(),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        let response = send(&server(), body, Context::new(), "tools/call").await;
        assert!(matches!(code(&response), Some(-32602 | -32600)), "{params}: {response}");
    }
}

#[tokio::test]
async fn arguments_that_miss_the_schema_and_failures_of_the_tool_are_results() {
    let client = client(&server());
    for (arguments, reason) in [
        (json!({ "times": "often" }), "$.times: \"often\" is not of type \"integer\""),
        (json!({ "times": 300 }), "$.times: 300 is greater than the maximum of 255"),
        (json!({}), "$: \"times\" is a required property"),
    ] {
        let told = client.call_tool("repeat", arguments).await.expect_tool_error();
        assert_eq!(told, format!("The arguments do not fit: {reason}"));
    }
    assert_eq!(client.call_tool("sorry", json!({})).await.expect_tool_error(), "not on Sundays");
}

/// Arguments whose type alone says what fits, as it does for most tools.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its shape matters")]
struct Update {
    work_item_id: u64,
    #[serde(default)]
    lines: Vec<Greeted>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Greeted {
    name: String,
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_by_their_place_in_words_of_json() {
    let handler = async |_: Flow, _: Update| Ok::<_, Failure>("updated");
    let server = builder().tool(Tool::new("update", handler)).prompt(Prompt::new("update", handler)).build().unwrap();
    for (arguments, reason) in [
        (json!({ "workItemId": "seven" }), "$.workItemId: expected a whole number, got a string"),
        (json!({ "workItemId": 1.5 }), "$.workItemId: expected a whole number, got `1.5`"),
        (json!({ "workItemId": 7, "lines": [{}] }), "$.lines[0].name: required, but absent"),
        (json!({ "workItemId": 7, "lines": [{ "name": null }] }), "$.lines[0].name: expected a string, got null"),
        (json!({}), "$.workItemId: required, but absent"),
    ] {
        let told = client(&server).call_tool("update", arguments).await.expect_tool_error();
        assert_eq!(told, format!("The arguments do not fit: {reason}"));
    }
    let error = client(&server).get_prompt("update", json!({ "workItemId": "seven" })).await.expect_error();
    let reason = "The arguments do not fit: $.workItemId: expected a whole number, got a string";
    assert_eq!((error.code.as_i64(), error.message.as_str()), (-32602, reason));
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Drawn {
    place: Option<(f64, f64)>,
    size: Option<Size>,
    state: Option<State>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Size(u32, u32);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
enum State {
    Open,
    Closed(u32, u32),
}

/// A schema by hand may let arguments through that the type does not take: that is no mistake of the caller's.
#[tokio::test]
async fn what_the_type_wants_and_its_schema_does_not_say_is_told_in_words_of_json_too() {
    let handler = async |_: Flow, _: Drawn| Ok::<_, Failure>("drawn");
    let schema = InputSchema::parse(r#"{"type": "object"}"#).unwrap();
    let server = builder().tool(Tool::new("draw", handler).input_schema(schema)).build().unwrap();
    for (arguments, reason) in [
        (json!({ "place": "home" }), "$.place: expected an array, got a string"),
        (json!({ "size": "large" }), "$.size: expected an array, got a string"),
        (json!({ "state": 1 }), "$.state: expected one of its values"),
        (json!({ "state": { "Closed": 1 } }), "$.state.Closed: expected an array, got a whole number"),
    ] {
        let told = client(&server).call_tool("draw", arguments).await.expect_tool_error();
        assert_eq!(told, format!("The tool could not take these arguments, though they follow its schema: {reason}"));
    }
}

#[tokio::test]
async fn our_own_fault_shows_no_inner_detail() {
    for tool in ["broken", "panic"] {
        let text = client(&server()).call_tool(tool, json!({})).await.expect_tool_error();
        assert!(text.starts_with("The tool failed (reference "), "{text}");
        assert!(!text.contains("10.0.0.7") && !text.contains("Vec"), "{text}");
    }
    let broken = builder()
        .prompt(Prompt::new("broken", async |_: Flow| Err::<String, Failure>("no such table".into())))
        .build()
        .unwrap();
    let error = client(&broken).get_prompt("broken", json!({})).await.expect_error();
    assert_eq!(error.code.as_i64(), -32603);
    assert!(!error.message.contains("table"), "{}", error.message);
}

#[tokio::test]
async fn a_handler_may_answer_with_a_protocol_error_of_its_own() {
    let handler = async |_: Flow| {
        Err::<(), _>(mrtr_server::ProtocolError::new(mrtr_schema::ErrorCode::new(-1), "the moon is full"))
    };
    let server = crate::support::serve(handler);
    let error = client(&server).call_tool("tool", json!({})).await.expect_error();
    assert_eq!((error.code.as_i64(), error.message.as_str()), (-1, "the moon is full"));
}

#[tokio::test]
async fn an_answer_of_the_wrong_kind_is_asked_for_again() {
    let server = crate::support::serve(async |flow: Flow| {
        Ok::<_, Failure>(flow.elicit::<Name>("who", "Who are you?").await?.name)
    });
    let asked = client(&server).call_tool("tool", json!({})).await;
    let asked = asked.answer_raw("who", json!({ "roots": [] })).send().await;
    asked.expect_asked(&["who"]);
}
