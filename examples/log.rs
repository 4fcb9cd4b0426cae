//! Progress and logs: what a client hears while a call runs, and what is left of them once the call is a task.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin log
//! ```
//!
//! Server and client are one program, and talk over HTTP. The tool copies three files and asks before it overwrites the
//! third. Progress inside a step is sent once; the log message is outside, so each round sends it again. In a task the
//! last progress is the status message, for clients and operators, and nobody hears log messages.
//!
//! ```text
//! round 1
//! progress 1 of 3: copied a.txt
//! progress 2 of 3: copied b.txt
//! warning: {"exists":"c.txt"}
//! round 2
//! warning: {"exists":"c.txt"}
//! progress 3 of 3: copied c.txt
//! 3 files are copied
//! the task asks; its status is "copied b.txt"
//! 3 files are copied, as a task
//! ```

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use mrtr::client::{AnswerError, CallEvent, EventKind, ObservedTransport, WireMessage};
use mrtr::prelude::*;
use mrtr::schema::LoggingLevel;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::server::TaskPolicy;
use mrtr::tasks::TaskOptions;
use mrtr::tasks::store::MemoryTaskStore;

#[rustfmt::skip] #[data] struct Overwrite { yes: bool }

async fn copy(flow: Flow) -> Result<&'static str> {
    copy_file(&flow, 1, "a.txt").await?;
    copy_file(&flow, 2, "b.txt").await?;
    // Outside of a step: sent in every round.
    flow.log(LoggingLevel::Warning, json!({ "exists": "c.txt" })).await;
    let Overwrite { yes } = flow.elicit("overwrite", "c.txt exists. Overwrite it?").await?;
    if !yes {
        return Ok("2 files are copied");
    }
    copy_file(&flow, 3, "c.txt").await?;
    Ok("3 files are copied")
}

async fn copy_file(flow: &Flow, number: i64, name: &str) -> Result<()> {
    let work = async {
        // Here a file is copied.
        flow.progress(number, Some(3), format!("copied {name}")).await;
        Ok::<_, Failure>(())
    };
    Ok(flow.step(name, work).await?)
}

fn server() -> Result<Server> {
    let options = TaskOptions::default().poll_interval(Duration::from_millis(50));
    Ok(Server::builder("files", "1.0.0")
        .tool(Tool::new("copy", copy).description("Copies three files"))
        .tool(Tool::new("copy_as_task", copy).description("Does so as a task").tasks(TaskPolicy::Required))
        .extension(Tasks::with_options(Arc::new(MemoryTaskStore::default()), options))
        .build()?)
}

async fn answer(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    form.accept(&json!({ "yes": true }))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let bound = Serve::new(Endpoint::anonymous(server()?)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));

    // Whoever reads events asks for progress; log messages have a level.
    let client = Client::builder(transport.clone()).log_level(LoggingLevel::Warning).on_elicit(answer).build();
    let shown = tokio::spawn(show(client.events()));
    let result = client.call_tool("copy", json!({})).await?;
    shown.await?;
    println!("{}", result.text());

    let client = Client::builder(ObservedTransport::new(transport, show_status)).on_elicit(answer).build();
    println!("{}, as a task", client.call_tool("copy_as_task", json!({})).await?.text());
    Ok(())
}

/// Shows the events of a call, until it is done.
async fn show(mut events: impl Stream<Item = CallEvent> + Unpin) {
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::Round(number) => println!("round {number}"),
            EventKind::Progress(progress) => {
                let (total, message) = (progress.total.unwrap_or(0.into()), progress.message.unwrap_or_default());
                println!("progress {} of {total}: {message}", progress.progress);
            }
            EventKind::Log(log) => println!("{}: {}", name(log.level), log.data.as_str()),
            EventKind::Done => return,
            _ => {}
        }
    }
}

fn name(level: LoggingLevel) -> &'static str {
    if level == LoggingLevel::Warning { "warning" } else { "something else" }
}

/// Shows the status message of a task that asks.
fn show_status(message: WireMessage<'_>) {
    let WireMessage::Response(text) = message else { return };
    let Ok(response) = serde_json::from_str::<Value>(text) else { return };
    let task = &response["result"];
    if task["status"] == "input_required" {
        println!("the task asks; its status is {}", task["statusMessage"]);
    }
}
