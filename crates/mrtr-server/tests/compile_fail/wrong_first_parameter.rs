//! Handlers that do not begin with a flow, by value.

use mrtr_server::{Failure, Flow, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}

async fn other_way_round(greet: Greet, _: Flow) -> Result<String, Failure> {
    Ok(format!("Hello, {}", greet.name))
}

async fn borrowed(_: &Flow) -> Result<String, Failure> {
    Ok("Hello".into())
}

fn main() {
    Tool::new("other_way_round", other_way_round);
    Tool::new("borrowed", borrowed);
}
