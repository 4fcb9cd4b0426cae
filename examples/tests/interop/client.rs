//! A client over stdio or HTTP: starts the server that it is told, or goes to its URL, calls `greet`, answers what is
//! asked, and prints what it saw.
//!
//! `cargo xtask interop` runs it against servers of other SDKs.

use std::sync::{Arc, Mutex};

use mrtr::http::HttpTransport;
use mrtr::prelude::*;
use mrtr::stdio::StdioTransport;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("say which server to start, or its URL")?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&asked);
    let client = if server.starts_with("http:") {
        Client::builder(HttpTransport::new(&server)?)
    } else {
        let mut command = std::process::Command::new(server);
        command.args(arguments);
        Client::builder(StdioTransport::spawn(command)?)
    };
    let client = client
        .on_elicit(move |form: FormRequest| {
            note.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(form.message().to_owned());
            async move { form.accept(&json!({ "name": "Ada" })) }
        })
        .build();
    let tools = client.list_tools().await?;
    let result = client.call_tool("greet", json!({})).await?;
    let tools: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
    let version = client.revision().as_str();
    println!("{}", json!({ "version": version, "tools": tools, "asked": *asked, "text": result.text() }));
    Ok(())
}
