//! A load on a server: connections that each send one request after the other.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// The result of a load.
pub(crate) struct Load {
    /// Replies a second.
    pub(crate) rate: f64,
    /// The time that each reply took, shortest first.
    pub(crate) latencies: Vec<Duration>,
}

/// Sends a request once, and returns the body of its reply.
pub(crate) async fn ask(address: SocketAddr, request: &[u8]) -> Result<String> {
    let mut connection = Connection::open(address).await?;
    let body = connection.exchange(request).await?;
    String::from_utf8(connection.buffer[body].to_vec()).context("the reply is no text")
}

/// Open connections that have had one reply each.
pub(crate) struct Loader {
    runtime: tokio::runtime::Runtime,
    connections: Vec<Connection>,
    request: Rc<[u8]>,
}

impl Loader {
    pub(crate) fn open(address: SocketAddr, connections: usize, request: &[u8]) -> Result<Self> {
        let runtime = runtime()?;
        let connections = runtime.block_on(async {
            let mut open = Vec::with_capacity(connections);
            for _ in 0..connections {
                let mut connection = Connection::open(address).await?;
                connection.exchange(request).await?;
                open.push(connection);
            }
            anyhow::Ok(open)
        })?;
        Ok(Self { runtime, connections, request: request.into() })
    }

    /// Keeps every connection busy for this long.
    pub(crate) fn run(self, window: Duration) -> Result<Load> {
        let Self { runtime, connections, request } = self;
        let local = LocalSet::new();
        let end = Instant::now() + window;
        let busy: Vec<_> = connections
            .into_iter()
            .map(|mut connection| {
                let request = Rc::clone(&request);
                local.spawn_local(async move { connection.keep_busy(&request, end).await })
            })
            .collect();
        local.spawn_local(stay_awake());
        let mut latencies = Vec::new();
        runtime.block_on(local.run_until(async {
            for connection in busy {
                latencies.extend(connection.await??);
            }
            anyhow::Ok(())
        }))?;
        latencies.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "nothing serves that many requests")]
        let rate = latencies.len() as f64 / window.as_secs_f64();
        Ok(Load { rate, latencies })
    }
}

/// Connections that stay open for many requests, each different.
pub(crate) struct Lines {
    runtime: tokio::runtime::Runtime,
    connections: Vec<Connection>,
}

impl Lines {
    pub(crate) fn open(address: SocketAddr, connections: usize) -> Result<Self> {
        let runtime = runtime()?;
        let connections = runtime.block_on(async {
            let mut open = Vec::with_capacity(connections);
            for _ in 0..connections {
                open.push(Connection::open(address).await?);
            }
            anyhow::Ok(open)
        })?;
        Ok(Self { runtime, connections })
    }

    /// Sends each request once, over any connection that is free. Every reply must have this mark.
    pub(crate) fn send(
        &mut self,
        requests: impl Iterator<Item = Vec<u8>> + 'static,
        mark: &'static str,
        within: Duration,
    ) -> Result<()> {
        let local = LocalSet::new();
        let requests = Rc::new(RefCell::new(requests));
        let end = Instant::now() + within;
        let busy: Vec<_> = std::mem::take(&mut self.connections)
            .into_iter()
            .map(|mut connection| {
                let requests = Rc::clone(&requests);
                local.spawn_local(async move {
                    loop {
                        let Some(request) = requests.borrow_mut().next() else { return Ok(connection) };
                        let body = connection.exchange(&request).await?;
                        let reply = str::from_utf8(&connection.buffer[body])?;
                        ensure!(reply.contains(mark), "the server answered {reply}");
                        ensure!(Instant::now() < end, "the server takes too long");
                    }
                })
            })
            .collect();
        self.runtime.block_on(local.run_until(async {
            for connection in busy {
                self.connections.push(connection.await??);
            }
            Ok(())
        }))
    }
}

/// Looks for replies all the time. A server that sends to a sleeping load must wake it, on another core, and that can
/// take longer than the reply did. Clients on other machines cost a server nothing like it.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_io().build()?)
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 << 10) })
    }

    /// Sends requests one after the other. Replies that come after the end do not count.
    async fn keep_busy(&mut self, request: &[u8], end: Instant) -> Result<Vec<Duration>> {
        let mut latencies = Vec::with_capacity(1 << 12);
        let mut begun = Instant::now();
        loop {
            self.exchange(request).await?;
            let answered = Instant::now();
            if answered >= end {
                return Ok(latencies);
            }
            latencies.push(answered - begun);
            begun = answered;
        }
    }

    /// Sends the request, reads one whole reply, and returns the place of its body.
    async fn exchange(&mut self, request: &[u8]) -> Result<std::ops::Range<usize>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await?;
            ensure!(read > 0, "the server closed the connection");
            if let Some(body) = body_of(&self.buffer)? {
                return Ok(body);
            }
        }
    }
}

/// Finds the body of a reply, if all of it is there.
fn body_of(reply: &[u8]) -> Result<Option<std::ops::Range<usize>>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(start) = head.parse(reply)? else { return Ok(None) };
    if head.code != Some(200) {
        bail!("the server answered {}", String::from_utf8_lossy(reply));
    }
    let header = |name: &str| head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    if let Some(length) = header("content-length") {
        let end = start + str::from_utf8(length.value)?.parse::<usize>()?;
        return Ok((reply.len() >= end).then_some(start..end));
    }
    Ok(reply[start..].ends_with(b"0\r\n\r\n").then_some(start..reply.len()))
}
