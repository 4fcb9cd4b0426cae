//! A handler that keeps a lock guard of std's across a question.

use std::sync::Mutex;

use mrtr_server::{Failure, Flow, Tool};

async fn count(flow: Flow) -> Result<String, Failure> {
    let counter = flow.state::<Mutex<usize>>();
    let mut count = counter.lock().unwrap();
    *count += flow.roots("roots").await?.len();
    Ok(count.to_string())
}

fn main() {
    Tool::new("count", count);
}
