//! Arguments that cannot be read.

use mrtr_server::{Failure, Flow, Tool};

#[derive(schemars::JsonSchema)]
struct Greet {
    name: String,
}

async fn greet(_: Flow, greet: Greet) -> Result<String, Failure> {
    Ok(format!("Hello, {}", greet.name))
}

fn main() {
    Tool::new("greet", greet);
}
