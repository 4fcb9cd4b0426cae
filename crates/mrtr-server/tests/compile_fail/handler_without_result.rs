//! A handler that returns no `Result`.

use mrtr_server::{Flow, Tool};

async fn greet(_: Flow) -> String {
    "Hello".into()
}

fn main() {
    Tool::new("greet", greet);
}
