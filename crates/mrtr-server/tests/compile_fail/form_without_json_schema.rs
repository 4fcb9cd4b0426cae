//! A form of a type that has no schema.

use mrtr_server::{Failure, Flow};

#[derive(serde::Deserialize)]
struct Login {
    name: String,
}

async fn greet(flow: Flow) -> Result<String, Failure> {
    let login: Login = flow.elicit("login", "Who are you?").await?;
    Ok(format!("Hello, {}", login.name))
}

fn main() {}
