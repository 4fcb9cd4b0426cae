//! Parsing one `tools/call` with state: through `Envelope`, and with a struct written for just this message.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;

use mrtr_schema::tools::CallToolParams;
use mrtr_schema::{Envelope, Revision};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Scale;
use crate::measure::compare;
use crate::report::{Group, Target};

pub(crate) fn measure(scale: Scale) -> Group {
    let bytes = message();
    let most = |ratio| Some(Target::AtMost(ratio));
    let borrowed = compare(scale, || by_hand(&bytes), || by_envelope(&bytes));
    let tree = compare(scale, || by_value(&bytes), || by_envelope(&bytes));
    let owning = compare(scale, || by_value(&bytes), || owned(&bytes));
    Group {
        title: "Message",
        about: "Parsing a tools/call with its state. A ratio says how many times longer our parser takes than the one \
            it is compared with.",
        figures: vec![
            borrowed.figure("Envelope", "against a borrowed struct written for it", most(1.2)),
            tree.figure("Envelope", "against serde_json::Value", most(1.0)),
            owning.figure("Envelope and owned params", "against serde_json::Value", most(1.0)),
        ],
    }
}

/// The second retry of the Azure DevOps tool, with a state of 600 bytes.
pub(crate) fn message() -> Vec<u8> {
    let state = "eyJyZXNvbHV0aW9uIjoiRHVwbGljYXRlIn0x".repeat(17);
    format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"update_work_item","arguments":{{"workItemId":4522,"fields":{{"System.State":"Resolved"}}}},"inputResponses":{{"duplicate_of":{{"action":"accept","content":{{"duplicateOfId":4301}}}}}},"requestState":"{state}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
    )
    .into_bytes()
}

#[derive(Deserialize)]
struct ByHand<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: i64,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: ParamsByHand<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ParamsByHand<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
    #[serde(borrow)]
    input_responses: Option<BTreeMap<&'a str, &'a RawValue>>,
    #[serde(borrow)]
    request_state: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta")]
    meta: MetaByHand<'a>,
}

#[derive(Deserialize)]
struct MetaByHand<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Cow<'a, str>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client_info: &'a RawValue,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: &'a RawValue,
}

fn by_hand(bytes: &[u8]) -> usize {
    let message: ByHand<'_> = serde_json::from_slice(bytes).expect("the message is right");
    assert_eq!(message.jsonrpc, "2.0");
    black_box((message.id, &message.params.meta.client_info, &message.params.meta.client_capabilities));
    message.method.len()
        + message.params.name.len()
        + message.params.arguments.get().len()
        + message.params.input_responses.map_or(0, |responses| responses.len())
        + message.params.request_state.map_or(0, |state| state.len())
        + message.params.meta.protocol_version.len()
}

pub(crate) fn by_envelope(bytes: &[u8]) -> usize {
    let Ok(Envelope::Request { id, method, params }) = Envelope::parse(bytes) else { panic!("a request") };
    let meta = params.meta().expect("an object").expect("there");
    let version = meta.text(PROTOCOL_VERSION).expect("text").expect("there");
    black_box((id, meta.get(CLIENT_INFO), meta.get(CLIENT_CAPABILITIES)));
    method.len()
        + params.text("name").expect("text").map_or(0, |name| name.len())
        + params.get("arguments").map_or(0, |arguments| arguments.get().len())
        + params.object("inputResponses").expect("an object").map_or(0, |responses| responses.len())
        + params.text("requestState").expect("text").map_or(0, |state| state.len())
        + version.len()
}

fn owned(bytes: &[u8]) -> CallToolParams {
    let Ok(Envelope::Request { params, .. }) = Envelope::parse(bytes) else { panic!("a request") };
    params.read(Revision::V2026_07_28.strict()).expect("the message is right")
}

fn by_value(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).expect("the message is JSON")
}

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
