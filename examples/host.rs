//! A host: a model's tool loop that saves several calls while they wait for a person, and resumes them later.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin host
//! ```
//!
//! The model, which is a script, makes four calls in one turn. One is answered, one fails, two ask. The host saves the
//! conversation and both open calls to a file. Its second half has only this file, as after a restart, and the server
//! has kept nothing.
//!
//! ```text
//! weather: Rain in Oslo
//! book_flight asks: Which class?
//! book_hotel asks: How many nights?
//! book_train failed: the server answered: …
//! saved: 2 calls
//! loaded: 2 calls
//! book_flight: A second class seat to Oslo is booked
//! book_hotel: 3 nights in Oslo are booked
//! model: You are going to Oslo. Take an umbrella.
//! ```

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mrtr::prelude::*;
use mrtr::schema::{CallToolResult, Printable};

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

/// A call that the model wants made. The model gives it an id, and gets its result under that id.
struct ToolCall {
    id: String,
    tool: String,
    arguments: Value,
}

/// What a model does next.
enum Turn {
    Call(Vec<ToolCall>),
    Say(&'static str),
}

/// Plays the model: it calls each tool that it is offered and one that there is not, and then says what comes of it.
fn model(tools: &[Value], messages: &[Value]) -> Turn {
    if messages.iter().any(|message| message["role"] == "tool") {
        return Turn::Say("You are going to Oslo. Take an umbrella.");
    }
    let offered = tools.iter().filter_map(|tool| tool["name"].as_str()).chain(["book_train"]).enumerate();
    let call = |(number, tool): (usize, &str)| ToolCall {
        id: format!("call-{number}"),
        tool: tool.to_owned(),
        arguments: json!({ "city": "Oslo" }),
    };
    Turn::Call(offered.map(call).collect())
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
    let Turn::Call(calls) = model(&offered(&client).await?, &messages) else {
        return Err("the model calls nothing".into());
    };
    for ToolCall { id, tool, arguments } in calls {
        match client.call_tool_once(&tool, arguments).await {
            Ok(RoundOutcome::Complete(result)) => messages.push(result_message(&id, &tool, Ok(result.to()?))),
            Ok(RoundOutcome::Asked(call) | RoundOutcome::BackOff(call, _) | RoundOutcome::Task(call, _)) => {
                for key in call.unanswered() {
                    println!("{} asks: {}", Printable::line(&tool), call.message(key).unwrap_or_default());
                }
                waiting.push((id, call));
            }
            Ok(other) => return Err(format!("this host does not know {other:?}").into()),
            Err(error) => messages.push(result_message(&id, &tool, Err(error))),
        }
    }
    save(file, &serde_json::to_vec(&(&messages, &waiting))?)?;
    println!("saved: {} calls", waiting.len());
    Ok(())
}

/// Saves the conversation, so that only this user can read it.
fn save(file: &Path, conversation: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600); // of a file that is not there yet
    options.open(file)?.write_all(conversation)
}

async fn after_the_restart(url: &str, file: &Path) -> Result<()> {
    let client = client(url)?;
    let saved = std::fs::read(file)?;
    let (mut messages, waiting): (Vec<Value>, Vec<(String, PendingCall)>) = serde_json::from_slice(&saved)?;
    println!("loaded: {} calls", waiting.len());
    for (id, call) in waiting {
        let tool = call.name().unwrap_or_default();
        messages.push(result_message(&id, &tool, client.resume(call).await));
    }
    let Turn::Say(text) = model(&offered(&client).await?, &messages) else {
        return Err("the model goes on calling".into());
    };
    println!("model: {text}");
    Ok(std::fs::remove_file(file)?)
}

/// A client whose handler plays the person. A call of one round does not wait for it; a call that is resumed does.
fn client(url: &str) -> Result<Client> {
    // It looks at the fields: in a session of the legacy era, the key of the question is another.
    let person = async |form: FormRequest| match form.fields().next().map(|field| field.name) {
        Some("class") => form.accept(&json!({ "class": "second" })),
        Some("nights") => form.accept(&json!({ "nights": 3 })),
        _ => form.decline(),
    };
    Ok(Client::builder(HttpTransport::new(url)?).on_elicit(person).build())
}

/// Describes the server's tools to a model.
async fn offered(client: &Client) -> Result<Vec<Value>> {
    let mut offered = Vec::new();
    for tool in client.list_tools().await? {
        offered.push(json!({ "name": tool.name, "description": tool.description, "schema": tool.input_schema }));
    }
    Ok(offered)
}

/// Tells the model how its call ended. A call that failed is a result, too: the model may try something else.
fn result_message(id: &str, tool: &str, result: Result<CallToolResult, CallError>) -> Value {
    let (text, structured, is_error) = match result {
        Ok(result) => {
            let structured = result.structured_content.as_ref().map(|content| content.as_json().to::<Value>());
            (result.text(), structured.and_then(Result::ok), result.is_error.unwrap_or(false))
        }
        Err(error) => (error.to_string(), None, true),
    };
    let failed = if is_error { " failed" } else { "" };
    println!("{}{failed}: {}", Printable::line(tool), Printable::line(&text));
    json!({ "role": "tool", "id": id, "text": text, "structured": structured, "is_error": is_error })
}
