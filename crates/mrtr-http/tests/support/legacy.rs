//! A client of the legacy era over HTTP: a session, streams with event ids, and answers.

use serde_json::{Value, json};

use super::Site;
use super::message::Post;
use super::wire::{Response, Wire};

/// A client with a session.
pub(crate) struct Legacy<'a> {
    site: &'a Site,
    pub(crate) session: String,
    pub(crate) version: String,
    pub(crate) opened: Value,
    bearer: Option<String>,
}

/// A client that can be asked everything.
pub(crate) fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
}

pub(crate) fn initialize(version: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": "editor", "version": "1.0.0" });
    let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

pub(crate) fn call(id: i64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

impl<'a> Legacy<'a> {
    pub(crate) async fn open(site: &'a Site, version: &str) -> Self {
        Self::open_as(site, version, None).await
    }

    pub(crate) async fn open_as(site: &'a Site, version: &str, bearer: Option<&str>) -> Self {
        let mut post = Post::plain(initialize(version, &everything()).to_string());
        if let Some(bearer) = bearer {
            post = post.with("Authorization", &format!("Bearer {bearer}"));
        }
        let response = site.answer(&post).await;
        assert_eq!(response.status, 200, "{response:?}");
        let session = response.header("mcp-session-id").expect("a session").to_owned();
        let opened = response.json()["result"].clone();
        let version = opened["protocolVersion"].as_str().unwrap().to_owned();
        let client = Self { site, session, version, opened, bearer: bearer.map(ToOwned::to_owned) };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.send(&ready).await.status, 202);
        client
    }

    /// A message with the headers of the session.
    pub(crate) fn post(&self, message: &Value) -> Post {
        self.with_headers(Post::plain(message.to_string()))
    }

    fn with_headers(&self, post: Post) -> Post {
        let post = post.with("Mcp-Session-Id", &self.session).with("MCP-Protocol-Version", &self.version);
        match &self.bearer {
            Some(bearer) => post.with("Authorization", &format!("Bearer {bearer}")),
            None => post,
        }
    }

    pub(crate) async fn send(&self, message: &Value) -> Response {
        self.site.answer(&self.post(message)).await
    }

    /// Sends a request whose answer is a stream.
    pub(crate) async fn stream(&self, message: &Value) -> Events {
        let mut wire = self.site.connect().await;
        wire.send(self.post(message).text()).await;
        let head = wire.head().await;
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
        Events { wire, last_id: None }
    }

    /// A request without a body.
    pub(crate) fn bare(&self, method: &'static str) -> Post {
        let mut post = self.with_headers(Post::plain("")).without("Content-Type").with("Accept", "text/event-stream");
        post.method = method;
        post
    }

    /// Listens, or resumes a stream.
    pub(crate) async fn listen(&self, last_id: Option<&str>) -> Result<Events, Response> {
        let mut get = self.bare("GET");
        if let Some(id) = last_id {
            get = get.with("Last-Event-ID", id);
        }
        let mut wire = self.site.connect().await;
        wire.send(get.text()).await;
        let head = wire.head().await;
        if head.status != 200 {
            return Err(head);
        }
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Ok(Events { wire, last_id: last_id.map(ToOwned::to_owned) })
    }

    pub(crate) async fn accept(&self, question: &Value, content: &Value) {
        let result = json!({ "action": "accept", "content": content });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(self.send(&answer).await.status, 202);
    }
}

/// A stream of events.
pub(crate) struct Events {
    wire: Wire,
    pub(crate) last_id: Option<String>,
}

/// One event, by its fields.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) data: String,
}

impl Events {
    /// The next event, comments aside; `None` at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            let chunk = String::from_utf8(self.wire.chunk().await?).unwrap();
            if chunk.starts_with(':') {
                continue;
            }
            let mut event = Event::default();
            for line in chunk.strip_suffix("\n\n").expect("a whole event").lines() {
                let (field, value) = line.split_once(':').expect("a field");
                let value = value.strip_prefix(' ').unwrap_or(value);
                match field {
                    "id" => event.id = Some(value.to_owned()),
                    "retry" => event.retry = Some(value.to_owned()),
                    "data" => value.clone_into(&mut event.data),
                    "event" => assert_eq!(value, "message"),
                    other => panic!("no field of an event: {other}"),
                }
            }
            self.last_id = event.id.clone().or(self.last_id.take());
            return Some(event);
        }
    }

    /// The next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if !event.data.is_empty() {
                return Some(serde_json::from_str(&event.data).unwrap());
            }
        }
    }
}
