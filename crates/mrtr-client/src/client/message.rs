//! The whole message: a request with an id of its own, and with the metadata that each request must have of its client.

use std::borrow::Cow;
use std::sync::OnceLock;

use mrtr_schema::meta::{ProgressToken, RequestMeta};
use mrtr_schema::{RawMembers, RequestId, Revision, Wire};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Client;
use crate::raw::RawObject;

/// The metadata that a client sends of itself with each request, written once for each revision.
#[derive(Default)]
pub(super) struct DeclaredMeta([OnceLock<Box<RawValue>>; Revision::ALL.len()]);

impl Client {
    pub(super) fn message(&self, id: &RequestId, method: &str, params: &RawMembers<'_>, revision: Revision) -> String {
        let ours = self.meta(id, revision);
        let meta = match params.get(META) {
            Some(said) => Cow::Owned(completed(said, &ours)),
            None => ours,
        };
        let message = Message { jsonrpc: "2.0", id, method, params: Params { given: params, meta: &meta } };
        serde_json::to_string(&message).expect("texts, and JSON that was read, can be written")
    }

    /// Returns the metadata that this client adds to each request. Without readers of events and without a tracer it is
    /// the same each time, so it is written once a revision.
    fn meta(&self, id: &RequestId, revision: Revision) -> Cow<'_, RawValue> {
        let client = &self.0;
        let has_readers = client.event_queues.has_readers();
        let known = Revision::ALL.iter().position(|known| *known == revision);
        match known.and_then(|known| client.declared.0.get(known)) {
            Some(declared) if !has_readers && client.tracer.is_none() => {
                Cow::Borrowed(declared.get_or_init(|| written(&self.declaration(revision), revision)))
            }
            _ => {
                let mut meta = self.declaration(revision);
                // Progress costs the server a stream, so the client asks for it only while the caller reads events.
                meta.progress_token = has_readers.then(|| ProgressToken(id.clone()));
                if let Some(tracer) = &client.tracer {
                    let context = (tracer.0)();
                    meta.traceparent = context.traceparent;
                    meta.tracestate = context.tracestate;
                    meta.baggage = context.baggage;
                }
                Cow::Owned(written(&meta, revision))
            }
        }
    }

    fn declaration(&self, revision: Revision) -> RequestMeta {
        let mut meta = RequestMeta::declaring(revision, self.0.capabilities.clone());
        meta.client_info = Some(self.0.info.clone());
        meta.log_level = self.0.log_level;
        meta
    }
}

fn written(meta: &RequestMeta, revision: Revision) -> Box<RawValue> {
    let text = meta.to_json(revision).expect("what the revision demands is set");
    RawValue::from_string(text).expect("metadata is JSON")
}

/// The caller's metadata, completed with this client's. What the caller says of version and client is not sent.
fn completed(said: &RawValue, ours: &RawValue) -> Box<RawValue> {
    let mut meta = RawObject::of(said);
    for key in OURS {
        meta.remove(key);
    }
    meta.fill_in(RawObject::of(ours));
    meta.finish()
}

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'a str,
    #[serde(skip_serializing_if = "Params::is_empty")]
    params: Params<'a>,
}

/// Parameters as they were given, with other metadata.
struct Params<'a> {
    given: &'a RawMembers<'a>,
    meta: &'a RawValue,
}

impl Params<'_> {
    fn members(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        let meta = Some((META, self.meta)).filter(|(_, meta)| meta.get() != "{}");
        self.given.iter().filter(|(key, _)| *key != META).chain(meta)
    }

    fn is_empty(&self) -> bool {
        self.members().next().is_none()
    }
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.members() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

const META: &str = "_meta";
const OURS: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
