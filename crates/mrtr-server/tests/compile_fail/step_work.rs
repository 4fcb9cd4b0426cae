//! Work of a step that is no future, or no future of a `Result`.

use mrtr_server::{Failure, Flow};

async fn count() -> u32 {
    7
}

async fn no_result(flow: Flow) -> Result<String, Failure> {
    let counted = flow.step("count", count()).await?;
    Ok(counted.to_string())
}

async fn closure(flow: Flow) -> Result<String, Failure> {
    let counted: u32 = flow.step("count", || async { Ok::<_, Failure>(7) }).await?;
    Ok(counted.to_string())
}

fn main() {}
