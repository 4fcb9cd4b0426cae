//! Changes on the server, on their way to subscribers.

use std::sync::{Arc, LazyLock};

use mrtr_flow::Flow;
use tokio::sync::{Notify, broadcast};

/// Tells subscribers what changed. Clones reach the same subscribers.
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
    /// Wakes those who wait only for the end, and not for changes.
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

/// The number of changes that a slow subscriber may be behind before its subscription ends.
const BACKLOG: usize = 1024;

impl Changes {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(BACKLOG), ended: Arc::default() }
    }

    /// Says that the list of tools has changed.
    pub fn tools_changed(&self) {
        self.tell(Change::Tools);
    }

    /// Says that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.tell(Change::Prompts);
    }

    /// Says that the list of resources has changed.
    pub fn resources_changed(&self) {
        self.tell(Change::Resources);
    }

    /// Says that a resource has changed.
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

/// Lets a handler tell the subscribers of its server what changed.
///
/// ```
/// # use mrtr_server::{Failure, Flow};
/// use mrtr_server::flow::FlowChanges;
///
/// async fn edit(flow: Flow) -> Result<String, Failure> {
///     flow.step("write", async { Ok::<_, Failure>(()) }).await?;
///     flow.changes().resource_updated("docs://guide");
///     Ok("edited".into())
/// }
/// ```
pub trait FlowChanges {
    /// Tells subscribers what changed. A flow that no server runs has none.
    fn changes(&self) -> &Changes;
}

impl FlowChanges for Flow {
    fn changes(&self) -> &Changes {
        self.extension().map_or(&*UNHEARD, |ServerChanges(changes)| changes)
    }
}

/// The changes of the server that runs a flow, among the flow's extensions. A type of its own: an application may have
/// put the changes of another server there.
pub(crate) struct ServerChanges(pub(crate) Changes);

static UNHEARD: LazyLock<Changes> = LazyLock::new(Changes::new);
