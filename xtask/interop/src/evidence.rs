//! Shows what is wrong with a peer by an exchange with the peer alone: no software of ours has a part in it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::faults::Fault;
use crate::matrix::Side;
use crate::peer::{PEERS, Peer};
use crate::process::{Places, Served};
use crate::script;

/// Evidence of a fault. Faults with data of their own have it in `xtask/interop/exchanges`.
pub(crate) enum Evidence {
    /// A client gets replies, and does not take one of them, although the server may send it. With another reply in its
    /// place, the scenario completes.
    Script(&'static str),
    /// A server gets answers to a tool's questions, and refuses them, although the client may send them. With others in
    /// their place, the call completes.
    Answers(&'static str),
    /// A client gets replies, and one of its requests lacks a part that it must have.
    Lacking(&'static str),
    /// A server asks for roots in the middle of a call, and not on the stream of the call.
    OtherStream,
}

/// The exchange on the wire, for the page.
pub(crate) struct Shown {
    pub(crate) sent: String,
    pub(crate) came: String,
    pub(crate) but: String,
}

/// Lets the peer show its fault once more.
pub(crate) fn show(fault: &Fault, places: &Places) -> Result<Shown> {
    let peer = PEERS.iter().find(|peer| peer.name == fault.peer).context("faults are of peers")?;
    let shown = match &fault.evidence {
        Evidence::Script(script) => script::show(&Playing { fault, peer, places }, serde_json::from_str(script)?),
        Evidence::Lacking(lacking) => {
            script::show_lack(&Playing { fault, peer, places }, serde_json::from_str(lacking)?)
        }
        Evidence::Answers(given) => show_answers(serve(fault, peer, places)?.address(), &serde_json::from_str(given)?),
        Evidence::OtherStream => show_other_stream(serve(fault, peer, places)?.address()),
    };
    shown.with_context(|| format!("{} as a {}: {}", fault.peer, fault.side.word(), fault.what))
}

/// A client that must show its fault.
pub(crate) struct Playing<'a> {
    pub(crate) fault: &'a Fault,
    pub(crate) peer: &'a Peer,
    pub(crate) places: &'a Places,
}

fn serve(fault: &Fault, peer: &Peer, places: &Places) -> Result<Served> {
    debug_assert!(fault.side == Side::Server, "a server shows its own faults");
    let said = places.folder.join(format!("shown-{}-{}.txt", peer.name.replace(' ', "-"), fault.scenario));
    Served::start(said, |address| places.command(&places.words(&peer.server, &["http", &address.port().to_string()])))
}

/// An exchange, as its file has it.
#[derive(Deserialize)]
pub(crate) struct Given {
    tool: String,
    answers: Value,
    /// Part of the server's words about them.
    refused: String,
    instead: Value,
    completes: String,
}

/// Answers the tool's questions: first in the way that the server refuses, then to its liking.
pub(crate) fn show_answers(address: SocketAddr, given: &Given) -> Result<Shown> {
    let Given { tool, answers, refused, instead, completes } = given;
    let came = answered(address, tool, answers)?;
    let error = came["error"].to_string();
    ensure!(error.contains(refused), "it takes the answers now: {came}");
    let completed = answered(address, tool, instead)?;
    let text = completed["result"]["content"][0]["text"].as_str();
    ensure!(text == Some(completes), "it does not complete with the other answers either: {completed}");
    Ok(Shown {
        sent: format!("tools/call of {tool}, with the state of its first reply and these inputResponses:\n{answers}"),
        came: error,
        but: format!("With these, the text is \"{completes}\":\n{instead}"),
    })
}

fn answered(address: SocketAddr, tool: &str, answers: &Value) -> Result<Value> {
    let asked = call(address, tool, &Value::Null)?;
    let state = &asked["result"]["requestState"];
    let mut more = json!({ "inputResponses": answers });
    if !state.is_null() {
        more["requestState"] = state.clone();
    }
    call(address, tool, &more)
}

/// Calls `mixed` in a session, answers its first question, and looks where it asks for roots.
pub(crate) fn show_other_stream(address: SocketAddr) -> Result<Shown> {
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

/// Reports each message of a stream, with the name of the stream; ends with the stream.
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

/// A reply, whose messages may still be coming.
pub(crate) struct Reply {
    pub(crate) session: Option<String>,
    lines: Lines<BufReader<TcpStream>>,
}

/// Sends a request, and reads the head of its reply.
pub(crate) fn request(address: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Result<Reply> {
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

/// The messages, as they come. Each is on a line of its own, in a body as in a stream of events, so that other lines
/// can be skipped.
impl Iterator for Reply {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let message = |line: String| serde_json::from_str(line.strip_prefix("data:").unwrap_or(&line).trim()).ok();
        self.lines.by_ref().map_while(Result::ok).filter_map(message).find(Value::is_object)
    }
}

/// A request of the modern era, and the message that answers it.
pub(crate) fn call(address: SocketAddr, tool: &str, more: &Value) -> Result<Value> {
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
