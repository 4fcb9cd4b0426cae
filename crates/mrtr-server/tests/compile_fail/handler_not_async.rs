//! A handler that is not async.

use mrtr_server::{Failure, Flow, Tool};

fn greet(_: Flow) -> Result<String, Failure> {
    Ok("Hello".into())
}

fn main() {
    Tool::new("greet", greet);
}
