//! Prompts: got at once or over several rounds, with arguments that are texts.

use mrtr_schema::content::Role;
use mrtr_schema::meta::ResultMeta;
use mrtr_schema::prompts::{GetPromptResult, PromptMessage};
use mrtr_schema::{ContentBlock, Icon};
use mrtr_server::{Failure, Flow, Prompt, ProtocolError, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Name, builder, client, name, three_names};

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct Lines(u32);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Review {
    /// What to review
    code: String,
    max_lines: Option<Lines>,
    strict: Option<bool>,
}

async fn review(_: Flow, args: Review) -> Result<String, Failure> {
    let lines = args.max_lines.map_or("all".to_owned(), |Lines(lines)| lines.to_string());
    Ok(format!("Review {lines} lines of {}, strictly: {:?}", args.code, args.strict))
}

fn server() -> Server {
    builder()
        .prompt(Prompt::new("review", review).title("Review").description("Reviews code"))
        .prompt(Prompt::new("names", async |flow: Flow| three_names(&flow).await))
        .build()
        .unwrap()
}

fn text(result: &GetPromptResult) -> String {
    let ContentBlock::Text(text) = &result.messages[0].content else { panic!("{result:?}") };
    text.text.clone()
}

#[tokio::test]
async fn a_prompt_is_got_with_its_description() {
    let got = client(&server()).get_prompt("review", json!({ "code": "fn main() {}" })).await;
    let result: GetPromptResult = got.expect_result();
    assert_eq!(result.description.as_deref(), Some("Reviews code"));
    assert_eq!(result.messages[0].role, Role::User);
    assert_eq!(text(&result), "Review all lines of fn main() {}, strictly: None");
}

#[tokio::test]
async fn numbers_and_booleans_are_read_from_texts() {
    let arguments = json!({ "code": "7", "maxLines": "20", "strict": "true" });
    let got = client(&server()).get_prompt("review", arguments).await;
    assert_eq!(text(&got.expect_result()), "Review 20 lines of 7, strictly: Some(true)");
}

#[tokio::test]
async fn arguments_that_are_missing_or_no_texts_are_invalid_and_unknown_ones_are_ignored() {
    for arguments in [
        json!({}),
        json!({ "maxLines": "20" }),
        json!({ "code": 7 }),
        json!({ "code": null }),
        json!({ "code": { "text": "x" } }),
        json!({ "code": "x", "maxLines": "many" }),
        json!({ "code": "x", "maxLines": "-1" }),
        json!({ "code": "x", "strict": "\"true\"" }),
        json!({ "code": "x", "stranger": 7 }),
        json!([]),
        json!(null),
    ] {
        let error = client(&server()).get_prompt("review", arguments.clone()).await.expect_error();
        assert_eq!(error.code.as_i64(), -32602, "{arguments}");
    }
    let got = client(&server()).get_prompt("review", json!({ "code": "x", "stranger": "hello" })).await;
    got.expect_result::<GetPromptResult>();
}

#[tokio::test]
async fn a_prompt_may_be_got_without_arguments() {
    client(&server()).request("prompts/get", json!({ "name": "names" })).await.expect_asked(&["first"]);
}

#[tokio::test]
async fn sv_1_a_flow_in_a_prompt_completes_three_rounds() {
    let mut got = client(&server()).get_prompt("names", json!({})).await;
    for (key, answer) in [("first", "Ada"), ("second", "Grace"), ("third", "Edsger")] {
        got.expect_asked(&[key]);
        got = got.accept(key, name(answer)).at(&server()).send().await;
    }
    assert_eq!(text(&got.expect_result()), "Ada, Grace, Edsger");
}

#[tokio::test]
async fn messages_and_results_may_be_written_by_hand() {
    let several = async |_: Flow| {
        let says = |role, text: &str| PromptMessage::new(role, ContentBlock::text(text));
        Ok::<_, Failure>(vec![says(Role::User, "Hello"), says(Role::Assistant, "Hello yourself")])
    };
    let whole = async |_: Flow| {
        let mut result = GetPromptResult::new([PromptMessage::new(Role::User, ContentBlock::text("Hello"))]);
        result.description = Some("of its own".into());
        let mut meta = ResultMeta::new();
        meta.extra.set("com.example/mood", json!("good"));
        result.meta = Some(meta);
        Ok::<_, Failure>(result)
    };
    let whole = Prompt::new("whole", whole).description("of the definition");
    let server = builder().prompt(Prompt::new("several", several)).prompt(whole).build().unwrap();
    let got = client(&server).get_prompt("several", json!({})).await;
    assert_eq!(got.expect_result::<GetPromptResult>().messages.len(), 2);
    let got = client(&server).get_prompt("whole", json!({})).await;
    assert_eq!(got.expect_result::<GetPromptResult>().description.as_deref(), Some("of its own"));
    let meta = &got.response()["result"]["_meta"];
    assert_eq!(meta["com.example/mood"], "good");
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "whole");
}

#[tokio::test]
async fn failures_of_a_prompt_are_errors() {
    let refused = async |_: Flow| Err::<String, _>(ProtocolError::invalid_params("no such topic"));
    let failed = async |_: Flow| Err::<String, _>(ToolError::new("not on Sundays"));
    let asks = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("who", "Who?").await?.name);
    let server = builder()
        .prompt(Prompt::new("refused", refused))
        .prompt(Prompt::new("failed", failed))
        .prompt(Prompt::new("asks", asks))
        .build()
        .unwrap();
    let client = client(&server);
    assert_eq!(client.get_prompt("refused", json!({})).await.expect_error().code.as_i64(), -32602);
    let failed = client.get_prompt("failed", json!({})).await.expect_error();
    assert_eq!((failed.code.as_i64(), failed.message.as_str()), (-32603, "not on Sundays"));
    let declined = client.get_prompt("asks", json!({})).await.decline("who").send().await.expect_error();
    assert_eq!(declined.code.as_i64(), -1);
}

#[tokio::test]
async fn the_list_says_which_arguments_there_are() {
    let listed = client(&server()).request("prompts/list", json!({})).await;
    let review = &listed.response()["result"]["prompts"][0];
    assert_eq!((&review["name"], &review["title"]), (&json!("review"), &json!("Review")));
    let arguments: Vec<(&str, &Value, &Value)> = review["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| (argument["name"].as_str().unwrap(), &argument["required"], &argument["description"]))
        .collect();
    let expected = [
        ("code", &json!(true), &json!("What to review")),
        ("maxLines", &json!(false), &Value::Null),
        ("strict", &json!(false), &Value::Null),
    ];
    assert_eq!(arguments, expected);
    assert_eq!(listed.response()["result"]["prompts"][1].get("arguments"), None);
}

#[tokio::test]
async fn icons_are_shown() {
    let icons = [Icon::new("https://example.com/icon.png")];
    let prompt = Prompt::new("icon", async |_: Flow| Ok::<_, Failure>("Hello")).icons(icons);
    let listed = client(&builder().prompt(prompt).build().unwrap()).request("prompts/list", json!({})).await;
    assert_eq!(listed.response()["result"]["prompts"][0]["icons"][0]["src"], "https://example.com/icon.png");
}
