//! `echo`: a task. It waits for its answer without its client, and without the server if need be.

use std::time::Duration;

use mrtr::prelude::*;

#[data]
pub(super) struct Echo {
    /// How many seconds to think about the answer
    #[serde(default)]
    #[schemars(range(max = 600))]
    seconds: u64,
}

#[data]
struct Words {
    #[schemars(title = "Words")]
    input: String,
}

pub(super) async fn echo(flow: Flow, Echo { seconds }: Echo) -> Result<String> {
    let Words { input } = flow.elicit("echo_input", "What shall be echoed?").await?;
    let total = i64::try_from(seconds).ok();
    for second in 0..seconds {
        flow.progress(i64::try_from(second).unwrap_or(i64::MAX), total, "thinking").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(format!("Echo: {input}"))
}
