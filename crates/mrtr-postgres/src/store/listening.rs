//! The background tasks: hearing from other instances, telling them, and looking for what changed.
//!
//! A notification is a hint. It is sent after the commit, in a transaction of its own, and once for many writes, since
//! PostgreSQL lets those who notify commit only one after the other. The store relies on the look that comes every
//! second or so in any case.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Backoff;
use tokio::time::{sleep, timeout};
use tokio_postgres::Config;

use super::Inner;
use crate::database::varied;
use crate::failure::Failure;
use crate::tls::Listening;

/// Tells other instances that something has changed.
pub(super) async fn tell(inner: Arc<Inner>) {
    // Nothing is waited for but the network: a hint need not be on the disk.
    let sql = format!("BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {}; COMMIT", inner.schema.channel());
    loop {
        inner.tell.notified().await;
        let told = async {
            let connection = inner.database.connection().await?;
            connection.begins();
            connection.batch(&sql).await?;
            connection.ends();
            Ok::<_, Failure>(())
        };
        if let Err(error) = told.await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "other instances were not notified; they find the change when they poll"
            );
        }
        sleep(BETWEEN_HINTS).await;
    }
}

/// Looks for changes whenever a notification hints at one, and, since notifications can be lost, at least once a
/// `poll`.
pub(super) async fn look(inner: Arc<Inner>, poll: Duration) {
    loop {
        // When the time is over, it looks without a hint.
        drop(timeout(varied(poll), inner.look.notified()).await);
        if inner.tail.is_watched()
            && let Err(error) = inner.tail.look(&inner.database, &inner.tasks).await
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "changes of tasks cannot be queried");
        }
        inner.look_for_ends().await;
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Opens a separate connection that listens for notifications.
pub(super) async fn connect(inner: &Inner, address: &Config) -> Result<Listening, tokio_postgres::Error> {
    let listening = inner.tls.listen(address, Arc::clone(&inner.look)).await?;
    listening.client.batch_execute(&format!("LISTEN {}", inner.schema.channel())).await?;
    Ok(listening)
}

/// Listens for as long as the store is there. A connection that was lost is made anew, and what was missed meanwhile is
/// looked for before notifications are trusted again.
pub(super) async fn listen(inner: Arc<Inner>, address: Config, first: Listening) {
    let mut listening = first;
    loop {
        // Until the connection is lost.
        drop((&mut listening.driver).await);
        tracing::warn!("the connection that listens for other instances was lost");
        listening = reconnect(&inner, &address).await;
        inner.tail.distrust().await;
        inner.look.notify_one();
    }
}

async fn reconnect(inner: &Inner, address: &Config) -> Listening {
    let mut paused = 0;
    loop {
        match connect(inner, address).await {
            Ok(listening) => return listening,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the connection that listens for other instances cannot be opened; polling goes on"
                );
            }
        }
        sleep(varied(PAUSES.pause(paused))).await;
        paused = paused.saturating_add(1);
    }
}

const BETWEEN_HINTS: Duration = Duration::from_millis(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
const PAUSES: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
