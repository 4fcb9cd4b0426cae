//! Plays a script: sends its requests, and compares what comes back.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use mrtr_schema::meta::RequestMeta;
use mrtr_schema::{ClientCapabilities, InRevision, Revision, Wire};
use mrtr_server::testing::everything;
use mrtr_server::{Context, Server};
use mrtr_state::{Key, KeyRing, Sealer};
use serde_json::Value;

use crate::compare::{STATE, differences};
use crate::handlers;
use crate::script::{Exchange, Script};

/// The reason why a script failed, for a person to read.
pub(crate) struct Failed(pub(crate) String);

/// Plays all of a script, up to the first exchange that goes wrong.
pub(crate) async fn play(script: &Script) -> Result<(), Failed> {
    let mut played = Played::begin(script);
    for (place, exchange) in script.exchanges.iter().enumerate() {
        let failed = |lines: Vec<String>| {
            let Script { file, title, .. } = script;
            let (number, source) = (place + 1, &exchange.source);
            Failed(format!("{file} ({title})\n  exchange {number} ({source}):\n    {}", lines.join("\n    ")))
        };
        played.exchange(exchange).await.map_err(failed)?;
    }
    played.end()
}

struct Played<'a> {
    script: &'a Script,
    revision: Revision,
    capabilities: ClientCapabilities,
    servers: IndexMap<&'a str, Server>,
    answered: BTreeSet<&'a str>,
    /// The state that the last reply carries.
    state: Option<Value>,
}

impl<'a> Played<'a> {
    fn begin(script: &'a Script) -> Self {
        let revision: Revision = script.revision.parse().unwrap();
        let capabilities = match &script.capabilities {
            Some(declared) => ClientCapabilities::from_json(&declared.to_string(), revision.strict()).unwrap(),
            None => everything(),
        };
        let sealer = Sealer::new(KeyRing::new(Key::new("script", [7; 32]).unwrap()), "transcripts").unwrap();
        let servers = script.servers.iter().map(|(name, server)| {
            let tool = handlers::tool(&server.handler).state_policy(server.state_policy.into());
            let builder = Server::builder(name, "1.0.0").sealer(sealer.clone()).input::<handlers::Approval>();
            let server = builder.tool(tool).build().unwrap();
            (name.as_str(), server)
        });
        let servers = servers.collect();
        Self { script, revision, capabilities, servers, answered: BTreeSet::new(), state: None }
    }

    async fn exchange(&mut self, exchange: &'a Exchange) -> Result<(), Vec<String>> {
        let server = self.servers.get(exchange.server.as_str());
        let server = server.ok_or_else(|| vec![format!("there is no server `{}`", exchange.server)])?;
        self.answered.insert(&exchange.server);
        let request = self.complete(exchange.request.clone())?;
        let context = Context::new().revision(self.revision).capabilities(self.capabilities.clone());
        let mut reply =
            server.handle_value(request, context).await.ok_or_else(|| vec!["there is no reply".to_owned()])?;
        self.remove_signature(&mut reply);
        self.state = reply.pointer("/result/requestState").cloned();

        let mut lines = differences(&exchange.reply, &reply);
        let stale = exchange.differs.iter().filter(|noted| reply.pointer(&noted.at) == noted.document.as_ref());
        lines.extend(stale.map(|noted| {
            format!("{}: is the document's after all, though it is said to differ: {}", noted.at, noted.because)
        }));
        if lines.is_empty() { Ok(()) } else { Err(lines) }
    }

    /// The request as it is sent: with the state of the last reply, and with the metadata that the published page takes
    /// for granted.
    fn complete(&self, mut request: Value) -> Result<Value, Vec<String>> {
        if let Some(state) = request.pointer_mut("/params/requestState").filter(|state| *state == STATE) {
            let last = self.state.clone().ok_or_else(|| vec!["the last reply carries no state to echo".to_owned()])?;
            *state = last;
        }
        if self.revision == Revision::V2026_07_28 {
            let meta = RequestMeta::declaring(self.revision, self.capabilities.clone());
            request["params"]["_meta"] = serde_json::to_value(InRevision::new(&meta, self.revision)).unwrap();
        }
        Ok(request)
    }

    /// Removes the server's name (HT-7). The published page takes it for granted in results, as it does the metadata of
    /// requests.
    fn remove_signature(&self, reply: &mut Value) {
        if self.revision == Revision::V2026_07_28
            && let Some(result) = reply.get_mut("result").and_then(Value::as_object_mut)
            && let Some(meta) = result.get("_meta").and_then(Value::as_object)
            && meta.keys().eq(["io.modelcontextprotocol/serverInfo"])
        {
            result.remove("_meta");
        }
    }

    fn end(self) -> Result<(), Failed> {
        let idle = self.servers.keys().filter(|name| !self.answered.contains(*name));
        match idle.copied().next() {
            Some(name) => Err(Failed(format!("{}: nothing lands on server `{name}`", self.script.file))),
            None => Ok(()),
        }
    }
}
