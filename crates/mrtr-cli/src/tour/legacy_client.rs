//! A client of the legacy era, by hand: a session over plain HTTP, with nothing of ours in it.

use anyhow::{Context, Result, bail};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use super::balancer::Instance;
use super::recording::{Actor, Recording};

/// A client with a session of 2025-11-25.
pub(crate) struct LegacyClient {
    http: Client,
    who: Actor,
    server: Instance,
    session: String,
    recording: Recording,
}

impl LegacyClient {
    /// Opens a session.
    pub(crate) async fn open(who: Actor, server: &Instance, recording: Recording) -> Result<Self> {
        let http = Client::builder().no_proxy().build()?;
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

    /// Calls a tool, answers the forms that it asks to be filled in, and gives its text.
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
                // Not asked for, and no answer is wanted.
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

    /// Writes down what the server sent, and reads it.
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

    /// An event that has come whole: it ends with an empty line.
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
