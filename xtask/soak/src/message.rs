//! The requests that both kinds of clients send.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::caller::Caller;

/// A POST to the endpoint: its headers, and its body. Clones share the body.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
}

impl Post {
    /// A request of the modern era, with all that its headers must say.
    pub(crate) fn modern(message: &Value) -> Self {
        let params = &message["params"];
        let name = ["name", "uri", "taskId"].into_iter().find_map(|member| params[member].as_str());
        let mut post = Self::plain(message);
        post.headers.push(("mcp-protocol-version", MODERN.to_owned()));
        post.headers.extend(message["method"].as_str().map(|method| ("mcp-method", method.to_owned())));
        post.headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        post
    }

    /// A message of the legacy era that begins a session.
    pub(crate) fn plain(message: &Value) -> Self {
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        Self { headers, body: message.to_string().into() }
    }

    /// A message of a session of the legacy era.
    pub(crate) fn in_session(session: &str, message: &Value) -> Self {
        let mut post = Self::plain(message);
        post.headers.push(("mcp-session-id", session.to_owned()));
        post.headers.push(("mcp-protocol-version", LEGACY.to_owned()));
        post
    }

    /// Adds the token of the caller that sends it, if it has one.
    pub(crate) fn by(mut self, caller: &Caller) -> Self {
        self.headers.extend(caller.token.as_ref().map(|token| ("authorization", format!("Bearer {token}"))));
        self
    }

    /// The bytes of its head for HTTP/1.1.
    pub(crate) fn head(&self) -> String {
        let mut head = String::from("POST /mcp HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.extend(["content-length: ", &self.body.len().to_string(), "\r\n\r\n"]);
        head
    }
}

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// A request of the modern era, by a client that can be asked and can follow tasks.
pub(crate) fn request(method: &str, mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": { "form": {} },
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
    });
    params["_meta"] = meta;
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    request("tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// The next round of a call: its state, and the answer to what the tool `ask` asked.
pub(crate) fn retry(mut message: Value, reply: &Value) -> Value {
    message["params"]["requestState"] = reply["result"]["requestState"].clone();
    message["params"]["inputResponses"] = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    message
}

pub(crate) fn listen(notifications: &Value) -> Value {
    request("subscriptions/listen", json!({ "notifications": notifications }))
}

/// Begins a session.
pub(crate) fn initialize(capabilities: &Value) -> Value {
    let client = json!({ "name": "soak", "version": "1.0.0" });
    let params = json!({ "protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

/// A call in a session.
pub(crate) fn session_call(id: u64, tool: &str, arguments: &Value, token: Option<&str>) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments });
    if let Some(token) = token {
        params["_meta"] = json!({ "progressToken": token });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}
