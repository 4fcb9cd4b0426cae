//! Tools to call: one that asks, one that waits, and one that talks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_server::{Builder, Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::support::within;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Order {
    /// Mirrored in a header.
    #[schemars(extend("x-mcp-header" = "Item"))]
    pub(crate) item: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Address {
    pub(crate) street: String,
}

/// Asks one question.
pub(crate) async fn order(flow: Flow, order: Order) -> Result<String, Failure> {
    let address: Address = flow.elicit("address", "Where to?").await?;
    Ok(format!("{} to {}", order.item, address.street))
}

pub(crate) async fn hello(_: Flow) -> Result<&'static str, Failure> {
    Ok("Hello")
}

/// A gate at which tools wait: tests see who waits, and let them go.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    open: Semaphore,
    reached: Semaphore,
    dropped: Semaphore,
    waiting: AtomicUsize,
    done: AtomicUsize,
}

impl Default for Inner {
    fn default() -> Self {
        let (closed, none) = (|| Semaphore::new(0), || AtomicUsize::new(0));
        Self { open: closed(), reached: closed(), dropped: closed(), waiting: none(), done: none() }
    }
}

impl Gate {
    /// Lets one tool through.
    pub(crate) fn open(&self) {
        self.0.open.add_permits(1);
    }

    /// Waits until a tool waits at the gate.
    pub(crate) async fn reached(&self) {
        within("a tool at the gate", self.0.reached.acquire()).await.unwrap().forget();
    }

    /// Waits until a tool that waited at the gate is gone.
    pub(crate) async fn dropped(&self) {
        within("the end of a tool at the gate", self.0.dropped.acquire()).await.unwrap().forget();
    }

    /// The number of tools that wait at the gate.
    pub(crate) fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::SeqCst)
    }

    /// The number of tools that got through.
    pub(crate) fn passed(&self) -> usize {
        self.0.done.load(Ordering::SeqCst)
    }

    /// Waits until the test lets it through.
    pub(crate) async fn pass(&self) {
        struct Waiting<'a>(&'a Gate);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.0.waiting.fetch_sub(1, Ordering::SeqCst);
                self.0.0.dropped.add_permits(1);
            }
        }
        self.0.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting(self);
        self.0.reached.add_permits(1);
        self.0.open.acquire().await.unwrap().forget();
        self.0.done.fetch_add(1, Ordering::SeqCst);
    }

    /// Passes, as a step of a flow.
    pub(crate) async fn pass_as_step(&self) -> std::io::Result<()> {
        self.pass().await;
        Ok(())
    }
}

/// Waits at the gate.
pub(crate) async fn wait(flow: Flow) -> Result<&'static str, Failure> {
    flow.state::<Gate>().pass().await;
    Ok("through")
}

/// Says something, and waits at the gate.
pub(crate) async fn talk(flow: Flow) -> Result<&'static str, Failure> {
    flow.progress(1, Some(2), "waiting").await;
    flow.state::<Gate>().pass().await;
    flow.progress(2, Some(2), "through").await;
    Ok("done")
}

/// A server with these tools.
pub(crate) fn builder(gate: &Gate) -> Builder {
    Server::builder("test", "1.0.0")
        .state(gate.clone())
        .tool(Tool::new("hello", hello))
        .tool(Tool::new("order", order))
        .tool(Tool::new("wait", wait))
        .tool(Tool::new("talk", talk))
}

pub(crate) fn server() -> Server {
    builder(&Gate::default()).build().unwrap()
}
