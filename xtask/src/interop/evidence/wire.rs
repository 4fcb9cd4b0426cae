//! As much of HTTP as an exchange needs: a request by hand, and the messages of its reply.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A reply, whose messages may still be coming.
pub(super) struct Reply {
    pub(super) session: Option<String>,
    lines: Lines<BufReader<TcpStream>>,
}

/// Sends a request, and reads the head of its reply.
pub(super) fn request(address: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = format!("{method} /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    head += "Accept: application/json, text/event-stream\r\n";
    if !body.is_empty() {
        write!(head, "Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())?;
    }
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n")?;
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
    let mut lines = BufReader::new(stream).lines();
    let mut session = None;
    for line in lines.by_ref() {
        let line = line.context("the head of the reply did not come")?;
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("mcp-session-id") => {
                session = Some(value.trim().to_owned());
            }
            None if line.is_empty() => break,
            _ => {}
        }
    }
    Ok(Reply { session, lines })
}

/// The messages, as they come. Each is on a line of its own, in a body as in a stream of events, so that what frames them
/// can be passed over.
impl Iterator for Reply {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let message = |line: String| serde_json::from_str(line.strip_prefix("data:").unwrap_or(&line).trim()).ok();
        self.lines.by_ref().map_while(Result::ok).filter_map(message).find(Value::is_object)
    }
}

/// A request of the modern era, and the message that answers it.
pub(super) fn call(address: SocketAddr, tool: &str, more: &Value) -> Result<Value> {
    let mut params = json!({ "name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "exchange", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} }, "sampling": {}, "roots": {} },
    } });
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    request(address, "POST", &headers, &body)?.next().context("there was no reply")
}

const PATIENCE: Duration = Duration::from_secs(30);
