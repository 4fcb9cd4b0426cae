//! A host that starts a server as a child process, lists its tools, calls one and answers what it asks.
//!
//! ```sh
//! cargo build -p mrtr-examples --bin stdio_server
//! cargo run -p mrtr-examples --bin stdio_host -- target/debug/stdio_server
//! ```
//!
//! Messages go over the standard input and output of the child process. What it says on its standard error is for
//! people: the host shows it under the server's name on its own standard error, and so the progress of the call.
//!
//! ```text
//! tool book: Books a crossing
//! tool wait_for_ferry: Waits for the ferry
//! harbour asks, for book: Who is travelling?
//! Ada is booked to Kirkwall
//! the server has ended
//! ```

use std::process::Command;

use mrtr::client::{AnswerError, EventKind, Events};
use mrtr::prelude::*;
use mrtr::schema::Printable;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::stdio::ChildServer;

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let program = std::env::args().nth(1).ok_or("which server? Its program is the first argument")?;
    let mut command = Command::new(program);
    command.args(std::env::args().skip(2));
    let transport = ChildServer::new(command)
        .name("harbour") // for people, and for saved calls
        .on_stderr(|line| eprintln!("harbour says: {}", Printable::line(&line)))
        .spawn()?;
    let client = Client::builder(transport.clone()).info("stdio-host", "1.0.0").on_elicit(ask).build();

    for tool in client.list_tools().await? {
        // Names and descriptions are the server's words.
        let (name, description) = (Printable::line(&tool.name), tool.description.as_deref().unwrap_or_default());
        println!("tool {name}: {}", Printable::line(description));
    }
    let showing = tokio::spawn(show(client.events()));
    let result = client.call_tool("book", json!({ "port": "Kirkwall" })).await?;
    println!("{}", Printable::text(&result.text()));

    drop(client);
    showing.await?;
    // Closes the standard input of the server, which ends it, and waits for that.
    transport.close().await;
    println!("the server has ended");
    Ok(())
}

/// Plays the person who fills in the form.
async fn ask(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    let context = form.context();
    println!("{} asks, for {}: {}", context.server, context.name.as_deref().unwrap_or_default(), form.message());
    form.accept(&json!({ "name": "Ada" }))
}

/// Shows the progress of calls, until the client is gone.
async fn show(mut events: Events) {
    while let Some(event) = events.next().await {
        if let EventKind::Progress(progress) = event.kind {
            let message = progress.message.unwrap_or_default();
            eprintln!("{}: {}", event.name.unwrap_or_default(), Printable::line(&message));
        }
    }
}
