//! Helpers that the tests share: a server on a socket, HTTP as bytes, and messages.

#![allow(dead_code, reason = "no test uses all of it")]

pub(crate) mod legacy;
pub(crate) mod message;
pub(crate) mod scripted;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_server::Server;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Waits for something that comes at once, or fails: a test must not hang.
pub(crate) async fn within<F: Future>(what: &str, waiting: F) -> F::Output {
    tokio::time::timeout(WATCHDOG, waiting).await.unwrap_or_else(|_| panic!("this never came: {what}"))
}

/// Waits until a condition holds, or fails.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(what, waiting).await;
}

/// Shorter than any time that the server itself waits for, such as a claim's 30 seconds.
const WATCHDOG: Duration = Duration::from_secs(20);

/// A server on a socket of this machine.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<std::io::Result<()>>,
}

impl Site {
    pub(crate) fn start(serve: Serve) -> Self {
        let bound = serve.bind("127.0.0.1:0").unwrap();
        let address = bound.address().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(bound.run(async { drop(stopped.await) }));
        Self { address, stop, running }
    }

    /// Starts a server with all defaults.
    pub(crate) fn of(server: Server) -> Self {
        Self::start(Serve::new(Endpoint::anonymous(server)))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Tells the server to stop, and returns a handle to wait for its end.
    pub(crate) fn stop(self) -> JoinHandle<std::io::Result<()>> {
        let _ = self.stop.send(());
        self.running
    }

    pub(crate) async fn connect(&self) -> wire::Wire {
        wire::Wire::connect(self.address).await
    }

    /// The response to one request, on a connection of its own.
    pub(crate) async fn answer(&self, post: &message::Post) -> wire::Response {
        let mut wire = self.connect().await;
        wire.send(post.text()).await;
        wire.response().await
    }
}
