//! Requests as text: a method and a target, headers, and after an empty line the body.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use super::fixture::Pieces;

/// A request as text.
pub(super) struct Draft(Vec<u8>);

impl Draft {
    pub(super) fn of(text: &[u8]) -> Self {
        Self(text.to_vec())
    }

    pub(super) fn genuine() -> Self {
        Self(seeds().swap_remove(0).into_bytes())
    }

    /// The genuine head with this body.
    pub(super) fn with_body(body: &[u8]) -> Self {
        let Self(mut text) = Self::genuine();
        text.truncate(end_of_head(&text));
        text.extend(b"\n\n");
        text.extend(body);
        Self(text)
    }

    /// The genuine one with a body of up to 128 KiB, and changes. The first three bytes say how long it is and with
    /// what it is filled.
    pub(super) fn padded(told: &[u8]) -> Self {
        let [high, low, filling, changes @ ..] = told else { return Self::genuine() };
        let size = 2 * usize::from(u16::from_be_bytes([*high, *low]));
        let draft = match filling % 3 {
            0 => Self::genuine().filled(size),
            1 => Self::genuine().argued(&"x".repeat(size)),
            _ => Self::genuine().argued(&"\\u00fc\\n".repeat(size / 8)),
        };
        draft.changed(changes)
    }

    /// Adds spaces after the body, so that it has this length.
    pub(super) fn filled(self, size: usize) -> Self {
        let missing = size.saturating_sub(self.body().len());
        Self([self.0, vec![b' '; missing]].concat())
    }

    /// Adds this as an argument that the tool does not have.
    fn argued(self, text: &str) -> Self {
        let whole = String::from_utf8(self.0).expect("it is genuine");
        Self(whole.replace("\"arguments\":{}", &format!("\"arguments\":{{\"x\":\"{text}\"}}")).into_bytes())
    }

    /// Makes up to 16 changes, each described by four bytes: the kind of change, the place, and the byte.
    pub(super) fn changed(self, changes: &[u8]) -> Self {
        let Self(mut text) = self;
        let (changes, _) = changes.as_chunks::<4>();
        for &[verb, high, low, byte] in changes.iter().take(16) {
            // As a part of the whole: a long one can be changed anywhere.
            let at = ((text.len() + 1) * usize::from(u16::from_be_bytes([high, low]))) >> 16;
            match verb % 5 {
                0 => text[at..].iter_mut().take(1).for_each(|place| *place = byte),
                1 => text[at..].iter_mut().take(1).for_each(|place| *place ^= 1 << (byte % 8)),
                2 if at < text.len() => drop(text.remove(at)),
                3 => text.truncate(at),
                _ => text.insert(at, byte),
            }
        }
        Self(text)
    }

    pub(super) fn body(&self) -> &[u8] {
        self.0.get(end_of_head(&self.0) + 2..).unwrap_or_default()
    }

    /// The request, if HTTP has one like it, with its body in so many pieces.
    pub(super) fn request(&self, pieces: usize) -> Option<Request<Pieces>> {
        let end = end_of_head(&self.0);
        let mut lines = self.0[..end].split(|byte| *byte == b'\n');
        let mut first = lines.next()?.splitn(2, |byte| *byte == b' ');
        let mut request = Request::builder().method(first.next()?).uri(first.next()?);
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':')?;
            request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
        }
        let body = self.body();
        let size = body.len().div_ceil(pieces).max(1);
        let body = body.chunks(size).map(Bytes::copy_from_slice).collect();
        request.body(Pieces(body)).ok()
    }
}

fn end_of_head(text: &[u8]) -> usize {
    text.windows(2).position(|pair| pair == b"\n\n").unwrap_or(text.len())
}

/// Genuine requests of each kind.
pub(super) fn seeds() -> Vec<String> {
    let order = json!({ "name": "order", "arguments": { "item": "tea", "count": 2 } });
    let answered = json!({
        "name": "order", "arguments": { "item": "tea" }, "requestState": "mrtr1x.key.AAAA",
        "inputResponses": { "address": { "action": "accept", "content": { "street": "Here" } } },
    });
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://guide"] });
    vec![
        text("tools/call", json!({ "name": "hello", "arguments": {} })),
        text("tools/call", order),
        text("tools/call", answered),
        text("tools/list", json!({ "cursor": "from-0" })),
        text("prompts/get", json!({ "name": "hello" })),
        text("resources/read", json!({ "uri": "test://guide" })),
        text("server/discover", json!({})),
        text("subscriptions/listen", json!({ "notifications": filter })),
    ]
}

fn text(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        "progressToken": 7,
    });
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).unwrap_or("none");
    let headers = [
        "host: localhost",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        "mcp-protocol-version: 2026-07-28",
        &format!("mcp-method: {method}"),
        &format!("mcp-name: {name}"),
        "mcp-param-item: =?base64?dGVh?=",
    ];
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    format!("POST /mcp\n{}\n\n{message}", headers.join("\n"))
}
