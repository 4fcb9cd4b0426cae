//! The echo tool of the founding documents: it runs as a task, and asks through it.
//!
//! Tasks are kept in an SQLite file, so that a restart of the server loses none.

use anyhow::Result;
use mrtr_server::{Flow, Sealer, Server, TaskPolicy, Tool};
use mrtr_tasks::{SqliteTaskStore, Tasks};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    input: String,
}

async fn echo(flow: Flow) -> Result<String> {
    let Echo { input } = flow.elicit("echo_input", "Please provide the input string to echo back").await?;
    Ok(format!("Echo: {input}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    let file = std::env::var("ECHO_TASKS").unwrap_or("echo-tasks.sqlite".into());
    let server = Server::builder("echo", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::from_env("MRTR_STATE_KEYS")?)
        .tool(Tool::new("echo", echo).description("Echoes what it is told").tasks(TaskPolicy::IfPossible))
        .extension(Tasks::new(SqliteTaskStore::open(file)?))
        .build()?;
    let address = std::env::var("ECHO_ADDRESS").unwrap_or("127.0.0.1:8000".into());
    Ok(mrtr_http::serve(address, server).await?)
}
