//! A question that belongs to a call, and comes on another stream than the call's.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Shown;
use super::wire::{Reply, request};

/// Calls `mixed` in a session, answers what it asks first, and looks where it asks for roots.
pub(super) fn show(address: SocketAddr) -> Result<Shown> {
    let session = begin(address)?;
    let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", VERSION)];
    let (tell, messages) = mpsc::channel();
    listen("GET", request(address, "GET", &headers, "")?, tell.clone());
    let call =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "mixed", "arguments": {} } });
    listen("call", request(address, "POST", &headers, &call.to_string())?, tell);
    loop {
        let (stream, message) = messages.recv_timeout(PATIENCE).context("it asks for no roots, on either stream")?;
        let answer = match message["method"].as_str() {
            Some("elicitation/create") => json!({ "action": "accept", "content": { "name": "octocat" } }),
            Some("sampling/createMessage") => {
                json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" }, "model": "test" })
            }
            Some("roots/list") => {
                ensure!(stream == "GET", "it asks on the stream of its call now");
                return Ok(Shown {
                    sent: format!(
                        "in a session, with a stream opened by GET\n{call}\nand answers to the two questions"
                    ),
                    came: "on the stream of the GET: a request `roots/list`, while the call waits for its answer"
                        .to_owned(),
                    but: "The other questions of the call come on the stream of the call.".to_owned(),
                });
            }
            Some(_) => continue,
            None => bail!("the call ended without asking for roots: {message}"),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer });
        drop(request(address, "POST", &headers, &answer.to_string())?);
    }
}

fn begin(address: SocketAddr) -> Result<String> {
    let params = json!({ "protocolVersion": VERSION, "clientInfo": { "name": "exchange", "version": "1" },
        "capabilities": { "elicitation": {}, "sampling": {}, "roots": {} } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
    let mut begun = request(address, "POST", &[], &body)?;
    let session = begun.session.clone().context("there is no session")?;
    begun.next().context("the session did not begin")?;
    let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", VERSION)];
    request(address, "POST", &headers, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    Ok(session)
}

/// Tells of each message of a stream, and of which stream it is; ends with the stream.
fn listen(stream: &'static str, reply: Reply, tell: Sender<(&'static str, Value)>) {
    thread::spawn(move || {
        for message in reply {
            if tell.send((stream, message)).is_err() {
                return;
            }
        }
    });
}

const VERSION: &str = "2025-11-25";
const PATIENCE: Duration = Duration::from_secs(30);
