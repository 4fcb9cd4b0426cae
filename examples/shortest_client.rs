//! The shortest client: it calls a tool, and answers what the tool asks. Start `shortest_server` first:
//!
//! ```sh
//! cargo run -p mrtr-examples --bin shortest_client
//! ```
//!
//! Its argument may be the URL of another server. It prints:
//!
//! ```text
//! Hello, Ada
//! ```

use mrtr::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let url = std::env::args().nth(1).unwrap_or("http://127.0.0.1:8000/mcp".into());
    let answer = async |form: FormRequest| form.accept(&json!({ "name": "Ada" }));
    let client = Client::builder(HttpTransport::new(&url)?).on_elicit(answer).build();
    println!("{}", client.call_tool("greet", json!({})).await?.text());
    Ok(())
}
