//! Prompts: one with arguments that are completed while the user types, and one that asks before it answers.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin prompt
//! ```
//!
//! Server and client are one program, and talk over HTTP. The handler of a prompt is a flow: `lesson` asks its user two
//! things, in two rounds, and the client sends its request again with each answer.
//!
//! ```text
//! lesson takes topic
//! review takes language (required), most
//! completed: Rust, Ruby
//! User: Review this Rust code. Make at most 3 remarks.
//! asked: Who learns it?
//! asked: How long may it take, in minutes?
//! User: Explain gravity to a child, in 10 minutes.
//! Assistant: First of all: what do you know of gravity?
//! ```

use mrtr::client::AnswerError;
use mrtr::prelude::*;
use mrtr::schema::completion::{CompleteParams, CompletionArgument, PromptReference};
use mrtr::schema::content::Role;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::schema::prompts::{GetPromptResult, PromptMessage};
use mrtr::schema::{ContentBlock, Printable};
use mrtr::server::handler::Completing;

#[data]
struct Review {
    /// The programming language
    language: String,
    /// The most remarks to make
    most: Option<u8>,
}

async fn review(_: Flow, Review { language, most }: Review) -> Result<String> {
    let most = most.map_or(String::new(), |most| format!(" Make at most {most} remarks."));
    Ok(format!("Review this {language} code.{most}"))
}

/// Suggests the languages that begin with what is typed.
async fn languages(_: Flow, typing: Completing) -> Result<Vec<String>> {
    let known = ["Go", "Python", "Rust", "Ruby"];
    Ok(known.iter().filter(|name| name.starts_with(&typing.value)).map(ToString::to_string).collect())
}

#[rustfmt::skip] #[data] struct Lesson { topic: Option<String> }
#[rustfmt::skip] #[data] struct Learner { who: String }
#[rustfmt::skip] #[data] struct Length { minutes: u8 }

async fn lesson(flow: Flow, Lesson { topic }: Lesson) -> Result<Vec<PromptMessage>> {
    let topic = topic.unwrap_or("gravity".into());
    let Learner { who } = flow.elicit("learner", "Who learns it?").await?;
    let Length { minutes } = flow.elicit("length", "How long may it take, in minutes?").await?;
    let asks = format!("Explain {topic} to a {who}, in {minutes} minutes.");
    let begins = format!("First of all: what do you know of {topic}?");
    Ok(vec![
        PromptMessage::new(Role::User, ContentBlock::text(asks)),
        PromptMessage::new(Role::Assistant, ContentBlock::text(begins)),
    ])
}

fn server() -> Result<Server> {
    let review = Prompt::new("review", review).title("Review code").description("Asks a model for remarks on code");
    Ok(Server::builder("teacher", "1.0.0")
        .prompt(Prompt::new("lesson", lesson).description("Explains a topic to somebody"))
        .prompt(review.complete("language", languages))
        .build()?)
}

async fn answer(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    println!("asked: {}", form.message());
    match form.context().key.as_str() {
        "learner" => form.accept(&json!({ "who": "child" })),
        _ => form.accept(&json!({ "minutes": 10 })),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let bound = Serve::new(Endpoint::anonymous(server()?)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).on_elicit(answer).build();
    for prompt in client.list_prompts().await? {
        let arguments = prompt.arguments.into_iter().flatten();
        let arguments = arguments.map(|one| one.name + if one.required == Some(true) { " (required)" } else { "" });
        println!("{} takes {}", prompt.name, arguments.collect::<Vec<_>>().join(", "));
    }
    let typed = CompletionArgument::new("language", "Ru");
    let found = client.complete(&CompleteParams::new(PromptReference::new("review"), typed)).await?;
    println!("completed: {}", found.completion.values.as_slice().join(", "));
    // Arguments of prompts are texts on the wire; the handler gets a number.
    show(&client.get_prompt("review", json!({ "language": "Rust", "most": "3" })).await?);
    show(&client.get_prompt("lesson", json!({})).await?);
    Ok(())
}

fn show(prompt: &GetPromptResult) {
    for PromptMessage { role, content, .. } in &prompt.messages {
        if let ContentBlock::Text(text) = content {
            println!("{role:?}: {}", Printable::line(&text.text));
        }
    }
}
