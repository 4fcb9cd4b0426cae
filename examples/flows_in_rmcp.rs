//! Flows inside rmcp: a tool that asks, beside a tool of rmcp's own, in one rmcp server.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin flows_in_rmcp
//! ```
//!
//! It serves hosts that start it on standard input and output, in both of rmcp's lifecycles. `add` is an ordinary tool
//! of rmcp's; `greet` asks its caller for a name.

use mrtr::prelude::*;
use mrtr_rmcp::Flows;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router, transport::stdio};

#[rustfmt::skip] #[data] struct Name { name: String }
#[rustfmt::skip] #[data] struct Sum { a: i64, b: i64 }

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

struct Calculator;
#[tool_router]
impl Calculator {
    #[rustfmt::skip] #[tool(description = "Adds two numbers")]
    fn add(Parameters(Sum { a, b }): Parameters<Sum>) -> String { (a + b).to_string() }
}
#[tool_handler]
impl ServerHandler for Calculator {}

#[allow(clippy::large_futures, reason = "rmcp's is as large as its features make it")]
#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    Flows::new(server).beside(Calculator).serve(stdio()).await?.waiting().await?;
    Ok(())
}
