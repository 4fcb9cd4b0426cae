//! The arguments that a server wants in headers, as its lists of tools say: learned, kept within a bound, and looked
//! up.

use std::collections::HashSet;
use std::sync::PoisonError;

use indexmap::IndexMap;
use mrtr_client::{TransportError, TransportRequest};
use mrtr_schema::{Envelope, ErrorCode, Json, JsonObject, RequestId};
use serde_json::json;

use super::annotations::{HeaderAnnotations, ListedTools, read_annotations};
use super::send::Sender;

impl Sender {
    /// Learns from a list of tools which arguments are mirrored, and drops tools whose annotations are wrong.
    pub(super) fn learn(&self, reply: String) -> String {
        let had_annotations = !self.annotated.read().unwrap_or_else(PoisonError::into_inner).is_empty();
        // A list may be long, so this reads it outside the lock, and calls do not wait for it.
        let Some(ListedTools { tools, kept }) = read_annotations(&reply, had_annotations) else { return reply };
        self.annotated.write().unwrap_or_else(PoisonError::into_inner).learn(tools, ANNOTATION_BYTES);
        kept.unwrap_or(reply)
    }

    /// Lists the tools after the server refused a call because of its headers. Returns true if that taught anything
    /// about the tool of the call.
    pub(super) async fn learn_about(&self, call: &TransportRequest<'_>) -> Result<bool, TransportError> {
        let Some(name) = call.name else { return Ok(false) };
        let known = |sender: &Self| {
            let annotated = sender.annotated.read().unwrap_or_else(PoisonError::into_inner);
            annotated.get(name).cloned()
        };
        let before = known(self);
        let mut cursor = None;
        for page in 0..MAX_PAGES {
            let id = RequestId::from(format!("{}-tools-{page}", call.id));
            let message = list_message(call, &id, cursor.as_deref());
            let mut listing = *call;
            (listing.message, listing.id, listing.method) = (&message, &id, "tools/list");
            (listing.name, listing.arguments) = (None, None);
            let reply = self.reply(&listing, &mut |_| {}).await?.text;
            cursor = next_cursor(&reply);
            self.learn(reply);
            if cursor.is_none() || known(self) != before {
                break;
            }
        }
        Ok(known(self) != before)
    }
}

/// The most bytes that the client keeps of what lists of tools say about headers.
pub(super) const ANNOTATION_BYTES: usize = 1 << 20;

/// The most pages that the client reads of a list of tools, more than a server needs.
const MAX_PAGES: usize = 100;

/// A request to list tools, with the metadata of the call.
fn list_message(call: &TransportRequest<'_>, id: &RequestId, cursor: Option<&str>) -> String {
    let mut params = serde_json::Map::new();
    params.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
    if let Ok(Envelope::Request { params: of_call, .. }) = Envelope::parse(call.message.as_bytes())
        && let Some(meta) = of_call.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok())
    {
        params.insert("_meta".to_owned(), meta);
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params }).to_string()
}

fn next_cursor(reply: &str) -> Option<String> {
    let Ok(Envelope::Result { result, .. }) = Envelope::parse(reply.as_bytes()) else { return None };
    JsonObject::from_raw(result).ok()?.get("nextCursor")?.as_text().map(std::borrow::Cow::into_owned)
}

/// Returns true if a reply refuses a call because of its headers. The call has not run then.
pub(super) fn is_header_mismatch(reply: &str) -> bool {
    // Most replies refuse nothing, and need not be parsed for this.
    if !reply.contains(&ErrorCode::HEADER_MISMATCH.as_i64().to_string()) {
        return false;
    }
    let Ok(Envelope::Error { error, .. }) = Envelope::parse(reply.as_bytes()) else { return false };
    let code = Json::from_raw(error).ok().and_then(|error| error.to::<serde_json::Value>().ok()?["code"].as_i64());
    code == Some(ErrorCode::HEADER_MISMATCH.as_i64())
}

/// The annotations of the tools that the client knows, with those that it learned of last at the end.
#[derive(Debug, Default)]
pub(super) struct AnnotationTable(IndexMap<String, HeaderAnnotations>);

impl AnnotationTable {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, tool: &str) -> Option<&HeaderAnnotations> {
        self.0.get(tool)
    }

    /// Takes over the annotations of a list, and forgets those that were learned first if there are more than `most`
    /// bytes.
    pub(super) fn learn(&mut self, listed: Vec<(String, HeaderAnnotations)>, most: usize) {
        let names: HashSet<_> = listed.iter().map(|(tool, _)| tool).collect();
        self.0.retain(|tool, _| !names.contains(tool));
        self.0.extend(listed.into_iter().filter(|(_, annotated)| !annotated.is_empty()));
        let mut bytes: usize = self.0.iter().map(entry_bytes).sum();
        let too_many = self.0.iter().take_while(|entry| {
            let is_too_many = bytes > most;
            bytes -= if is_too_many { entry_bytes(*entry) } else { 0 };
            is_too_many
        });
        let too_many = too_many.count();
        if too_many > 0 {
            tracing::warn!(
                too_many,
                "a server wants more tool arguments in headers than this client keeps: some are forgotten"
            );
            self.0.drain(..too_many);
            self.0.shrink_to_fit();
        }
    }
}

fn entry_bytes((tool, annotated): (&String, &HeaderAnnotations)) -> usize {
    size_of::<(String, HeaderAnnotations)>() + tool.len() + annotated.bytes()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use serde_json::{Value, json};

    use super::super::annotations::read_annotations;
    use super::*;

    /// The annotations in a list of these tools, which have one argument each.
    fn listed(tools: Range<usize>, argument: &Value) -> Vec<(String, HeaderAnnotations)> {
        let schema = json!({ "type": "object", "properties": { "item": argument } });
        let tools: Vec<_> =
            tools.map(|number| json!({ "name": format!("tool-{number:03}"), "inputSchema": schema })).collect();
        let reply = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } });
        read_annotations(&reply.to_string(), true).expect("it is a list of tools").tools
    }

    #[test]
    fn ht_3_no_more_tools_are_forgotten_than_there_is_no_room_for() {
        let annotated = json!({ "type": "string", "x-mcp-header": "Item" });
        let mut table = AnnotationTable::default();
        table.learn(listed(0..10, &annotated), usize::MAX);
        let room = table.0.iter().map(entry_bytes).sum();
        table.learn(listed(0..10, &annotated), room);
        assert_eq!(table.0.len(), 10, "there is room for just these");
        table.learn(listed(10..13, &annotated), room);
        assert!(table.0.keys().eq(listed(3..13, &annotated).iter().map(|(tool, _)| tool)), "{:?}", table.0.keys());
        table.learn(listed(13..40, &json!({ "type": "string" })), room);
        assert_eq!(table.0.len(), 10, "those without annotations take no room");
    }
}
