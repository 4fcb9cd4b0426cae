//! Our client of the interop matrix: plays one scenario of `xtask/interop/README.md` against a server, and prints what it
//! saw as one line of JSON.
//!
//! Called with `SCENARIO (default|modern|legacy) (http URL | stdio COMMAND ARGUMENT…)`.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mrtr::client::{AnswerError, Builder, Limits, QuestionContext};
use mrtr::http::HttpTransport;
use mrtr::prelude::*;
use mrtr::schema::content::{ResourceContents, Role, TextContent};
use mrtr::schema::elicitation::ElicitResult;
use mrtr::schema::prompts::PromptMessage;
use mrtr::schema::roots::Root;
use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent};
use mrtr::schema::{ContentBlock, Revision};
use mrtr::serde_json::Map;
use mrtr::stdio::StdioTransport;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [scenario, era, kind, server, rest @ ..] = &arguments[..] else {
        return Err("say SCENARIO, the era, and `http URL` or `stdio COMMAND`".into());
    };
    let client = if kind == "http" {
        Client::builder(HttpTransport::new(server)?)
    } else {
        let mut command = std::process::Command::new(server);
        command.args(rest);
        Client::builder(StdioTransport::spawn(command)?)
    };
    let client = match era.as_str() {
        "modern" => client.revision(Revision::V2026_07_28),
        "legacy" => client.revision(Revision::V2025_11_25),
        _ => client,
    };
    let asked = Asked::default();
    // The client reports a silent server before the harness ends this program.
    let client = client.limits(Limits { exchange: Duration::from_secs(40), ..Limits::default() });
    let client = answering(client, scenario, &asked).build();
    let outcome = play(&client, scenario).await;
    let (text, is_error, code) = match outcome {
        Ok((text, is_error)) => (text, is_error, Value::Null),
        Err(CallError { kind: CallErrorKind::Server { error, .. }, .. }) => {
            (error.message.clone(), true, json!(error.code.as_i64()))
        }
        Err(error) => return Err(error.into()),
    };
    let version = client.revision().as_str();
    let asked = asked.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    client.close().await;
    println!("{}", json!({ "version": version, "asked": asked, "text": text, "isError": is_error, "error": code }));
    Ok(())
}

/// The first text of the result, and whether the result tells of an error.
async fn play(client: &Client, scenario: &str) -> Result<(String, bool), CallError> {
    let (tool, arguments) = match scenario {
        "prompt" => {
            let prompt = client.get_prompt("review", json!({})).await?;
            return Ok((first(prompt.messages.into_iter().map(text_of_message)), false));
        }
        "resource" => {
            let read = client.read_resource("notes://secret").await?;
            return Ok((first(read.contents.into_iter().map(text_of_contents)), false));
        }
        "header" => {
            client.list_tools().await?;
            ("deploy", json!({ "region": "us-west1" }))
        }
        "three-rounds" => ("update_work_item", json!({ "workItemId": 4522, "fields": {} })),
        "mixed" => ("mixed", json!({})),
        "state-only" => ("shed", json!({})),
        "url" => ("connect", json!({})),
        "task" => return play_task(client).await,
        _ => ("greet", json!({})),
    };
    let result = client.call_tool(tool, arguments).await?;
    Ok((result.text(), result.is_error.unwrap_or(false)))
}

/// A server that makes no task of the call has not played this.
async fn play_task(client: &Client) -> Result<(String, bool), CallError> {
    let RoundOutcome::Task(call, _) = client.call_tool_once("echo_task", json!({})).await? else {
        return Ok(("no task was made".to_owned(), true));
    };
    let result = client.resume(call).await?;
    Ok((result.text(), result.is_error.unwrap_or(false)))
}

fn first(mut texts: impl Iterator<Item = String>) -> String {
    texts.next().unwrap_or_default()
}

fn text_of_message(message: PromptMessage) -> String {
    match message.content {
        ContentBlock::Text(text) => text.text,
        _ => String::new(),
    }
}

fn text_of_contents(contents: ResourceContents) -> String {
    match contents {
        ResourceContents::Text(text) => text.text,
        ResourceContents::Blob(_) => String::new(),
    }
}

/// The questions that the handlers were asked, in order.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }
}

fn answering(builder: Builder, scenario: &str, asked: &Asked) -> Builder {
    let (forms, urls, models, roots) = (asked.clone(), asked.clone(), asked.clone(), asked.clone());
    let scenario = scenario.to_owned();
    builder
        .on_elicit(move |form: FormRequest| {
            forms.note(format!("form: {}", form.message()));
            let answer = answer(&form, &scenario);
            async move { answer }
        })
        .on_url(move |request: UrlRequest| {
            urls.note(format!("url: {}", request.url()));
            async move { request.consent() }
        })
        .on_sample(move |params: CreateMessageParams, _: QuestionContext| {
            models.note(format!("sampling: {}", question(&params)));
            async move { Ok::<_, Infallible>(paris()) }
        })
        .on_roots(move |_: QuestionContext| {
            roots.note("roots");
            async move { Ok::<_, Infallible>(vec![Root::new("file:///project")]) }
        })
}

fn answer(form: &FormRequest, scenario: &str) -> Result<ElicitResult, AnswerError> {
    match scenario {
        "decline" => form.decline(),
        "cancel" => form.cancel(),
        _ => form.accept(&content(form)),
    }
}

/// Answers by the names of fields.
fn content(form: &FormRequest) -> Map<String, Value> {
    let name = if form.message().contains("GitHub") { "octocat" } else { "Ada" };
    let known = json!({ "name": name, "resolution": "Duplicate", "duplicateOfId": 4301, "language": "Rust",
        "notebook": "blue", "text": "hi" });
    form.fields().map(|field| (field.name.to_owned(), known[field.name].clone())).collect()
}

fn question(params: &CreateMessageParams) -> String {
    let texts = params.messages.iter().flat_map(|message| message.content.iter());
    let text = texts.filter_map(|content| match content {
        SamplingContent::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    first(text)
}

fn paris() -> CreateMessageResult {
    let mut result =
        CreateMessageResult::new(Role::Assistant, SamplingContent::Text(TextContent::new("Paris")), "test");
    result.stop_reason = Some("endTurn".into());
    result
}
