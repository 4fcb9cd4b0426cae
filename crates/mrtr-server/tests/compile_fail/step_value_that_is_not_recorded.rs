//! A step whose value cannot be recorded.

use mrtr_server::{Failure, Flow};

struct Issue {
    number: u64,
}

async fn report(flow: Flow) -> Result<String, Failure> {
    let issue = flow.step("create", async { Ok::<_, Failure>(Issue { number: 7 }) }).await?;
    Ok(issue.number.to_string())
}

fn main() {}
