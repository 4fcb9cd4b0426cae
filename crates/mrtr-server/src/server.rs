//! The server and its builder: one request in, one reply out.

use std::any::TypeId;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mrtr_flow::for_server::{ByName, Extensions, Inputs};
use mrtr_flow::{Clock, DEFAULT_RUN_DEADLINE, Environment, Identity, SystemClock};
use mrtr_schema::{CachingHints, Icon, Implementation, NamespacedInput, SchemaCheck};
use mrtr_state::Sealer;
use serde_json::Value;

use crate::definition::extension::{Extension, Host};
use crate::definition::middleware::Middleware;
use crate::definition::parts::{Lists, Parts, ResultWriter, Shared, reservation_thread};
use crate::definition::policy::{Access, Policy};
use crate::definition::prompt::Prompt;
use crate::definition::resource::{Resource, ResourceTemplate};
use crate::definition::settings::TaskPolicy;
use crate::definition::tool::Tool;
use crate::error::BuildError;
use crate::protocol::admit::{self, Admission};
use crate::protocol::context::{Arrival, Context};
use crate::protocol::offers::Inventory;
use crate::protocol::offers::Offers;
use crate::protocol::reply::Reply;
use crate::protocol::{dispatch, gate};
use crate::session::{Legacy, LegacyMessage, SessionLimits, Sessions};
use crate::support::changes::Changes;
use crate::support::changes::ServerChanges;
use crate::support::shed::Gauge;
use crate::support::shed::Shedder;

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
pub struct Server(Arc<Inner>);

struct Inner {
    parts: Arc<Parts>,
    sessions: Sessions,
}

impl Server {
    /// Begins a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder {
            info: Implementation::new(name, version),
            instructions: None,
            sealer: None,
            clock: Arc::new(SystemClock::default()),
            states: Extensions::default(),
            inputs: Inputs::default(),
            input_types: Vec::new(),
            shedder: None,
            run_deadline: DEFAULT_RUN_DEADLINE,
            explains_failures: false,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            lists: Lists { page_size: Builder::DEFAULT_PAGE_SIZE, caching: CachingHints::do_not_keep() },
            extensions: Vec::new(),
            middleware: Vec::new(),
            access: Access::default(),
            mistake: None,
            legacy: Legacy::default(),
            session_limits: SessionLimits::default(),
        }
    }

    /// Answers one message of the modern era. The server refuses a message that does not say its version.
    pub async fn handle(&self, body: Bytes, context: Context<'_>) -> Reply {
        match self.receive(body, context).await {
            Received::Reply(reply) => reply,
            Received::Legacy(message) => message.refusal(),
        }
    }

    /// Answers one message, or says that it is of the legacy era: for a transport that carries sessions.
    ///
    /// If the client wants progress or logs, the answer may be a stream.
    pub async fn receive(&self, body: Bytes, context: Context<'_>) -> Received {
        let parts = &self.0.parts;
        Received::Reply(match admit::read(parts, &body, &context) {
            Admission::Admitted(admitted) if admitted.wants_notifications() => match admitted.into_owned() {
                Ok(owned) => {
                    let context = context.caller.clone().into_owned();
                    Box::pin(dispatch::answer_streaming(Arc::clone(parts), owned, context)).await
                }
                Err(reply) => reply,
            },
            Admission::Admitted(admitted) => dispatch::answer_request(parts, &admitted).await,
            Admission::Replied(reply) => reply,
            Admission::Versionless(message) => {
                return Received::Legacy(LegacyMessage::new(self.0.sessions.clone(), message));
            }
        })
    }

    /// The sessions of clients of the legacy era.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Answers one message that the caller has parsed already; `None` if it needs no answer.
    pub async fn handle_value(&self, message: Value, context: Context<'_>) -> Option<Value> {
        let reply = self.handle(message.to_string().into(), context).await;
        reply.last().await.map(|text| serde_json::from_str(&text).expect("a reply is JSON"))
    }

    /// The time now, by the server's clock. A transport notes it when a request comes in, and hands it to
    /// [`Context::received`]. No other clock times a request.
    pub fn arrival(&self) -> Arrival {
        Arrival(self.0.parts.shared.clock.now())
    }

    /// Tells subscribers what changed.
    pub fn changes(&self) -> &Changes {
        &self.0.parts.shared.changes
    }

    /// Counts the server's offers, for the line that a transport logs when it begins to serve.
    ///
    /// ```
    /// # use mrtr_server::{Failure, Flow, Server, Tool};
    /// let greet = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
    /// let server = Server::builder("greeter", "1.0.0").tool(greet).build()?;
    /// assert_eq!(server.inventory().tools, 1);
    /// assert!(!server.inventory().states_outlive_process, "it was built without a sealer");
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    pub fn inventory(&self) -> Inventory {
        Inventory::of(&self.0.parts)
    }

    /// Returns the scopes that a request needs, as far as its method and the name in it tell: for a challenge to a
    /// caller without credentials.
    ///
    /// ```
    /// # use mrtr_server::{Failure, Flow, Server, Tool};
    /// let write = Tool::new("write", async |_: Flow| Ok::<_, Failure>("written")).scopes(["files:write"]);
    /// let server = Server::builder("files", "1.0.0").tool(write).build()?;
    /// assert_eq!(server.required_scopes("tools/call", Some("write")), ["files:write"]);
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    pub fn required_scopes(&self, method: &str, name: Option<&str>) -> Vec<String> {
        gate::scopes(&self.0.parts, method, name).to_vec()
    }

    /// The server's offers by name, for a host that has offers of its own beside these.
    pub fn offers(&self) -> Offers<'_> {
        Offers::of(&self.0.parts)
    }

    /// Begins to shut the server down. Extensions begin no more work of their own and answer the requests that wait,
    /// such as a `tasks/result` that blocks; subscriptions end. The server answers requests as before. The next step is
    /// the transport's: to let no more requests in.
    ///
    /// `mrtr_http::Serve` and `mrtr_stdio::serve` do this by themselves. An application with an HTTP server of its own
    /// calls this before it ends that server, and again while requests are still answered, since a subscription may
    /// begin late. After its HTTP server it calls [`shut_down`](Self::shut_down). It cannot be undone.
    ///
    /// ```
    /// # use mrtr_server::Server;
    /// let server = Server::builder("empty", "1.0.0").build()?;
    /// server.begin_shutdown();
    /// // Now the HTTP server ends, and then `server.shut_down().await` hands tasks over.
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    pub fn begin_shutdown(&self) {
        self.0.parts.extensions.iter().for_each(|extension| extension.shutdown_begins());
        self.changes().end_subscriptions();
    }

    /// Ends the server's work beside requests: extensions hand theirs over, such as running tasks, and rounds of
    /// single-use tools whose client is gone record the step that they are in.
    ///
    /// `mrtr_http::Serve` and `mrtr_stdio::serve` do this by themselves. An application with an HTTP server of its own
    /// calls this after that server has ended, with a limit, since a step may take long. It also does what
    /// [`begin_shutdown`](Self::begin_shutdown) does. Calling it again is fine.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mrtr_server::Server;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::builder("empty", "1.0.0").build()?;
    /// // The HTTP server has ended.
    /// tokio::time::timeout(Duration::from_secs(15), server.shut_down()).await?;
    /// # Ok(()) }
    /// ```
    pub async fn shut_down(&self) {
        self.begin_shutdown();
        for extension in &self.0.parts.extensions {
            extension.shut_down().await;
        }
        let rounds = self.detached();
        while self.detached() > 0 {
            tokio::time::sleep(DETACHED_POLL).await;
        }
        if rounds > 0 {
            tracing::info!(rounds, "shutting down: single-use rounds without a client are recorded");
        }
    }

    /// The sealer of the server's states: for a host that seals something of its own with the same keys.
    ///
    /// ```
    /// # use mrtr_server::{Sealer, Server};
    /// let server = Server::builder("empty", "1.0.0").sealer(Sealer::this_process_only()).build()?;
    /// assert!(!server.sealer().outlives_process());
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    pub fn sealer(&self) -> &Sealer {
        &self.0.parts.shared.sealer
    }

    #[cfg(feature = "testing")]
    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.0.parts
    }

    /// Counts the rounds of single-use tools that run. They continue when their connection is gone, until what they
    /// began is recorded. A process should wait for them before it ends, as [`shut_down`](Self::shut_down) does.
    pub fn detached(&self) -> usize {
        self.0.parts.shared.detached.running()
    }
}

/// The time between two looks at whether the rounds without a client have ended.
const DETACHED_POLL: Duration = Duration::from_millis(20);

/// The server's response to a message that came over a transport with sessions.
///
/// ```
/// use mrtr_server::{Context, Server};
/// use mrtr_server::transport::Received;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("empty", "1.0.0").build().unwrap();
/// assert!(matches!(server.receive("{".into(), Context::new()).await, Received::Reply(_)));
/// # }
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "there are two eras")]
pub enum Received {
    /// A message of the modern era: its reply.
    Reply(Reply),
    /// A message that does not say its version: it may belong to a session.
    Legacy(LegacyMessage),
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.0.parts.results.info.name).finish_non_exhaustive()
    }
}

/// Builds a server from its parts.
///
/// ```
/// use std::num::NonZeroUsize;
/// use mrtr_schema::{CacheScope, CachingHints};
/// use mrtr_server::{Failure, Flow, Prompt, Resource, Server, Tool};
/// use mrtr_server::extend::ShedAbove;
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
    states: Extensions,
    inputs: Inputs,
    /// The type of each input that was registered, beside its method.
    input_types: Vec<(String, TypeId)>,
    shedder: Option<Arc<dyn Shedder>>,
    run_deadline: Duration,
    explains_failures: bool,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    lists: Lists,
    extensions: Vec<Arc<dyn Extension>>,
    middleware: Vec<Arc<dyn Middleware>>,
    access: Access,
    /// The first mistake that was noticed before the server was built.
    mistake: Option<BuildError>,
    legacy: Legacy,
    session_limits: SessionLimits,
}

impl Builder {
    /// The number of tools, prompts or resources on a page of a list, unless [`page_size`](Self::page_size) sets
    /// another.
    pub const DEFAULT_PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(1000).expect("it is not zero");

    /// Seals states with this sealer. Without it, the server seals them with a key of this process alone.
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

    /// Offers all resources of a template. If several templates match a URI, the first one reads it.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// Tells a model how to use the server.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets the name of the server that people see.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.define(|info| info.title = Some(title.into()))
    }

    /// Changes any other member of what the server says of itself.
    ///
    /// ```
    /// # use mrtr_server::Server;
    /// let builder = Server::builder("notes", "1.0.0").title("Notes").define(|info| {
    ///     info.description = Some("The notebook of a team".into());
    ///     info.website_url = Some("https://notes.example.com".into());
    /// });
    /// ```
    pub fn define(mut self, change: impl FnOnce(&mut Implementation)) -> Self {
        change(&mut self.info);
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

    /// Says how long clients may keep lists, and what the server says of itself. By default, they may not keep them.
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

    /// Tells callers why a handler failed, and why a state was refused: for development, where the caller is the
    /// author.
    ///
    /// Without it they get a reference, and the log has the cause under it. A cause may hold what no caller should see
    /// (a path, a query, an address inside), so the log warns of a server that is built to explain its failures.
    ///
    /// ```
    /// use mrtr_server::testing::Client;
    /// use mrtr_server::{Flow, Server, Tool};
    /// use serde_json::json;
    ///
    /// async fn read(_: Flow) -> Result<String, std::io::Error> {
    ///     std::fs::read_to_string("/no/such/file")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_server::BuildError> {
    /// let server = Server::builder("reader", "1.0.0").tool(Tool::new("read", read)).explain_failures().build()?;
    /// let text = Client::new(&server).call_tool("read", json!({})).await.expect_tool_error();
    /// assert!(text.starts_with("The tool `read` failed (reference "));
    /// assert!(text.contains("o such file"));
    /// # Ok(()) }
    /// ```
    pub fn explain_failures(mut self) -> Self {
        self.explains_failures = true;
        self
    }

    /// Puts flows down at yield points when the server is too busy.
    pub fn shedder(mut self, shedder: impl Shedder) -> Self {
        self.shedder = Some(Arc::new(shedder));
        self
    }

    /// Puts middleware around every request. The server asks the middleware first that was added first.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Asks this policy what callers may do: in every round of every method, and for each entry of a list.
    ///
    /// A list depends on who asks then: clients may keep it for themselves alone, whatever
    /// [`list_caching`](Self::list_caching) says.
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.access.policy = Some(Arc::new(policy));
        self
    }

    /// Says which other scopes, groups or roles satisfy a scope: the function is asked when the credentials do not have
    /// the scope by its name.
    ///
    /// ```
    /// # use mrtr_server::Server;
    /// let builder = Server::builder("files", "1.0.0")
    ///     .satisfies(|caller, scope| caller.has_scope("admin") || (scope == "files:read" && caller.is_in("staff")));
    /// ```
    pub fn satisfies(mut self, satisfies: impl Fn(&Identity, &str) -> bool + Send + Sync + 'static) -> Self {
        self.access.satisfies = Some(Arc::new(satisfies));
        self
    }

    /// Lets handlers ask clients for an application's own input, if those clients declare it.
    ///
    /// The published protocol knows three kinds of input and no others, so a server asks for another only if it was
    /// built to. A handler that asks for an input that is not registered fails.
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
    pub fn input<I: NamespacedInput + 'static>(mut self) -> Self {
        self.inputs.insert::<I>();
        self.check_input::<I>()
    }

    /// Lets handlers ask for an application's own input, and has a client that did not declare it visit a URL instead:
    /// see [`Ask::until`](crate::flow::Ask::until).
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
        self.check_input::<I>()
    }

    /// Makes sure that the answers can be checked, and that no other type has the method. The author learns of a mistake now, and not when a handler asks.
    fn check_input<I: NamespacedInput + 'static>(mut self) -> Self {
        if let Err(reason) = SchemaCheck::of::<I::Response>() {
            self.mistake.get_or_insert(BuildError::Input { method: I::METHOD.to_string(), reason });
        }
        let (method, this) = (I::METHOD.to_string(), TypeId::of::<I>());
        if self.input_types.iter().any(|(known, other)| *known == method && *other != this) {
            self.mistake.get_or_insert(BuildError::Duplicate { what: "inputs", name: method.clone() });
        }
        self.input_types.push((method, this));
        self
    }

    /// Says how the server serves clients that begin with `initialize`: in sessions, by default.
    pub fn legacy(mut self, legacy: Legacy) -> Self {
        self.legacy = legacy;
        self
    }

    /// Limits what sessions may take.
    pub fn session_limits(mut self, limits: SessionLimits) -> Self {
        self.session_limits = limits;
        self
    }

    /// Adds an extension.
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.extensions.push(Arc::new(extension));
        self
    }

    /// Builds the server.
    pub fn build(self) -> Result<Server, BuildError> {
        let runs_tasks = self.extensions.iter().any(|extension| extension.runs_tasks());
        if !runs_tasks {
            warn_of_idle_policies(&self.tools);
        }
        let tools = self.tools.into_iter().map(|tool| tool.prepare(runs_tasks));
        let prompts = self.prompts.into_iter().map(Prompt::prepare);
        let resources = self.resources.into_iter().map(Resource::prepare);
        let templates = self.templates.into_iter().map(ResourceTemplate::prepare);
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        check_extensions(&self.extensions)?;
        let sealer = self.sealer.unwrap_or_else(Sealer::this_process_only);
        if self.explains_failures {
            let server = &self.info.name;
            tracing::warn!(
                server,
                "failures are explained to callers, inner detail included: remove `explain_failures` from the builder before others call this server"
            );
        }
        let (changes, mut states) = (Changes::new(), self.states);
        states.attach(ServerChanges(changes.clone()));
        let environment = Environment::sealed_by(sealer.clone()).clock(Arc::clone(&self.clock));
        let environment = environment.with(states, self.inputs).run_deadline(self.run_deadline);
        let shared = Shared {
            sealer,
            clock: self.clock,
            environment: Arc::new(environment),
            load: Gauge::default(),
            detached: Gauge::default(),
            shedder: self.shedder,
            changes,
            explains_failures: self.explains_failures,
            #[cfg(feature = "testing")]
            causes: crate::support::causes::Causes::default(),
        };
        let mut parts = Parts {
            reservations: reservation_thread(&shared.clock),
            results: ResultWriter::new(self.info),
            instructions: self.instructions,
            shared: Arc::new(shared),
            tools: unique(tools, |tool| &tool.definition.name, duplicate("tools"))?,
            prompts: unique(prompts, |prompt| &prompt.definition.name, duplicate("prompts"))?,
            resources: unique(resources, |resource| &resource.definition.uri, duplicate_uri("resources"))?,
            templates: unique(templates, |template| &template.definition.uri_template, duplicate_uri("templates"))?,
            lists: self.lists,
            extensions: self.extensions,
            middleware: self.middleware,
            access: self.access,
        };
        parts.access.is_asked = parts.access.policy.is_some() || parts.needs_scopes();
        if parts.access.policy.is_some() {
            parts.lists.caching.keep_private();
        }
        let parts = Arc::new(parts);
        for extension in &parts.extensions {
            let attached = extension.attached(Host::of(&parts));
            attached.map_err(|reason| BuildError::Extension { name: extension.name().to_owned(), reason })?;
        }
        let sessions = Sessions::new(Arc::clone(&parts), self.legacy, self.session_limits);
        Ok(Server(Arc::new(Inner { parts, sessions })))
    }
}

/// Warns of tools whose flows may become tasks, where nothing runs tasks: such a flow fails when it calls `into_task`.
fn warn_of_idle_policies(tools: &[Tool]) {
    let names = tools.iter().filter(|tool| tool.settings.tasks == TaskPolicy::ByFlow);
    for definition in names.filter_map(|tool| tool.definition.as_ref().ok()) {
        tracing::warn!(
            tool = definition.name,
            "the tool has `TaskPolicy::ByFlow`, and nothing on the server runs tasks: \
             give the builder `.extension(Tasks::new(…))`"
        );
    }
}

/// Refuses two extensions of one name: requests would reach only the first.
fn check_extensions(extensions: &[Arc<dyn Extension>]) -> Result<(), BuildError> {
    let names: Vec<_> = extensions.iter().map(|extension| extension.name()).collect();
    match (1..names.len()).find(|&place| names[..place].contains(&names[place])) {
        Some(place) => Err(BuildError::Duplicate { what: "extensions", name: names[place].to_owned() }),
        None => Ok(()),
    }
}

/// The parts by name or URI, in the order in which they were added. `twice` makes the error for two of one name.
fn unique<T>(
    all: impl Iterator<Item = Result<T, BuildError>>,
    name: impl Fn(&T) -> &str,
    twice: impl Fn(String) -> BuildError,
) -> Result<ByName<T>, BuildError> {
    let mut map = ByName::default();
    for one in all {
        let one = one?;
        let name = name(&one).to_owned();
        if map.insert(name.clone(), one).is_some() {
            return Err(twice(name));
        }
    }
    Ok(map)
}

fn duplicate(what: &'static str) -> impl Fn(String) -> BuildError {
    move |name| BuildError::Duplicate { what, name }
}

fn duplicate_uri(what: &'static str) -> impl Fn(String) -> BuildError {
    move |uri| BuildError::DuplicateUri { what, uri }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.info.name).field("tools", &self.tools).finish_non_exhaustive()
    }
}
