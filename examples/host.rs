//! A host: a model's tool loop that saves several calls while they wait for a person, and resumes them later.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin host
//! ```
//!
//! The model, which is a script, calls three tools in one turn. One answers; two ask. The host saves the conversation
//! and both calls to a file. Its second half has only this file, as after a restart, and the server has kept nothing.
//!
//! ```text
//! weather: Rain in Oslo
//! book_flight asks: Which class?
//! book_hotel asks: How many nights?
//! saved: 2 calls
//! loaded: 2 calls
//! book_flight: A second class seat to Oslo is booked
//! book_hotel: 3 nights in Oslo are booked
//! model: You are going to Oslo. Take an umbrella.
//! ```

use std::path::{Path, PathBuf};

use mrtr::prelude::*;
use mrtr::schema::CallToolResult;

#[rustfmt::skip] #[data] struct Place { city: String }
#[rustfmt::skip] #[data] struct Class { class: String }
#[rustfmt::skip] #[data] struct Nights { nights: u32 }

async fn weather(_: Flow, Place { city }: Place) -> Result<String> {
    Ok(format!("Rain in {city}"))
}

async fn book_flight(flow: Flow, Place { city }: Place) -> Result<String> {
    let Class { class } = flow.elicit("class", "Which class?").await?;
    Ok(format!("A {class} class seat to {city} is booked"))
}

async fn book_hotel(flow: Flow, Place { city }: Place) -> Result<String> {
    let Nights { nights } = flow.elicit("nights", "How many nights?").await?;
    Ok(format!("{nights} nights in {city} are booked"))
}

/// What a model does next.
enum Turn {
    Call(Vec<(&'static str, Value)>),
    Say(&'static str),
}

/// Plays the model: it goes by whether its calls are answered.
fn model(messages: &[Value]) -> Turn {
    match messages.iter().filter(|message| message["role"] == "tool").count() {
        0 => Turn::Call(["weather", "book_flight", "book_hotel"].map(|tool| (tool, json!({ "city": "Oslo" }))).into()),
        _ => Turn::Say("You are going to Oslo. Take an umbrella."),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("travel", "1.0.0")
        .tool(Tool::new("weather", weather))
        .tool(Tool::new("book_flight", book_flight))
        .tool(Tool::new("book_hotel", book_hotel))
        .build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let file = std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("mrtr-host.json"), PathBuf::from);
    before_the_restart(&url, &file).await?;
    after_the_restart(&url, &file).await
}

async fn before_the_restart(url: &str, file: &Path) -> Result<()> {
    let client = client(url)?;
    let mut messages = vec![json!({ "role": "user", "text": "Book me a trip to Oslo" })];
    let mut waiting = Vec::new();
    let Turn::Call(calls) = model(&messages) else { return Err("the model calls nothing".into()) };
    for (tool, arguments) in calls {
        match client.call_tool_once(tool, arguments).await? {
            RoundOutcome::Complete(result) => messages.push(tool_message(tool, &result.to::<CallToolResult>()?)),
            RoundOutcome::Asked(call) | RoundOutcome::BackOff(call, _) | RoundOutcome::Task(call, _) => {
                for key in call.unanswered() {
                    println!("{tool} asks: {}", call.message(key).unwrap_or_default());
                }
                waiting.push(call);
            }
            other => return Err(format!("this host does not know {other:?}").into()),
        }
    }
    println!("saved: {} calls", waiting.len());
    Ok(std::fs::write(file, serde_json::to_vec(&(messages, waiting))?)?)
}

async fn after_the_restart(url: &str, file: &Path) -> Result<()> {
    let client = client(url)?;
    let (mut messages, waiting): (Vec<Value>, Vec<PendingCall>) = serde_json::from_slice(&std::fs::read(file)?)?;
    println!("loaded: {} calls", waiting.len());
    for call in waiting {
        let tool = call.name().unwrap_or_default();
        messages.push(tool_message(&tool, &client.resume(call).await?));
    }
    let Turn::Say(text) = model(&messages) else { return Err("the model goes on calling".into()) };
    println!("model: {text}");
    Ok(std::fs::remove_file(file)?)
}

/// A client whose handler plays the person. Calls that are made once do not wait for it; those that are resumed do.
fn client(url: &str) -> Result<Client> {
    let person = async |form: FormRequest| match form.context().key.as_str() {
        "class" => form.accept(&json!({ "class": "second" })),
        _ => form.accept(&json!({ "nights": 3 })),
    };
    Ok(Client::builder(HttpTransport::new(url)?).on_elicit(person).build())
}

fn tool_message(tool: &str, result: &CallToolResult) -> Value {
    println!("{tool}: {}", result.text());
    json!({ "role": "tool", "tool": tool, "text": result.text() })
}
