//! Clients of the tour: one that reaches its server over real HTTP, through a balancer that can be pointed elsewhere,
//! with every message written down; one behind a relay that loses a reply; and one of the legacy era.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use mrtr::client::{
    ObservedTransport, ServerMessage, ServerNotification, Transport, TransportError, TransportRequest,
    TransportResponse, WireMessage,
};
use mrtr::schema::Printable;
use mrtr::{Client, HttpTransport, client};
use reqwest::{RequestBuilder, Response};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::recording::{Actor, Event, Recording};

/// A server and its address.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) at: Actor,
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
}

impl Instance {
    pub(crate) fn new(at: Actor, address: SocketAddr) -> Self {
        Self { at, address, url: format!("http://{address}{}", mrtr::http::PATH) }
    }

    /// Returns true if nothing listens there any more. A connection may then be made from the very port that it goes
    /// to, and meet itself.
    pub(crate) async fn is_gone(&self) -> bool {
        let connected = TcpStream::connect(self.address).await;
        !connected.is_ok_and(|stream| stream.local_addr().is_ok_and(|local| local != self.address))
    }
}

/// Stands between a client and the instances of a server, as a balancer does: the client knows one server.
#[derive(Clone)]
pub(crate) struct Balancer {
    client: Actor,
    name: String,
    recording: Recording,
    target: Arc<Mutex<Target>>,
}

#[derive(Clone)]
struct Target {
    at: Actor,
    transport: Arc<dyn Transport>,
}

impl Balancer {
    pub(crate) fn new(client: Actor, first: &Instance, recording: Recording) -> Result<Self> {
        let target = Arc::new(Mutex::new(target(client, first, recording.clone())?));
        Ok(Self { client, name: first.url.clone(), recording, target })
    }

    /// Begins a client that talks to this.
    pub(crate) fn client(&self) -> client::Builder {
        Client::builder(self.clone()).info("mrtr-tour", env!("CARGO_PKG_VERSION"))
    }

    /// Sends the next messages to another instance.
    pub(crate) fn point_to(&self, instance: &Instance) -> Result<()> {
        let target = target(self.client, instance, self.recording.clone())?;
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
        Ok(())
    }
}

/// Reaches an instance over HTTP, and records each message on the wire.
fn target(client: Actor, instance: &Instance, recording: Recording) -> Result<Target> {
    let at = instance.at;
    let observed =
        ObservedTransport::new(HttpTransport::new(&instance.url)?, move |seen: WireMessage<'_>| match seen {
            WireMessage::Request(text) | WireMessage::OneWay(text) => recording.message(client, at, text),
            WireMessage::Response(text) => recording.message(at, client, text),
            WireMessage::Notification(notification) => recording.message(at, client, &text_of(notification)),
            // The tour's servers are modern, and ask in their responses; the exchange notes failures itself.
            WireMessage::Question(_) | WireMessage::Failure(_) => {}
        });
    Ok(Target { at, transport: Arc::new(observed) })
}

/// Writes a notification as it came: the client has parsed it.
fn text_of(notification: &ServerNotification) -> String {
    let params: &RawValue = notification.params.as_raw();
    format!(r#"{{"jsonrpc":"2.0","method":{:?},"params":{params}}}"#, notification.method)
}

#[async_trait]
impl Transport for Balancer {
    fn server(&self) -> &str {
        &self.name
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let Target { at, transport } = self.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let exchanged = transport.exchange(request, on_message).await;
        if let Err(error) = &exchanged {
            let why = Printable::line(&error.to_string()).to_string();
            self.recording.add(Event::Lost { from: at, to: self.client, why });
        }
        exchanged
    }
}

impl fmt::Debug for Balancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balancer").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Passes bytes between clients and one server, until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    cuts: Arc<AtomicBool>,
    /// Aborted with the relay.
    _relaying: JoinSet<()>,
}

impl Relay {
    pub(crate) async fn to(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, cuts) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let mut relaying = JoinSet::new();
        relaying.spawn(accept(listener, server, Arc::clone(&cuts)));
        Ok(Self { address, cuts, _relaying: relaying })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Loses the next reply: the relay closes its connection when the server has sent it.
    pub(crate) fn cut_next_reply(&self) {
        self.cuts.store(true, Ordering::SeqCst);
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, cuts: Arc<AtomicBool>) {
    // Dropping this closes every connection when the task is aborted.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let cuts = Arc::clone(&cuts);
        connections.spawn(async move { drop(connect(client, server, &cuts).await) });
    }
}

async fn connect(mut client: TcpStream, server: SocketAddr, cuts: &AtomicBool) -> io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let replies = async {
        let mut bytes = vec![0; 16 * 1024];
        loop {
            let read = from_server.read(&mut bytes).await?;
            if read == 0 || cuts.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            to_client.write_all(&bytes[..read]).await?;
        }
    };
    // Whichever side ends first ends both.
    tokio::select! {
        copied = tokio::io::copy(&mut from_client, &mut to_server) => copied.map(drop),
        ended = replies => ended,
    }
}

/// A client with a session of 2025-11-25.
pub(crate) struct LegacyClient {
    http: reqwest::Client,
    who: Actor,
    server: Instance,
    session: String,
    recording: Recording,
}

impl LegacyClient {
    /// Opens a session.
    pub(crate) async fn open(who: Actor, server: &Instance, recording: Recording) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let mut client = Self { http, who, server: server.clone(), session: String::new(), recording };
        let info = json!({ "name": "a-client-of-2025", "version": "1.0.0" });
        let params = json!({ "protocolVersion": VERSION, "capabilities": { "elicitation": {} }, "clientInfo": info });
        let response = client.send(&request(1, "initialize", &params)).await?;
        let session = response.headers().get("mcp-session-id").context("there is no session")?;
        session.to_str()?.clone_into(&mut client.session);
        let opened = Messages::of(response).next().await?;
        client.seen(&opened.context("there is no reply")?)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()).await?;
        Ok(client)
    }

    /// Calls a tool, fills in the forms that it asks for, and returns its text.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: &Value,
        answer: impl Fn(&str) -> Value,
    ) -> Result<String> {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut messages = Messages::of(self.send(&request(2, "tools/call", &params)).await?);
        while let Some(text) = messages.next().await? {
            let message = self.seen(&text)?;
            match message["method"].as_str() {
                Some("elicitation/create") => {
                    let content = answer(message["params"]["message"].as_str().unwrap_or_default());
                    let result = json!({ "action": "accept", "content": content });
                    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                    self.send(&answer.to_string()).await?;
                }
                // The client did not ask for it, and it wants no answer.
                Some(_) => {}
                None => {
                    let text = message["result"]["content"][0]["text"].as_str();
                    return text.map(str::to_owned).with_context(|| format!("there is no text in {message}"));
                }
            }
        }
        bail!("the stream ended before its result")
    }

    /// Ends the session.
    pub(crate) async fn close(self) -> Result<()> {
        self.with_session(self.http.delete(&self.server.url)).send().await?.error_for_status()?;
        Ok(())
    }

    /// Records a message of the server, and parses it.
    fn seen(&self, text: &str) -> Result<Value> {
        self.recording.message(self.server.at, self.who, text);
        Ok(serde_json::from_str(text)?)
    }

    async fn send(&self, text: &str) -> Result<Response> {
        self.recording.message(self.who, self.server.at, text);
        let post = self.http.post(&self.server.url).header("Content-Type", "application/json");
        let post = post.header("Accept", "application/json, text/event-stream").body(text.to_owned());
        Ok(self.with_session(post).send().await?.error_for_status()?)
    }

    fn with_session(&self, request: RequestBuilder) -> RequestBuilder {
        if self.session.is_empty() {
            return request;
        }
        request.header("Mcp-Session-Id", &self.session).header("MCP-Protocol-Version", VERSION)
    }
}

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// The messages in a response: one, or those of a stream of events.
struct Messages {
    response: Response,
    is_stream: bool,
    unread: Vec<u8>,
    read: usize,
}

impl Messages {
    fn of(response: Response) -> Self {
        let kind = response.headers().get("content-type").map(|kind| kind.as_bytes().to_vec()).unwrap_or_default();
        let is_stream = kind.starts_with(b"text/event-stream");
        Self { response, is_stream, unread: Vec::new(), read: 0 }
    }

    /// The next message; `None` at the end.
    async fn next(&mut self) -> Result<Option<String>> {
        loop {
            if self.is_stream
                && let Some(event) = self.event()
            {
                match data_of(&event) {
                    Some(data) => return Ok(Some(data)),
                    None => continue,
                }
            }
            match self.response.chunk().await? {
                Some(bytes) => {
                    self.read += bytes.len();
                    anyhow::ensure!(self.read <= LONGEST, "the response is too long");
                    self.unread.extend_from_slice(&bytes);
                }
                None if self.is_stream || self.unread.is_empty() => return Ok(None),
                None => return Ok(Some(String::from_utf8(std::mem::take(&mut self.unread))?)),
            }
        }
    }

    /// Takes an event that has come whole: it ends with an empty line.
    fn event(&mut self) -> Option<String> {
        let end = self.unread.windows(2).position(|two| two == b"\n\n")?;
        let event: Vec<u8> = self.unread.drain(..end + 2).collect();
        Some(String::from_utf8_lossy(&event).into_owned())
    }
}

/// The data of an event, if it has any.
fn data_of(event: &str) -> Option<String> {
    let data: Vec<_> = event.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start).collect();
    let data = data.join("\n");
    (!data.is_empty()).then_some(data)
}

const VERSION: &str = "2025-11-25";
/// The longest response that is read, in bytes.
const LONGEST: usize = 1 << 20;
