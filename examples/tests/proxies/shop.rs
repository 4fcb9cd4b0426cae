//! The instances behind a proxy: one that serves, and one that dies of each request.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr::prelude::*;
use mrtr_fixtures::Program;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

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
        let bound = Serve::new(endpoint).probes().bind("127.0.0.1:0").unwrap();
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

/// The page's own server as a process, whose tool `export` is done at once.
pub(crate) struct Deployed {
    /// `None` while it is replaced.
    program: Option<Program>,
    address: SocketAddr,
    notice: Duration,
}

impl Deployed {
    pub(crate) fn start(notice: Duration) -> Self {
        let program = Program::start(DRAINING, |command, address| set(command, address, notice));
        Self { address: program.address(), program: Some(program), notice }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it as a platform does, and starts another at its address.
    pub(crate) fn replace(&mut self) {
        let program = self.program.take().unwrap();
        program.terminate();
        let (status, printed) = program.wait();
        assert!(status.success(), "{status}: {printed}");
        let mut command = Command::new(DRAINING);
        set(&mut command, self.address, self.notice);
        self.program = Some(Program::start_at(self.address, command));
    }
}

fn set(command: &mut Command, address: SocketAddr, notice: Duration) {
    command.env("SHOP_ADDRESS", address.to_string()).env("SHOP_NOTICE_MS", notice.as_millis().to_string());
    command.env("MRTR_STATE_KEYS", "shop=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").env("WAREHOUSE_MS", "5");
}

const DRAINING: &str = env!("CARGO_BIN_EXE_draining");

/// An instance that answers probes, and closes its connection without a word when it has read the head of a call.
pub(crate) struct Dying {
    address: SocketAddr,
    heard: watch::Receiver<Heard>,
}

/// The number of requests that arrived.
#[derive(Default)]
struct Heard {
    calls: usize,
    probes: usize,
}

impl Dying {
    /// Listens, and answers probes with this status.
    pub(crate) async fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (record, heard) = watch::channel(Heard::default());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, status, record.clone()));
            }
        });
        Self { address, heard }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn calls(&self) -> usize {
        self.heard.borrow().calls
    }

    /// Waits until it was asked so often whether it is ready.
    pub(crate) async fn until_probed(&self, times: usize) {
        let mut heard = self.heard.clone();
        let asked = timeout(Duration::from_secs(10), heard.wait_for(|heard| heard.probes >= times)).await;
        drop(asked.expect("it is asked in time").unwrap());
    }
}

/// Reads the head of a request, and answers it if it is a probe.
async fn answer(stream: TcpStream, status: &str, record: watch::Sender<Heard>) {
    let mut lines = BufReader::new(stream).lines();
    let Ok(Some(first)) = lines.next_line().await else { return };
    while lines.next_line().await.is_ok_and(|line| line.is_some_and(|line| !line.is_empty())) {}
    if first.starts_with("POST ") {
        return record.send_modify(|heard| heard.calls += 1);
    }
    let reply = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    drop(lines.into_inner().write_all(reply.as_bytes()).await);
    record.send_modify(|heard| heard.probes += 1);
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
