//! A server that says what a test has it say.

use std::time::Duration;

use mrtr_client::{Builder, Client};
use mrtr_schema::Revision;
use mrtr_stdio::StdioTransport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

pub(crate) struct ScriptedServer {
    read: BufReader<DuplexStream>,
    write: DuplexStream,
}

impl ScriptedServer {
    /// Creates the server, and a client of it that speaks the modern era and is not built yet.
    pub(crate) fn new() -> (Self, Builder) {
        let (server, client) = Self::of_either_era();
        (server, client.revision(Revision::V2026_07_28))
    }

    /// Creates the server, and a client of it that has to find out its era first.
    pub(crate) fn of_either_era() -> (Self, Builder) {
        let (write, stdout) = tokio::io::duplex(1 << 16);
        let (stdin, read) = tokio::io::duplex(1 << 16);
        let transport = StdioTransport::over("scripted", stdout, stdin);
        (Self { read: BufReader::new(read), write }, Client::builder(transport))
    }

    /// The next message of the client; `None` if there are no more.
    pub(crate) async fn try_hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.read.read_line(&mut line)).await.expect("something is said");
        (read.unwrap() > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn hear(&mut self) -> Value {
        self.try_hear().await.expect("the client has not gone")
    }

    pub(crate) async fn say(&mut self, line: impl ToString) {
        self.write.write_all(format!("{}\n", line.to_string()).as_bytes()).await.unwrap();
    }

    /// Responds with a text.
    pub(crate) async fn respond(&mut self, id: &Value, text: &str) {
        self.say(response(id, text)).await;
    }
}

/// A response with this text.
pub(crate) fn response(id: &Value, text: &str) -> Value {
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": {
        "resultType": "complete", "content": [{ "type": "text", "text": text }],
    } })
}

/// The time that a test waits for what must come: far longer than it takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
