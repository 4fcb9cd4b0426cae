//! The floor: a careful loop around reqwest for just these two calls.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ANSWER, ARGUMENTS, Answer, Arguments, Caller, Work};
use crate::server::exchange::PATH;

pub(super) struct ByHand {
    http: reqwest::Client,
    url: Url,
    headers: [HeaderMap; 2],
    meta: Box<RawValue>,
    sent: AtomicU64,
}

impl ByHand {
    pub(super) fn new(server: SocketAddr) -> Result<Self> {
        // Set up like the one that our transport makes for a server on this machine.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let http = http.connect_timeout(Duration::from_secs(10)).pool_idle_timeout(Duration::from_secs(4));
        Ok(Self {
            http: http.build()?,
            url: format!("http://{server}{PATH}").parse()?,
            headers: Work::ALL.map(headers),
            meta: RawValue::from_string(META.to_owned())?,
            sent: AtomicU64::new(0),
        })
    }

    /// Sends a call, or a retry of it, and returns the body of the reply.
    async fn post(&self, work: Work, retry: Option<Retry<'_>>) -> Result<Vec<u8>> {
        let id = self.sent.fetch_add(1, Ordering::Relaxed);
        let params = Params { name: work.tool(), arguments: ARGUMENTS, retry, meta: &self.meta };
        let message = serde_json::to_vec(&Message { jsonrpc: "2.0", id, method: "tools/call", params })?;
        let request = self.http.post(self.url.clone()).headers(self.headers[work as usize].clone()).body(message);
        let reply = request.send().await?.error_for_status()?.bytes().await?;
        Ok(reply.into())
    }
}

impl Caller for ByHand {
    async fn call(&self, work: Work) -> Result<String> {
        let mut reply = self.post(work, None).await?;
        for _ in 0..MOST_ROUNDS {
            let Reply { result } = serde_json::from_slice(&reply)?;
            match result.result_type {
                "complete" => {
                    let content = result.content.into_iter().next();
                    return Ok(content.context("the tool said nothing")?.text);
                }
                "input_required" => {
                    let state = result.request_state.context("nothing to go on with")?;
                    let resolution = Accepted { action: "accept", content: ANSWER };
                    let retry = Retry { input_responses: Answers { resolution }, request_state: state };
                    reply = self.post(work, Some(retry)).await?;
                }
                other => bail!("a result of the kind {other}"),
            }
        }
        bail!("no end after {MOST_ROUNDS} rounds")
    }
}

fn headers(work: Work) -> HeaderMap {
    let text = HeaderValue::from_static;
    HeaderMap::from_iter([
        (CONTENT_TYPE, text("application/json")),
        (ACCEPT, text("application/json, text/event-stream")),
        (HeaderName::from_static("mcp-protocol-version"), text("2026-07-28")),
        (HeaderName::from_static("mcp-method"), text("tools/call")),
        (HeaderName::from_static("mcp-name"), text(work.tool())),
    ])
}

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    name: &'static str,
    arguments: Arguments,
    #[serde(flatten)]
    retry: Option<Retry<'a>>,
    #[serde(rename = "_meta")]
    meta: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Retry<'a> {
    input_responses: Answers,
    request_state: &'a str,
}

#[derive(Serialize)]
struct Answers {
    resolution: Accepted,
}

#[derive(Serialize)]
struct Accepted {
    action: &'static str,
    content: Answer,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    result: Outcome<'a>,
}

/// The members of a result that matter here. Neither its kind nor a state is ever written with escapes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    result_type: &'a str,
    request_state: Option<&'a str>,
    #[serde(default)]
    content: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

/// The metadata with which our client describes itself.
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

const MOST_ROUNDS: usize = 10;
