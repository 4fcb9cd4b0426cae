//! The instances behind a proxy: one that serves, and one that dies of each request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr::prelude::*;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

#[data]
struct Confirmed {
    yes: bool,
}

/// As long as a test wants it.
#[data]
struct Greeting {
    text: Option<String>,
}

/// The state of the handlers.
#[derive(Clone)]
struct Counter {
    hellos: Arc<AtomicUsize>,
    /// Each permit ends a report.
    reports: Arc<Semaphore>,
}

async fn pay(flow: Flow) -> Result<String> {
    let Confirmed { yes } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    Ok(if yes { "Paid" } else { "Nothing was paid" }.into())
}

#[expect(clippy::unused_async, reason = "a handler is async")]
async fn hello(flow: Flow, greeting: Greeting) -> Result<String> {
    flow.state::<Counter>().hellos.fetch_add(1, Ordering::Relaxed);
    Ok(format!("Hello, {} bytes", greeting.text.map_or(0, |text| text.len())))
}

async fn report(flow: Flow) -> Result<String> {
    flow.progress(1, Some(2), "halfway").await;
    flow.state::<Counter>().reports.acquire().await?.forget();
    Ok("Reported".into())
}

/// An instance that serves until this value is dropped.
pub(crate) struct Shop {
    address: SocketAddr,
    counter: Counter,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Shop {
    /// Serves at `/mcp`, under the name that clients have for the proxy.
    pub(crate) fn start(set: impl FnOnce(Endpoint) -> Endpoint) -> Self {
        let counter = Counter { hellos: Arc::default(), reports: Arc::new(Semaphore::new(0)) };
        let server = Server::builder("shop", "1.0.0").state(counter.clone()).tool(Tool::new("pay", pay));
        let server = server.tool(Tool::new("hello", hello)).tool(Tool::new("report", report)).build().unwrap();
        let endpoint = set(Endpoint::anonymous(server).allow_host("mcp.example.com"));
        let bound = Serve::new(endpoint).bind("127.0.0.1:0").unwrap();
        let address = bound.address().unwrap();
        Self { address, counter, serving: tokio::spawn(bound.run(std::future::pending())) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn hellos(&self) -> usize {
        self.counter.hellos.load(Ordering::Relaxed)
    }

    /// Lets a report end.
    pub(crate) fn finish_report(&self) {
        self.counter.reports.add_permits(1);
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An instance that reads the head of each request, and then closes its connection without a word.
pub(crate) struct Dying {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl Dying {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
        let counted = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if has_head(stream).await {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self { address, requests }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Returns true once a head of a request has arrived, with the line that ends it.
async fn has_head(stream: TcpStream) -> bool {
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.is_empty() {
            return true;
        }
    }
    false
}

/// A call of a tool, whose reply may be a stream.
pub(crate) fn call(tool: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "watched",
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": {}, "_meta": meta } })
}
