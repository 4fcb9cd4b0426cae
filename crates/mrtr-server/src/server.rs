//! A server: what it is built of, and one request in, one reply out.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mrtr_schema::{CachingHints, Icon, Implementation, NamespacedInput, ReadError, ResultMeta, SchemaError};
use mrtr_state::Sealer;
use serde_json::Value;

use crate::by_name::ByName;
use crate::catalog::Lists;
use crate::clock::{Clock, SystemClock};
use crate::extension::{Extension, Host};
use crate::inputs::Inputs;
use crate::prompt::{PreparedPrompt, Prompt};
use crate::resource::{PreparedResource, PreparedTemplate, Resource, ResourceTemplate, TemplateError};
use crate::run_context::{DEFAULT_RUN_DEADLINE, Shared, States};
use crate::shed::Shedder;
use crate::tool::{PreparedTool, Tool};
use crate::{Changes, Context, Middleware, Reply, dispatch};

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
    /// The server's name as it stands in the metadata of results.
    pub(crate) signature: String,
    pub(crate) instructions: Option<String>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tools: ByName<PreparedTool>,
    pub(crate) prompts: ByName<PreparedPrompt>,
    pub(crate) resources: ByName<PreparedResource>,
    pub(crate) templates: ByName<PreparedTemplate>,
    pub(crate) lists: Lists,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
}

impl Server {
    /// Begins a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder {
            info: Implementation::new(name, version),
            instructions: None,
            sealer: None,
            clock: Arc::new(SystemClock::default()),
            states: States::default(),
            inputs: Inputs::default(),
            shedder: None,
            run_deadline: DEFAULT_RUN_DEADLINE,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            lists: Lists { page_size: Builder::DEFAULT_PAGE_SIZE, caching: CachingHints::do_not_keep() },
            extensions: Vec::new(),
            middleware: Vec::new(),
        }
    }

    /// Answers one message.
    pub async fn handle(&self, body: Bytes, context: Context<'_>) -> Reply {
        dispatch::handle(self, body, context).await
    }

    /// The same for those who have parsed the message already; `None` where nothing is answered.
    pub async fn handle_value(&self, message: Value, context: Context<'_>) -> Option<Value> {
        let reply = self.handle(message.to_string().into(), context).await;
        reply.last().await.map(|text| serde_json::from_str(&text).expect("a reply is JSON"))
    }

    /// Tells subscribers what changed.
    pub fn changes(&self) -> &Changes {
        &self.0.shared.changes
    }

    /// How many rounds of single-use tools run: they go on when their connection is gone, until what they began is
    /// recorded. A process should wait for them before it ends.
    pub fn detached(&self) -> usize {
        self.0.shared.detached.running()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.0.info.name).finish_non_exhaustive()
    }
}

/// A server being put together.
///
/// ```
/// use std::num::NonZeroUsize;
/// use mrtr_schema::{CacheScope, CachingHints};
/// use mrtr_server::{Failure, Flow, Prompt, Resource, Server, ShedAbove, Tool};
///
/// async fn hello(_: Flow) -> Result<&'static str, Failure> {
///     Ok("Hello")
/// }
///
/// let server = Server::builder("greeter", env!("CARGO_PKG_VERSION"))
///     .instructions("Greets people.")
///     .tool(Tool::new("hello", hello).description("Says hello"))
///     .prompt(Prompt::new("hello", hello))
///     .resource(Resource::new("greetings://hello", "hello", hello))
///     .page_size(NonZeroUsize::new(50).expect("it is not zero"))
///     .list_caching(CachingHints::keep(60_000, CacheScope::Public))
///     .shedder(ShedAbove(100))
///     .build()?;
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[must_use]
pub struct Builder {
    info: Implementation,
    instructions: Option<String>,
    sealer: Option<Sealer>,
    clock: Arc<dyn Clock>,
    states: States,
    inputs: Inputs,
    shedder: Option<Arc<dyn Shedder>>,
    run_deadline: Duration,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    lists: Lists,
    extensions: Vec<Arc<dyn Extension>>,
    middleware: Vec<Arc<dyn Middleware>>,
}

impl Builder {
    /// How many tools, prompts or resources a page of a list has, unless [`page_size`](Self::page_size) says otherwise.
    pub const DEFAULT_PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(1000).expect("it is not zero");

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

    /// Offers a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Offers a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Offers all resources of a template. Where several match a URI, the first one reads it.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// Tells a model how to use the server.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Gives the server icons.
    pub fn icons(mut self, icons: impl IntoIterator<Item = Icon>) -> Self {
        self.info.icons = Some(icons.into_iter().collect());
        self
    }

    /// Gives lists out in pages of this size. 1000 by default: few servers have more than that of anything.
    pub fn page_size(mut self, size: NonZeroUsize) -> Self {
        self.lists.page_size = size;
        self
    }

    /// Says how long lists, and what the server says of itself, may be kept. They may not, by default.
    pub fn list_caching(mut self, hints: CachingHints) -> Self {
        self.lists.caching = hints;
        self
    }

    /// Ends each run after this long, with an error that says what it was waiting for: ten minutes unless this says
    /// otherwise. The time counts from the moment at which a handler first waits for something.
    pub fn run_deadline(mut self, limit: Duration) -> Self {
        self.run_deadline = limit;
        self
    }

    /// Puts flows down at yield points when the server is too busy.
    pub fn shedder(mut self, shedder: impl Shedder) -> Self {
        self.shedder = Some(Arc::new(shedder));
        self
    }

    /// Puts something around every request. What is added first is asked first.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Lets handlers ask for an application's own input, of clients that declare it.
    ///
    /// The published protocol knows three kinds of input and no others, so a server asks for another only if it was
    /// built to: a handler that asks for one that is not registered has failed.
    ///
    /// ```
    /// # use mrtr_schema::{Method, NamespacedInput};
    /// # use mrtr_server::Server;
    /// # struct Seat;
    /// # impl NamespacedInput for Seat {
    /// #     const METHOD: Method = Method::from_static("com.example/seat");
    /// #     type Params = ();
    /// #     type Response = u32;
    /// # }
    /// let builder = Server::builder("airline", "1.0.0").input::<Seat>();
    /// ```
    pub fn input<I: NamespacedInput>(mut self) -> Self {
        self.inputs.insert::<I>();
        self
    }

    /// The same, and has a client that did not declare the input visit a URL instead: see
    /// [`Ask::until`](crate::Ask::until).
    ///
    /// `page` makes the message and the URL from what is asked and the id of the interaction. The page must find out
    /// by itself who opens it.
    ///
    /// ```
    /// # use mrtr_schema::{Method, NamespacedInput};
    /// # use mrtr_server::Server;
    /// # struct Approval;
    /// # #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] struct Pending { approver: String }
    /// # impl NamespacedInput for Approval {
    /// #     const METHOD: Method = Method::from_static("com.example/approval");
    /// #     type Params = Pending;
    /// #     type Response = bool;
    /// # }
    /// let builder = Server::builder("deployer", "1.0.0").input_by_url::<Approval>(|pending, id| {
    ///     (format!("{} must approve", pending.approver), format!("https://approvals.example.com/{id}"))
    /// });
    /// ```
    pub fn input_by_url<I: NamespacedInput + 'static>(
        mut self,
        page: impl Fn(&I::Params, &str) -> (String, String) + Send + Sync + 'static,
    ) -> Self {
        self.inputs.insert_with_page::<I>(page);
        self
    }

    /// Adds an extension.
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.extensions.push(Arc::new(extension));
        self
    }

    /// Puts the server together.
    pub fn build(self) -> Result<Server, BuildError> {
        let tools = self.tools.into_iter().map(Tool::prepare);
        let prompts = self.prompts.into_iter().map(Prompt::prepare);
        let resources = self.resources.into_iter().map(|resource| Ok(resource.prepare()));
        let templates = self.templates.into_iter().map(ResourceTemplate::prepare);
        let sealer = self.sealer.unwrap_or_else(Sealer::this_process_only);
        let shared = Shared {
            states: self.states,
            shedder: self.shedder,
            inputs: self.inputs,
            deadline: self.run_deadline,
            ..Shared::new(sealer, self.clock)
        };
        let inner = Inner {
            signature: signature(&self.info),
            info: self.info,
            instructions: self.instructions,
            shared: Arc::new(shared),
            tools: unique("tools", tools, |tool| tool.definition.name.clone())?,
            prompts: unique("prompts", prompts, |prompt| prompt.definition.name.clone())?,
            resources: unique("resources", resources, |resource| resource.definition.uri.clone())?,
            templates: unique("templates", templates, |template| template.definition.uri_template.clone())?,
            lists: self.lists,
            extensions: self.extensions,
            middleware: self.middleware,
        };
        let server = Server(Arc::new(inner));
        for extension in &server.0.extensions {
            extension.attached(Host(Arc::downgrade(&server.0)));
        }
        Ok(server)
    }
}

/// By name, in the order in which they were added.
fn unique<T>(
    what: &'static str,
    all: impl Iterator<Item = Result<T, BuildError>>,
    name: impl Fn(&T) -> String,
) -> Result<ByName<T>, BuildError> {
    let mut map = ByName::default();
    for one in all {
        let one = one?;
        let name = name(&one);
        if map.insert(name.clone(), one).is_some() {
            return Err(BuildError::Duplicate { what, name });
        }
    }
    Ok(map)
}

/// The metadata of a result that has no other.
fn signature(info: &Implementation) -> String {
    let mut meta = ResultMeta::new();
    meta.server_info = Some(info.clone());
    let meta = serde_json::to_string(&meta).expect("a name is JSON");
    format!("\"_meta\":{meta}")
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.info.name).field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// Why a server cannot be put together. Whoever wrote it is to blame.
///
/// ```
/// use mrtr_server::{BuildError, Failure, Flow, Server, Tool};
///
/// let greet = || Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
/// let built = Server::builder("greeter", "1.0.0").tool(greet()).tool(greet()).build();
/// assert_eq!(built.unwrap_err().to_string(), "two tools are named `greet`");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two of one name.
    #[error("two {what} are named `{name}`")]
    Duplicate {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A template is none that URIs can be matched against.
    #[error("`{template}` cannot be matched against")]
    UriTemplate {
        /// The template.
        template: String,
        /// Why not.
        source: TemplateError,
    },
    /// The type of a handler's arguments or output has no schema that the protocol allows.
    #[error("the schema of `{name}` is not allowed")]
    Schema {
        /// The tool, prompt or template.
        name: String,
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
