//! The whole message: a request with an id of its own, and what each request must say of its client.

use mrtr_schema::{ProgressToken, RequestId, RequestMeta, Revision, Wire};
use serde_json::value::RawValue;

use super::Client;
use crate::Outgoing;
use crate::raw::RawObject;

impl Client {
    pub(super) fn message(&self, id: &RequestId, outgoing: &Outgoing, revision: Revision) -> String {
        let mut params = RawObject::of(&outgoing.params);
        let mut meta = params.get("_meta").map(RawObject::of).unwrap_or_default();
        // What the caller says of version and client is not what this request is sent with.
        for key in OURS {
            meta.remove(key);
        }
        meta.fill_in(self.meta(id, revision));
        params.remove("_meta");
        if !meta.is_empty() {
            params.set("_meta", &*meta.finish());
        }
        let mut message = RawObject::default();
        message.set("jsonrpc", "2.0");
        message.set("id", id);
        message.set("method", &outgoing.method);
        if !params.is_empty() {
            message.set("params", &*params.finish());
        }
        message.finish().get().to_owned()
    }

    /// What this client adds to the metadata of each request.
    fn meta(&self, id: &RequestId, revision: Revision) -> RawObject {
        let client = &self.0;
        let mut meta = RequestMeta::declaring(revision, client.capabilities.clone());
        meta.client_info = Some(client.info.clone());
        meta.log_level = client.log_level;
        // Progress costs the server a stream: it is asked for only while somebody watches.
        meta.progress_token = (client.events.receiver_count() > 0).then(|| ProgressToken(id.clone()));
        if let Some(tracer) = &client.tracer {
            let context = (tracer.0)();
            meta.traceparent = context.traceparent;
            meta.tracestate = context.tracestate;
            meta.baggage = context.baggage;
        }
        let text = meta.to_json(revision).expect("what the revision demands is set");
        let raw = RawValue::from_string(text).expect("metadata is JSON");
        RawObject::of(&raw)
    }
}

const OURS: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
