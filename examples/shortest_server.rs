//! The shortest server: one tool, which asks one question. Run it, and leave it running for `shortest_client`:
//!
//! ```sh
//! cargo run -p mrtr-examples --bin shortest_server
//! ```
//!
//! It serves at `http://127.0.0.1:8000/mcp` until you stop it. Its key ends with the process, as its log says.

use mrtr::prelude::*;

#[rustfmt::skip] #[data] struct Name { name: String }

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    Ok(mrtr::serve("127.0.0.1:8000", server).await?)
}
