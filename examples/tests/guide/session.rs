//! A client of the legacy era, over a pipe: it begins with `initialize`, and is asked by requests.

use mrtr::prelude::*;
use mrtr::serde_json;
use mrtr::stdio::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

pub(crate) struct Session {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to_server: WriteHalf<DuplexStream>,
}

impl Session {
    /// Begins a session as a client that can be asked for forms.
    pub(crate) async fn open(server: Server, version: &str) -> Result<Self> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (from_client, to_client) = tokio::io::split(theirs);
        tokio::spawn(Stdio::new(server).over(from_client, to_client));
        let (from_server, to_server) = tokio::io::split(ours);
        let mut session = Self { lines: BufReader::new(from_server).lines(), to_server };
        let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "editor", "version": "1.0.0" } });
        session.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await?;
        assert_eq!(session.next().await?["result"]["protocolVersion"], version);
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(session)
    }

    /// Calls a tool, and gives what comes first: a question, or the result.
    pub(crate) async fn call(&mut self, tool: &str) -> Result<Value> {
        let params = json!({ "name": tool, "arguments": {} });
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await?;
        self.next().await
    }

    /// Fills in a form, and gives what comes next.
    pub(crate) async fn accept(&mut self, question: &Value, content: Value) -> Result<Value> {
        let result = json!({ "action": "accept", "content": content });
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await?;
        self.next().await
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        Ok(self.to_server.write_all(format!("{message}\n").as_bytes()).await?)
    }

    async fn next(&mut self) -> Result<Value> {
        let line = self.lines.next_line().await?.ok_or("the server has gone")?;
        Ok(serde_json::from_str(&line)?)
    }
}
