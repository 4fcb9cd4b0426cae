//! The other end of a server's streams, with nothing but lines.

use std::time::Duration;

use mrtr_server::Server;
use mrtr_stdio::Stdio;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;

pub(crate) struct Peer {
    pub(crate) read: BufReader<DuplexStream>,
    pub(crate) write: DuplexStream,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
}

impl Peer {
    /// A peer of this server, over pipes that hold so much.
    pub(crate) fn of(stdio: Stdio, pipe: usize) -> Self {
        let (write, input) = tokio::io::duplex(pipe);
        let (output, read) = tokio::io::duplex(pipe);
        let serving = tokio::spawn(stdio.over(input, output));
        Self { read: BufReader::new(read), write, serving }
    }

    pub(crate) fn new(server: Server) -> Self {
        Self::of(Stdio::new(server), 1 << 20)
    }

    pub(crate) async fn say(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.say(&message.to_string()).await;
    }

    /// The next message.
    pub(crate) async fn hear(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.read.read_line(&mut line)).await.expect("something is said");
        assert_ne!(read.unwrap(), 0, "the output has ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Ends the server's input, and returns what is left of its output.
    pub(crate) async fn end(mut self) -> String {
        self.write.shutdown().await.unwrap();
        let mut rest = String::new();
        tokio::time::timeout(PATIENCE, self.read.read_to_string(&mut rest)).await.expect("it ends").unwrap();
        self.serving.await.unwrap().unwrap();
        rest
    }
}

/// A request of the published revision.
pub(crate) fn request(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub(crate) fn call(id: impl Into<Value>, tool: &str) -> Value {
    request(id, "tools/call", json!({ "name": tool, "arguments": {} }))
}

pub(crate) fn cancelled(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id.into() } })
}

/// The time that a test waits for what must come: far longer than it takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
