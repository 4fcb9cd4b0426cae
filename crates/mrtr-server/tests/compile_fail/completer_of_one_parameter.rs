//! Completers without a parameter for the flow: a function and a closure.

use mrtr_server::handler::Completing;
use mrtr_server::{Failure, Flow, Prompt};

async fn greet(_: Flow) -> Result<String, Failure> {
    Ok("Hello".into())
}

async fn names(typing: Completing) -> Result<Vec<String>, Failure> {
    Ok(vec![typing.value])
}

fn main() {
    Prompt::new("greet", greet)
        .complete("name", names)
        .complete("city", async |typing: Completing| Ok::<_, Failure>(vec![typing.value]));
}
