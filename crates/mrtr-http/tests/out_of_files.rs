//! A server that may have few files open: connections that it has none for wait, and are served when others close.
//!
//! The server is this test binary again, started by a shell that lowers its limit.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod support;

use std::fmt::{Debug, Write};
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use support::message::{Post, call};
use support::wire::Wire;

const FILES: usize = 32;
const SERVES: &str = "MRTR_HTTP_TEST_HAS_FEW_FILES";

async fn hello(_: Flow) -> Result<&'static str, Failure> {
    Ok("Hello")
}

/// Not a test but the server, when this binary is run as one.
#[test]
fn server_process() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    tracing::subscriber::set_global_default(Warnings).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::builder("test", "1.0.0").tool(Tool::new("hello", hello)).build().unwrap();
        // Nothing closes by itself while the test looks.
        let serve = Serve::new(Endpoint::anonymous(server)).header_timeout(Duration::from_hours(1));
        let bound = serve.bind("127.0.0.1:0").unwrap();
        println!("{READY}{}", bound.address().unwrap());
        // The test stops it by closing this.
        let parent = tokio::task::spawn_blocking(|| drop(std::io::stdin().lines().last()));
        bound.run(async { drop(parent.await) }).await.unwrap();
    });
}

const READY: &str = "serving at ";

/// A server process, killed at the end.
struct Process {
    child: Child,
    address: SocketAddr,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {FILES}; exec \"$0\" --exact server_process --nocapture")]);
        command.arg(std::env::current_exe().unwrap()).env(SERVES, "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| Some(line.unwrap().split_once(READY)?.1.to_owned()));
        Self { child, address: ready.unwrap().parse().unwrap(), lines }
    }

    /// Waits until the server says this.
    fn says(&mut self, text: &str) {
        self.lines.find(|line| line.as_ref().unwrap().contains(text)).unwrap().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn ht_8_a_server_without_files_serves_again_when_connections_close() {
    let mut server = Process::start();
    let post = Post::of(&call("hello", json!({}))).text();
    let mut wires = Vec::new();
    for _ in 0..2 * FILES {
        let mut wire = Wire::connect(server.address).await;
        wire.send(&post).await;
        wires.push(wire);
    }
    // `EMFILE` has this number everywhere.
    server.says("(os error 24)");
    // The first ones are answered and hold all the files there are, until one after the other goes.
    for mut wire in wires {
        assert_eq!(wire.response().await.status, 200);
    }
    let mut wire = Wire::connect(server.address).await;
    wire.send(&post).await;
    assert_eq!(wire.response().await.status, 200);
}

/// Prints each warning as a line.
struct Warnings;

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        println!("{}", fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
