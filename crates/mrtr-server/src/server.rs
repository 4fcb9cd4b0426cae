//! A server: what it is built of, and one request in, one reply out.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;
use mrtr_schema::{Implementation, ReadError, SchemaError};
use mrtr_state::Sealer;
use serde_json::Value;

use crate::clock::{Clock, SystemClock};
use crate::extension::{Extension, Host};
use crate::run_context::{Forms, Shared, States};
use crate::tool::{PreparedTool, Tool};
use crate::{Context, Reply, dispatch};

/// A server. Cheap to clone; clones are the same server.
///
/// It keeps nothing between requests: whatever a retry needs, the retry brings.
///
/// ```
/// use mrtr_server::{Context, Flow, Server, Tool};
///
/// async fn greet(_: Flow) -> Result<&'static str, std::convert::Infallible> {
///     Ok("Hello")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
/// let request = serde_json::json!({
///     "jsonrpc": "2.0", "id": 1, "method": "tools/call",
///     "params": { "name": "greet", "_meta": {
///         "io.modelcontextprotocol/protocolVersion": "2026-07-28",
///         "io.modelcontextprotocol/clientCapabilities": {},
///     } },
/// });
/// let reply = server.handle_value(request, Context::new()).await.unwrap();
/// assert_eq!(reply["result"]["content"][0]["text"], "Hello");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) info: Implementation,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tools: IndexMap<String, PreparedTool>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
}

impl Server {
    /// Begins a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder {
            info: Implementation::new(name, version),
            sealer: None,
            clock: Arc::new(SystemClock::default()),
            states: States::default(),
            tools: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// Answers one message.
    pub async fn handle(&self, body: Bytes, context: Context) -> Reply {
        dispatch::handle(self, body, context).await
    }

    /// The same for those who have parsed the message already; `None` where nothing is answered.
    pub async fn handle_value(&self, message: Value, context: Context) -> Option<Value> {
        let reply = self.handle(message.to_string().into(), context).await;
        reply.text().map(|text| serde_json::from_str(text).expect("a reply is JSON"))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.0.info.name).finish_non_exhaustive()
    }
}

/// A server being put together.
#[must_use]
pub struct Builder {
    info: Implementation,
    sealer: Option<Sealer>,
    clock: Arc<dyn Clock>,
    states: States,
    tools: Vec<Tool>,
    extensions: Vec<Arc<dyn Extension>>,
}

impl Builder {
    /// Seals states with this. Without it, with a key of this process alone.
    pub fn sealer(mut self, sealer: Sealer) -> Self {
        self.sealer = Some(sealer);
        self
    }

    /// Tells the time by another clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Gives handlers a value, which they get by its type with [`Flow::state`](crate::Flow::state).
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        self.states.insert(state);
        self
    }

    /// Offers a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds an extension.
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.extensions.push(Arc::new(extension));
        self
    }

    /// Puts the server together.
    pub fn build(self) -> Result<Server, BuildError> {
        let mut tools = IndexMap::with_capacity(self.tools.len());
        for tool in self.tools {
            let tool = tool.prepare()?;
            if let Some(tool) = tools.insert(tool.name().to_owned(), tool) {
                return Err(BuildError::DuplicateTool(tool.name().to_owned()));
            }
        }
        let shared = Shared {
            sealer: self.sealer.unwrap_or_else(Sealer::this_process_only),
            clock: self.clock,
            states: self.states,
            forms: Forms::default(),
        };
        let inner = Inner { info: self.info, shared: Arc::new(shared), tools, extensions: self.extensions };
        let server = Server(Arc::new(inner));
        for extension in &server.0.extensions {
            extension.attached(Host(Arc::downgrade(&server.0)));
        }
        Ok(server)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.info.name).field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// Why a server cannot be put together. Whoever wrote it is to blame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two tools of one name.
    #[error("two tools are named `{0}`")]
    DuplicateTool(String),
    /// The type of a tool's arguments or output has no schema that the protocol allows.
    #[error("the schema of tool `{tool}` is not allowed")]
    Schema {
        /// The tool.
        tool: String,
        /// Why not.
        source: ReadError,
    },
    /// Arguments cannot be checked against a tool's schema.
    #[error("the input schema of tool `{tool}` cannot be checked against")]
    Check {
        /// The tool.
        tool: String,
        /// Why not.
        source: SchemaError,
    },
}
