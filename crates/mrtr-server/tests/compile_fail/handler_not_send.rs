//! A handler whose future stays on its thread: it keeps an `Rc` across an await.

use std::rc::Rc;

use mrtr_server::{Failure, Flow, Tool};

async fn count(flow: Flow) -> Result<String, Failure> {
    let shared = Rc::new(1);
    let roots = flow.roots("roots").await?;
    Ok((roots.len() + *shared).to_string())
}

fn main() {
    Tool::new("count", count);
}
