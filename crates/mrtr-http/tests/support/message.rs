//! Requests as they should be, and ways to spoil them.

use serde_json::{Value, json};

/// An HTTP request.
#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Post {
    /// A message with all that its headers must say.
    pub(crate) fn of(message: &Value) -> Self {
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mut post = Self::plain(message.to_string());
        let claims = [
            ("MCP-Protocol-Version", text("/params/_meta/io.modelcontextprotocol~1protocolVersion")),
            ("Mcp-Method", text("/method")),
            ("Mcp-Name", text("/params/name").or_else(|| text("/params/uri"))),
        ];
        for (name, claim) in claims {
            post.headers.extend(claim.map(|claim| (name.to_owned(), claim)));
        }
        post
    }

    /// A body without any claims.
    pub(crate) fn plain(body: impl Into<String>) -> Self {
        let headers = [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { method: "POST", path: "/mcp".to_owned(), headers, body: body.into() }
    }

    /// Sets this header, so that it is there once.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    /// Adds this header, even if it is there already.
    pub(crate) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(its, _)| !its.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn to(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn head(&self) -> String {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        format!("{} {} HTTP/1.1\r\n{}", self.method, self.path, headers.collect::<String>())
    }

    /// Returns the whole request as text.
    pub(crate) fn text(&self) -> String {
        format!("{}Content-Length: {}\r\n\r\n{}", self.head(), self.body.len(), self.body)
    }
}

/// The metadata by which a request of the published revision describes its client.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    })
}

/// A request of the published revision.
pub(crate) fn request(method: &str, params: Value) -> Value {
    let Value::Object(mut params) = params else { panic!("parameters are an object") };
    params.entry("_meta").or_insert_with(meta);
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    request("tools/call", params)
}

/// A request with a token for progress: its reply may be a stream.
pub(crate) fn watched(mut message: Value) -> Value {
    message["params"]["_meta"]["progressToken"] = json!("watched");
    message
}

/// The next round of a call: its state, and an answer.
pub(crate) fn retry(mut message: Value, reply: &Value, key: &str, content: &Value) -> Value {
    message["id"] = json!("again");
    message["params"]["requestState"] = reply["result"]["requestState"].clone();
    message["params"]["inputResponses"] = json!({ key: { "action": "accept", "content": content } });
    message
}
