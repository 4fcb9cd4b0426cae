//! Sweeping: ends tasks whose time is over and removes those that are not kept any longer, until there are none.

use std::time::Duration;

use tokio::time::Instant;

use crate::count;
use crate::tasks::Inner;

/// Sweeps now and then, for as long as it is polled: beside the claims, which do not wait for it.
pub(super) async fn keep_sweeping(inner: &Inner) {
    loop {
        sweep(inner).await;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Sweeps until it is done, in batches. After each, the store is others' for as long as the batch took.
async fn sweep(inner: &Inner) {
    loop {
        let begin = Instant::now();
        match inner.store.sweep(AT_ONCE).await {
            Ok(swept) => {
                count::swept(swept);
                if swept.expired < AT_ONCE && swept.removed < AT_ONCE {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "old tasks cannot be swept");
                return;
            }
        }
        tokio::time::sleep(begin.elapsed()).await;
    }
}

const INTERVAL: Duration = Duration::from_secs(10);
const AT_ONCE: usize = 256;
