//! A scripted client in memory, for testing flows: call, see what is asked, answer, see the result.
//!
//! ```
//! use mrtr_server::testing::Client;
//! use mrtr_server::{Failure, Flow, Server, Tool};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Login { name: String }
//!
//! async fn greet(flow: Flow) -> Result<String, Failure> {
//!     let login: Login = flow.elicit("login", "Who are you?").await?;
//!     Ok(format!("Hello, {}", login.name))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap();
//! let call = Client::new(&server).call_tool("greet", json!({})).await;
//! call.expect_asked(&["login"]);
//! let call = call.accept("login", json!({ "name": "Ada" })).send().await;
//! assert_eq!(call.expect_text(), "Hello, Ada");
//! # }
//! ```

mod clock;
mod conversation;

use mrtr_schema::{
    ClientCapabilities, ElicitationCapability, InRevision, JsonObject, RequestMeta, Revision, RootsCapability,
    SamplingCapability,
};
use serde_json::{Map, Value, json};

pub use clock::FixedClock;
pub use conversation::Conversation;

use crate::{Caller, Context, Server};

/// A client in memory.
#[derive(Debug, Clone)]
pub struct Client {
    server: Server,
    context: Context,
    capabilities: ClientCapabilities,
}

impl Client {
    /// A client of this server that can be asked everything the protocol itself defines.
    pub fn new(server: &Server) -> Self {
        Self { server: server.clone(), context: Context::new(), capabilities: everything() }
    }

    /// Talks to another server, as a client does whose requests are spread over several.
    #[must_use]
    pub fn at(&self, server: &Server) -> Self {
        Self { server: server.clone(), ..self.clone() }
    }

    /// Declares these capabilities instead.
    #[must_use]
    pub fn declaring(mut self, capabilities: ClientCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Speaks another revision.
    #[must_use]
    pub fn speaking(mut self, revision: Revision) -> Self {
        self.context = self.context.revision(revision);
        self
    }

    /// Sends as this caller.
    #[must_use]
    pub fn calling_as(mut self, caller: impl Into<Option<Caller>>) -> Self {
        self.context = self.context.caller(caller);
        self
    }

    /// Calls a tool.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Conversation {
        let mut params = Map::new();
        params.insert("name".to_owned(), name.into());
        params.insert("arguments".to_owned(), arguments);
        self.begin("tools/call", params).await
    }

    /// Sends any request.
    pub async fn begin(&self, method: &str, params: Map<String, Value>) -> Conversation {
        Conversation::begin(self.clone(), method.to_owned(), params).await
    }

    /// Sends one request as it is, with metadata added where the revision wants it, and gives the response.
    pub(crate) async fn send(&self, id: u64, method: &str, mut params: Map<String, Value>) -> Value {
        let revision = self.context.revision;
        let mut context = self.context.clone();
        if revision == Revision::Published {
            let meta = RequestMeta::declaring(revision, self.capabilities.clone());
            let meta = serde_json::to_value(InRevision::new(&meta, revision)).expect("metadata is JSON");
            params.entry("_meta").or_insert(meta);
        } else {
            context = context.capabilities(self.capabilities.clone());
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        Box::pin(self.server.handle_value(message, context)).await.expect("a request is answered")
    }
}

/// Every capability that the protocol itself defines for being asked.
pub fn everything() -> ClientCapabilities {
    let declared = || Some(JsonObject::default());
    let mut elicitation = ElicitationCapability::new();
    elicitation.form = declared();
    elicitation.url = declared();
    let mut sampling = SamplingCapability::new();
    sampling.tools = declared();
    sampling.context = declared();
    let mut capabilities = ClientCapabilities::new();
    capabilities.elicitation = Some(elicitation);
    capabilities.sampling = Some(sampling);
    capabilities.roots = Some(RootsCapability::new());
    capabilities
}
