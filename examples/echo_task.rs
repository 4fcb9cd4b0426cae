//! A task in an SQLite file: kill the server with -9 while the task waits for an answer, and nothing is lost.
//!
//! In one terminal, start the server, which keeps its tasks in `echo-tasks.sqlite`:
//!
//! ```sh
//! export MRTR_STATE_KEYS="echo=k1:$(openssl rand -base64 32)"
//! cargo build -p mrtr-examples --bin echo_task
//! target/debug/echo_task &
//! ```
//!
//! In another, make a call, which becomes a task and asks:
//!
//! ```sh
//! target/debug/echo_task call
//! ```
//!
//! While it asks, kill the server in the first terminal, and start it again:
//!
//! ```sh
//! kill -9 %1
//! target/debug/echo_task &
//! ```
//!
//! Answer in the second terminal, which shows:
//!
//! ```text
//! Please provide the input string to echo back
//! Echo: Hello World!
//! ```

use std::error::Error;

use mrtr::prelude::*;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::server::TaskPolicy;

#[rustfmt::skip] #[data] struct Echo { input: String }

async fn echo(flow: Flow) -> Result<String> {
    let Echo { input } = flow.elicit("echo_input", "Please provide the input string to echo back").await?;
    Ok(format!("Echo: {input}"))
}

async fn serve(address: &str) -> Result<()> {
    let file = std::env::var("ECHO_TASKS").unwrap_or("echo-tasks.sqlite".into());
    let server = Server::builder("echo", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::from_env("MRTR_STATE_KEYS")?)
        .tool(Tool::new("echo", echo).description("Echoes what it is told").tasks(TaskPolicy::IfPossible))
        .extension(Tasks::new(SqliteTaskStore::open(file)?))
        .build()?;
    Ok(mrtr::serve(address, server).await?)
}

async fn call(address: &str) -> Result<()> {
    let client = Client::builder(HttpTransport::new(&format!("http://{address}/mcp"))?).on_elicit(ask).build();
    println!("{}", client.call_tool("echo", json!({})).await?.text());
    Ok(())
}

async fn ask(form: FormRequest) -> Result<ElicitResult, Box<dyn Error + Send + Sync>> {
    println!("{}", form.message());
    let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await?;
    Ok(form.accept(&json!({ "input": line.ok_or("there is no answer")?? }))?)
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let address = std::env::var("ECHO_ADDRESS").unwrap_or("127.0.0.1:8000".into());
    if std::env::args().nth(1).as_deref() == Some("call") { call(&address).await } else { serve(&address).await }
}
