//! Echoes: a stranger's words come back in errors and go into the log cut short, wherever they stood.

use mrtr_schema::Revision;
use mrtr_schema::tools::InputSchema;
use mrtr_server::handler::Completing;
use mrtr_server::testing::everything;
use mrtr_server::{Context, Failure, Flow, Prompt, Reply, Resource, ResourceTemplate, Server, Tool};
use proptest::prelude::*;
use proptest::sample::Index;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::logs::logged;
use crate::support::{Name, builder, greet};

/// The greatest length of an error, and of a line of the log, however long the client's text is.
const LONGEST: usize = 4096;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its shape matters")]
struct Strict {
    name: String,
    times: u8,
    mood: Mood,
    lines: Vec<Line>,
}

/// What texts can be read as.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape matters")]
struct Worded {
    name: String,
    times: u8,
}

#[derive(Deserialize, JsonSchema)]
enum Mood {
    Good,
    Bad,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape matters")]
struct Line {
    amount: i32,
}

fn server() -> Server {
    let schema = r#"{"type": "object", "additionalProperties": false, "properties": {
        "name": {"type": "string", "maxLength": 9}, "times": {}, "mood": {}, "lines": {},
        "deep": {"additionalProperties": {"additionalProperties": {"type": "integer"}}}}}"#;
    let strict = async |_: Flow, _: Strict| Ok::<_, Failure>("done");
    let worded = async |_: Flow, _: Worded| Ok::<_, Failure>("done");
    let fails = async |_: Flow, Name { name }: Name| Err::<String, Failure>(format!("no table {name}").into());
    let panics = async |_: Flow, Name { name }: Name| -> Result<(), Failure> { panic!("no table {name}") };
    let asks_by =
        async |flow: Flow, Name { name }: Name| Ok::<_, Failure>(flow.elicit::<Name>(name, "Who?").await?.name);
    let completes = async |_: Flow, typing: Completing| Ok::<_, Failure>(vec![typing.value]);
    builder()
        .tool(Tool::new("strict", strict))
        .tool(Tool::new("by_hand", strict).input_schema(InputSchema::parse(schema).unwrap()))
        .tool(Tool::new("fails", fails))
        .tool(Tool::new("panics", panics))
        .tool(Tool::new("asks_by", asks_by))
        .tool(Tool::new("greet", greet))
        .prompt(Prompt::new("prompt", worded).complete("name", completes))
        .prompt(Prompt::new("fails", fails))
        .resource(Resource::new("test://one", "one", greet))
        .resource_template(ResourceTemplate::new("t://{name}/{times}", "template", worded))
        .build()
        .unwrap()
}

/// Requests of every kind, to be spoilt.
fn requests() -> Vec<(&'static str, Value)> {
    let arguments = json!({ "name": "Ada", "times": 1, "mood": "Good", "lines": [{ "amount": 1 }] });
    let answers = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
    let mut requests = vec![
        ("no/such", json!({ "name": "Ada" })),
        ("initialize", json!({ "protocolVersion": "1", "clientInfo": { "name": "a" }, "capabilities": {} })),
        ("prompts/get", json!({ "name": "prompt", "arguments": { "name": "Ada", "times": "1" } })),
        ("prompts/get", json!({ "name": "fails", "arguments": { "name": "Ada" } })),
        ("resources/read", json!({ "uri": "test://one", "inputResponses": answers, "requestState": "state" })),
        ("resources/read", json!({ "uri": "t://Ada/1" })),
        ("tools/list", json!({ "cursor": "from-1" })),
        ("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": 1 } })),
    ];
    for tool in ["strict", "by_hand", "fails", "panics", "asks_by", "greet"] {
        requests.push(("tools/call", json!({ "name": tool, "arguments": arguments })));
        requests.push(("tools/call", json!({ "name": tool, "arguments": { "name": "Ada", "deep": {} } })));
        requests.push(("tools/call", json!({ "name": tool, "arguments": {}, "inputResponses": answers })));
    }
    let reference = json!({ "type": "ref/prompt", "name": "prompt" });
    requests.push(("completion/complete", json!({ "ref": reference, "argument": { "name": "name", "value": "" } })));
    requests
}

/// The request as it is sent, in a revision.
fn message(revision: Revision, (method, params): &(&str, Value)) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    if revision == Revision::V2026_07_28 {
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": everything(),
            "io.modelcontextprotocol/logLevel": "debug",
        });
    }
    message
}

/// A thing that takes the place of another.
#[derive(Debug, Clone)]
enum Spoilt {
    Text(String),
    Key(String),
    Deep(String),
    Many(String),
}

fn spoilt() -> impl Strategy<Value = Spoilt> {
    let unit = prop_oneof!["[a-z]", Just("é".into()), Just("\u{1}".into()), Just("\"".into()), Just("🦀\n".into())];
    let text = (unit, 5_000_usize..20_000).prop_map(|(unit, times): (String, usize)| unit.repeat(times));
    (text, 0..4).prop_map(|(text, kind)| match kind {
        0 => Spoilt::Text(text),
        1 => Spoilt::Key(text),
        2 => Spoilt::Deep(text),
        _ => Spoilt::Many(text),
    })
}

impl Spoilt {
    fn value(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Key(text) => json!({ text: text }),
            // As deep as a parser goes, with a long key at each level.
            Self::Deep(text) => (0..90).fold(json!(text), |inner, _| {
                let key: String = text.chars().take(300).collect();
                json!({ key: inner })
            }),
            Self::Many(text) => (0..300).map(|index| (format!("{index}{}", &text[..4]), json!(text.len()))).collect(),
        }
    }
}

/// Puts something else in the place of one value of a message, or of one key. Its `id` and `jsonrpc` stay.
fn spoil(message: &mut Value, place: Index, spoilt: &Spoilt) {
    let mut nowhere = usize::MAX;
    let count = places(message, &mut nowhere, spoilt);
    places(message, &mut place.index(count), spoilt);
}

/// Counts the places, and spoils the one that `left` leads to.
fn places(value: &mut Value, left: &mut usize, spoilt: &Spoilt) -> usize {
    let mut count = 0;
    let mut here = |left: &mut usize| {
        count += 1;
        let found = *left == 0;
        *left = left.wrapping_sub(1);
        found
    };
    match value {
        Value::Object(members) => {
            let mut inner = 0;
            let mut replaced = Map::new();
            for (key, mut member) in std::mem::take(members) {
                if key == "id" || key == "jsonrpc" {
                    replaced.insert(key, member);
                    continue;
                }
                let key = match spoilt {
                    Spoilt::Key(text) if here(left) => text.clone(),
                    _ => key,
                };
                inner += places(&mut member, left, spoilt);
                replaced.insert(key, member);
            }
            *members = replaced;
            count += inner;
        }
        Value::Array(elements) => {
            count += elements.iter_mut().map(|element| places(element, left, spoilt)).sum::<usize>();
        }
        leaf => {
            if here(left) {
                *leaf = spoilt.value();
            }
        }
    }
    count
}

fn is_error(response: &Value) -> bool {
    response.get("error").is_some() || response["result"]["isError"] == true
}

async fn response(server: &Server, revision: Revision, message: &Value) -> String {
    let context = Context::new().revision(revision).capabilities(everything());
    match Box::pin(server.handle(message.to_string().into(), context)).await {
        Reply::Subscription(_) => String::new(),
        reply => reply.last().await.unwrap_or_default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn errors_and_log_lines_are_bounded_whatever_was_sent(
        request in any::<Index>(), revision in any::<Index>(), place in any::<Index>(), spoilt in spoilt(),
    ) {
        let requests = requests();
        let revision = *revision.get(&Revision::MODERN);
        let mut message = message(revision, request.get(&requests));
        spoil(&mut message, place, &spoilt);
        let mut replied = String::new();
        let log = logged(async { replied = response(&server(), revision, &message).await });
        let start: String = replied.chars().take(300).collect();
        if !replied.is_empty() && is_error(&serde_json::from_str(&replied).unwrap()) {
            prop_assert!(replied.len() <= LONGEST, "{} bytes: {start}", replied.len());
        }
        for line in log.lines() {
            let start: String = line.chars().take(300).collect();
            prop_assert!(line.len() <= LONGEST, "{} bytes: {start}", line.len());
        }
    }
}

/// The start of the text, and a mark that there was more.
fn is_cut(echo: &str) -> bool {
    echo.contains("xxxx") && echo.ends_with('…') && echo.len() < 600
}

#[tokio::test]
async fn what_is_unknown_is_named_by_its_beginning() {
    let long = "x".repeat(3_000_000);
    for revision in Revision::MODERN {
        for (method, params) in [
            ("tools/call", json!({ "name": long })),
            ("prompts/get", json!({ "name": long })),
            ("prompts/get", json!({ "name": "prompt", "arguments": { &long: 1 } })),
            ("tools/call", json!({ "name": "greet", "inputResponses": { &long: 1 } })),
        ] {
            let response = response(&server(), revision, &message(revision, &(method, params))).await;
            let response: Value = serde_json::from_str(&response).unwrap();
            let said = response["error"]["message"].as_str().unwrap();
            assert_eq!(response["error"]["code"], -32602);
            assert!(said.contains("xxxx…") && said.len() < 600, "{revision} {method}: {} bytes", said.len());
        }
        let unread = message(revision, &("resources/read", json!({ "uri": long })));
        let unread: Value = serde_json::from_str(&response(&server(), revision, &unread).await).unwrap();
        assert!(is_cut(unread["error"]["data"]["uri"].as_str().unwrap()), "{revision}");
    }
    let mut old = message(Revision::V2026_07_28, &("tools/list", json!({})));
    old["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(long);
    let old: Value = serde_json::from_str(&response(&server(), Revision::V2026_07_28, &old).await).unwrap();
    assert!(is_cut(old["error"]["data"]["requested"].as_str().unwrap()));
}

#[tokio::test]
async fn what_is_short_comes_back_whole() {
    let message = message(Revision::V2026_07_28, &("resources/read", json!({ "uri": "test://é/two" })));
    let response: Value = serde_json::from_str(&response(&server(), Revision::V2026_07_28, &message).await).unwrap();
    assert_eq!(response["error"]["data"]["uri"], "test://é/two");
}

/// The message of the error, or of the tool's result, that a body gets.
async fn told(body: String) -> String {
    let context = Context::new().revision(Revision::Sep2322).capabilities(everything());
    let reply = Box::pin(server().handle(body.into(), context)).await.last().await.unwrap();
    assert!(reply.len() <= LONGEST, "{} bytes", reply.len());
    let reply: Value = serde_json::from_str(&reply).unwrap();
    let message = reply["error"]["message"].as_str().or(reply["result"]["content"][0]["text"].as_str());
    message.unwrap_or_else(|| panic!("the reply was {reply}")).to_owned()
}

/// A call with these arguments, which need not be such as a `Value` holds.
fn call(tool: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
}

#[tokio::test]
async fn a_path_through_long_keys_is_cut() {
    let long = "x".repeat(100_000);
    let by_schema = told(call("by_hand", &json!({ "deep": { &long: { &long: "x" } } }).to_string())).await;
    assert!(by_schema.starts_with("The arguments do not fit: $.deep.xxxx") && by_schema.ends_with('…'), "{by_schema}");

    let twice = format!(r#"{}{{"a":1,"a":2}}{}"#, format!(r#"{{"{}":"#, "x".repeat(60)).repeat(80), "}".repeat(80));
    let by_parser = told(call("greet", &twice)).await;
    assert!(by_parser.starts_with("$.arguments.xxxx") && by_parser.ends_with('…'), "{by_parser}");
}

#[tokio::test]
async fn no_control_character_comes_back() {
    let twice = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a\u001b":1,"a\u001b":2}}"#;
    assert_eq!(told(twice.to_owned()).await, r"not a message: `a\u{1b}` appears twice in `params`");
    assert_eq!(told(call("\\u001b[31mred", "{}")).await, "Unknown tool:  [31mred");
}
