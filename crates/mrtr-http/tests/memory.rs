//! The memory of bodies that do not end: about what the budget says, and none of it once they are gone.
//!
//! The server is this test binary again, so that nothing else is in its memory.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod support;

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body::{Body, Frame};
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mrtr_http::{Endpoint, Serve};
use mrtr_server::Server;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use support::message::{Post, request};
use support::until;
use support::wire::Wire;

/// The divisor of all defaults here, and so of the memory that the test allows.
const SCALE: usize = 8;
const BUDGET: usize = (256 << 20) / SCALE;
const CONCURRENCY: usize = 4096 / SCALE;
const CONNECTIONS: usize = 4000 / SCALE;
const SENT: usize = 100_000;
const FREE: usize = Endpoint::UNCOUNTED_BODY;
const MOST: usize = BUDGET + BUDGET * 3 / 10 + (64 << 20) / SCALE;
/// The bytes that may stay when all is over, besides those that connections without bodies leave. The allocator keeps
/// some of that; what an operator can do about it stands in the README.
const LEFT: usize = BUDGET / 8;

const SERVES: &str = "MRTR_HTTP_TEST_MEASURES_MEMORY";
const READY: &str = "serving at ";

/// Not a test but the server, when this binary is run as one.
#[test]
fn server_process() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::builder("test", "1.0.0").build().unwrap();
        // Nothing closes by itself while the test looks.
        let hour = Duration::from_hours(1);
        let endpoint = Endpoint::anonymous(server).body_budget(BUDGET).concurrency(CONCURRENCY).body_timeout(hour);
        let bound = Serve::new(endpoint).header_timeout(hour).bind("127.0.0.1:0").unwrap();
        println!("{READY}{}", bound.address().unwrap());
        // The test stops it by closing this.
        let parent = tokio::task::spawn_blocking(|| drop(std::io::stdin().lines().last()));
        bound.run(async { drop(parent.await) }).await.unwrap();
    });
}

/// A server process, killed at the end.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "server_process", "--nocapture"]).env(SERVES, "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| Some(line.unwrap().split_once(READY)?.1.to_owned()));
        Self { child, address: ready.unwrap().parse().unwrap() }
    }

    /// The memory of the process, in bytes: `VmRSS` is what it takes now, `VmHWM` the most it ever took.
    fn memory(&self, figure: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// The number of bytes that wait in the system for the server to read them.
    fn unread(&self) -> usize {
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let port = format!(":{:04X}", self.address.port());
        let queues = sockets.lines().filter_map(|line| {
            let mut columns = line.split_whitespace().skip(1);
            let (local, _, state, queues) = (columns.next()?, columns.next(), columns.next()?, columns.next()?);
            // A listening socket counts connections there.
            let is_ours = local.ends_with(&port) && state != LISTENING;
            is_ours.then(|| usize::from_str_radix(queues.split_once(':').unwrap().1, 16).unwrap())
        });
        queues.sum()
    }
}

const LISTENING: &str = "0A";

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn discover() -> Post {
    Post::of(&request("server/discover", json!({})))
}

/// The most memory that a server took while this was held, and the memory that it kept afterwards, once that is no more
/// than `enough`: the server notices clients that hang up request by request.
async fn measured<T>(enough: usize, send: impl AsyncFnOnce(SocketAddr) -> T) -> (usize, usize) {
    let server = Process::start();
    let mut wire = Wire::connect(server.address).await;
    wire.send(discover().text()).await;
    assert_eq!(wire.response().await.status, 200);
    let (before, files) = (server.memory("VmRSS"), server.files());
    let held = send(server.address).await;
    until("all is read", || server.unread() == 0).await;
    let most = server.memory("VmHWM").saturating_sub(before);
    drop(held);
    until("all connections are closed", || server.files() <= files).await;
    wire.send(discover().text()).await;
    assert_eq!(wire.response().await.status, 200);
    let left = || server.memory("VmRSS").saturating_sub(before);
    for _ in 0..500 {
        if left() <= enough {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (most, left())
}

/// Half of a body on each of many connections.
async fn half_sent(bodies: &[(&str, String)], address: SocketAddr) -> Vec<Wire> {
    let mut wires = Vec::new();
    for (framing, body) in bodies.iter().cycle().take(CONNECTIONS) {
        let mut wire = Wire::connect(address).await;
        wire.send(format!("{}{framing}\r\n\r\n{body}", discover().head())).await;
        wires.push(wire);
    }
    wires
}

/// Half of a body on each of many streams of HTTP/2, on a few connections.
async fn half_sent_on_streams(address: SocketAddr) -> JoinSet<()> {
    let sent = Arc::new(AtomicUsize::new(0));
    let mut held = JoinSet::new();
    for _ in 0..CONNECTIONS / STREAMS {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        held.spawn(async { drop(connection.await) });
        for _ in 0..STREAMS {
            let headers = discover().headers.into_iter().filter(|(name, _)| name != "Host");
            let request = Request::post("http://localhost/mcp").version(Version::HTTP_2);
            let request = headers.fold(request, |request, (name, value)| request.header(name, value));
            let body = Half { left: SENT / PIECE, ended: Arc::clone(&sent) };
            let answering = sender.send_request(request.body(body).unwrap());
            held.spawn(async { drop(answering.await) });
        }
        // Its connection goes with it.
        held.spawn(async {
            std::future::pending::<()>().await;
            drop(sender);
        });
    }
    until("all is sent, or refused", || sent.load(Ordering::SeqCst) == CONNECTIONS / STREAMS * STREAMS).await;
    held
}

const STREAMS: usize = 100;
const PIECE: usize = 10_000;

/// A body that says when half of it was sent, or when no more is wanted, and never ends.
struct Half {
    left: usize,
    ended: Arc<AtomicUsize>,
}

impl Body for Half {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Pending;
        }
        self.left -= 1;
        if self.left == 0 {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; PIECE])))))
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        if self.left > 0 {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Returns true if this system can measure memory and sockets.
fn can_measure() -> bool {
    let can =
        std::fs::exists("/proc/self/status").unwrap_or(false) && std::fs::exists("/proc/net/tcp").unwrap_or(false);
    if !can {
        println!("left out: there is no /proc to read the memory of a process from");
    }
    can
}

#[tokio::test]
async fn ht_8_half_sent_bodies_take_what_the_budget_says_and_give_it_back() {
    if !can_measure() {
        return;
    }
    let chunk = |size: usize| format!("{size:x}\r\n{}\r\n", " ".repeat(size));
    let length = |size: usize| ("Content-Length: 4000000", " ".repeat(size));
    let chunks = |size: usize, count: usize| ("Transfer-Encoding: chunked", chunk(size).repeat(count));
    let shapes = [
        vec![length(SENT)],
        vec![chunks(1000, SENT / 1000)],
        // As many as there may be, and as much as there may be.
        vec![length(BUDGET / CONNECTIONS)],
        // Most do not count, and a few take all the rest.
        [vec![length(3_900_000)], vec![length(FREE - 200); 60]].concat(),
        // Just over what does not count.
        vec![length(FREE + 100), chunks(FREE + 100, 1)],
    ];
    let (_, without) = measured(usize::MAX, async |address| half_sent(&[length(0)], address).await).await;
    let enough = without + LEFT;
    let fits = |what: &str, (most, left): (usize, usize)| {
        let shown = format!("{what}: {most} bytes at most, {left} bytes left");
        println!("{shown}");
        assert!(most <= MOST, "{shown}; there may be {MOST}");
        assert!(left <= enough, "{shown}; without bodies, {without} are");
    };
    for shape in &shapes {
        let (framing, body) = &shape[0];
        let what = format!("{framing}, {} bytes", body.len());
        fits(&what, measured(enough, async |address| half_sent(shape, address).await).await);
    }
    fits("HTTP/2", measured(enough, half_sent_on_streams).await);
}

/// Heads of many streams of HTTP/2, on a few connections, whose bodies do not come. A header of 3000 bytes is said once
/// on each connection; from then on, a byte stands for it.
async fn short_for_long_heads(name: &str, address: SocketAddr) -> Vec<Wire> {
    let mut wires = Vec::new();
    for _ in 0..CONNECTIONS / STREAMS {
        let mut frames = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]].concat();
        for stream in 0..STREAMS {
            let mut head = vec![POST, HTTP];
            for (indexed_name, value) in [(PATH, "/mcp"), (AUTHORITY, "localhost")] {
                head.push(indexed_name);
                text(&mut head, value);
            }
            for (name, value) in discover().headers.into_iter().filter(|(name, _)| name != "Host") {
                head.push(NOT_INDEXED);
                text(&mut head, &name.to_lowercase());
                text(&mut head, &value);
            }
            if stream == 0 {
                head.push(INDEXED_FROM_NOW_ON);
                text(&mut head, name);
                text(&mut head, &"x".repeat(3000));
            }
            head.extend([LAST_INDEXED; 19]);
            frames.extend(&u32::try_from(head.len()).unwrap().to_be_bytes()[1..]);
            frames.extend([HEADERS, END_HEADERS]);
            frames.extend(u32::try_from(2 * stream + 1).unwrap().to_be_bytes());
            frames.extend(head);
        }
        let mut wire = Wire::connect(address).await;
        wire.send(frames).await;
        wires.push(wire);
    }
    wires
}

// Frames of HTTP/2 (RFC 9113, 6).
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_HEADERS: u8 = 4;
// Header fields (RFC 7541, 6 and appendix A).
const POST: u8 = 0x83;
const HTTP: u8 = 0x86;
const PATH: u8 = 4;
const AUTHORITY: u8 = 1;
const NOT_INDEXED: u8 = 0;
const INDEXED_FROM_NOW_ON: u8 = 0x40;
const LAST_INDEXED: u8 = 0x80 + 62;

/// A text in a head, with its length before it (RFC 7541, 5).
fn text(head: &mut Vec<u8>, text: &str) {
    match text.len().checked_sub(127) {
        None => head.push(u8::try_from(text.len()).unwrap()),
        Some(mut rest) => {
            head.push(127);
            while rest >= 128 {
                head.push(u8::try_from(rest % 128).unwrap() | 0x80);
                rest /= 128;
            }
            head.push(u8::try_from(rest).unwrap());
        }
    }
    head.extend(text.bytes());
}

/// A head counts as its body does, and so does what a few bytes of HTTP/2 make of a header that was sent before.
#[tokio::test]
async fn ht_8_long_heads_take_what_the_budget_says() {
    if !can_measure() {
        return;
    }
    for name in ["x-long", "mcp-param-long"] {
        let fits = |what: &str, (most, left): (usize, usize)| {
            let shown = format!("{what}, {name}: {most} bytes at most, {left} bytes left");
            println!("{shown}");
            assert!(most <= MOST, "{shown}; there may be {MOST}");
        };
        let head = format!("{name}: {}\r\nContent-Length: 1000000", "x".repeat(60_000));
        let enough = MOST / 4;
        for (what, body) in [("HTTP/1", 1), ("HTTP/1 with a body", 60_000)] {
            let bodies = [(&*head, " ".repeat(body))];
            fits(what, measured(enough, async |address| half_sent(&bodies, address).await).await);
        }
        fits("HTTP/2", measured(enough, async |address| short_for_long_heads(name, address).await).await);
    }
}
