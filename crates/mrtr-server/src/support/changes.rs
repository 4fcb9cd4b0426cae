//! What changed on the server, on its way to subscribers.

use std::sync::Arc;

use tokio::sync::{Notify, broadcast};

/// Tells subscribers what changed. Clones tell the same ones.
///
/// ```
/// # use mrtr_server::Server;
/// # let server = Server::builder("docs", "1.0.0").build()?;
/// server.changes().resource_updated("docs://guide");
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Changes {
    sender: broadcast::Sender<Change>,
    /// For what waits and hears of no other change.
    ended: Arc<Notify>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
    /// Subscriptions end.
    End,
}

/// How many changes a slow subscriber may be behind before its subscription ends.
const BACKLOG: usize = 1024;

impl Changes {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(BACKLOG), ended: Arc::default() }
    }

    /// The list of tools has changed.
    pub fn tools_changed(&self) {
        self.tell(Change::Tools);
    }

    /// The list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.tell(Change::Prompts);
    }

    /// The list of resources has changed.
    pub fn resources_changed(&self) {
        self.tell(Change::Resources);
    }

    /// A resource has changed.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        self.tell(Change::Resource(uri.into()));
    }

    /// Ends all subscriptions, as a server does that shuts down.
    pub fn end_subscriptions(&self) {
        self.tell(Change::End);
        self.ended.notify_waiters();
    }

    /// Waits until subscriptions are ended the next time.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// There may be no subscriber, which is fine.
    fn tell(&self, change: Change) {
        let _ = self.sender.send(change);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.sender.subscribe()
    }
}
