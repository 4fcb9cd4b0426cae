//! A scripted client in memory, for testing flows: call, see the questions, answer, see the result.
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

mod check;
mod clock;
mod conversation;

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use mrtr_flow::Caller;
use mrtr_schema::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use mrtr_schema::meta::{ProgressToken, RequestMeta};
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::{ClientCapabilities, Feature, InRevision, JsonObject, LoggingLevel, Revision, Wire};
use serde_json::{Map, Value, json};

use crate::protocol::reply::ReplyStream;

pub use check::{Problems, check};
pub use clock::FixedClock;
pub use conversation::Conversation;

use crate::protocol::context::Context;
use crate::protocol::reply::Reply;
use crate::server::Server;

/// A client in memory.
///
/// ```
/// use mrtr_server::testing::Client;
/// use mrtr_server::{Caller, Failure, Flow, Server, Tool};
/// use serde_json::json;
///
/// async fn whoami(flow: Flow) -> Result<String, Failure> {
///     Ok(flow.principal().map_or("nobody", Caller::subject).to_owned())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("who", "1.0.0").tool(Tool::new("whoami", whoami)).build().unwrap();
/// let ann = Client::new(&server).calling_as(Caller::new("https://id.example.com", "ann"));
/// assert_eq!(ann.call_tool("whoami", json!({})).await.expect_text(), "ann");
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    server: Server,
    context: Context<'static>,
    capabilities: ClientCapabilities,
    progress: Option<ProgressToken>,
    log: Option<LoggingLevel>,
    watch: ReservationContext,
}

/// The check that runs on every message of the server.
#[derive(Clone)]
#[expect(clippy::type_complexity, reason = "this is the name for it")]
struct ReservationContext(Arc<dyn Fn(Revision, &str, &Value) + Send + Sync>);

impl fmt::Debug for ReservationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReservationContext")
    }
}

impl Client {
    /// A client of this server that can be asked everything the protocol itself defines.
    pub fn new(server: &Server) -> Self {
        server.parts().shared.causes.start();
        Self {
            server: server.clone(),
            context: Context::new(),
            capabilities: everything(),
            progress: None,
            log: None,
            watch: ReservationContext(Arc::new(|_, _, _| {})),
        }
    }

    /// Talks to another server, like a client whose requests are spread over several servers.
    #[must_use]
    pub fn at(&self, server: &Server) -> Self {
        server.parts().shared.causes.start();
        Self { server: server.clone(), ..self.clone() }
    }

    /// Declares these capabilities instead.
    #[must_use]
    pub fn declaring(mut self, capabilities: ClientCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Declares an extension besides: an application's own input, for example.
    #[must_use]
    pub fn declaring_extension(mut self, name: impl Into<String>) -> Self {
        self.capabilities.extensions.get_or_insert_default().insert(name.into(), JsonObject::default());
        self
    }

    /// Asks for progress notifications, under this token.
    #[must_use]
    pub fn hearing_progress(mut self, token: &str) -> Self {
        self.progress = Some(ProgressToken(token.into()));
        self
    }

    /// Asks for log messages of this level and above.
    #[must_use]
    pub fn hearing_logs(mut self, level: LoggingLevel) -> Self {
        self.log = Some(level);
        self
    }

    /// Changes the context of its requests, which a transport would set.
    #[must_use]
    pub fn in_context(mut self, change: impl FnOnce(Context<'static>) -> Context<'static>) -> Self {
        self.context = change(self.context);
        self
    }

    /// Runs a check on each message that the server sends, with the revision and the method of the request.
    ///
    /// ```
    /// # use mrtr_server::{Server, testing::Client};
    /// # let server = Server::builder("empty", "1.0.0").build().unwrap();
    /// let client = Client::new(&server).watched_by(|_revision, method, message| println!("{method}: {message}"));
    /// ```
    #[must_use]
    pub fn watched_by(mut self, watch: impl Fn(Revision, &str, &Value) + Send + Sync + 'static) -> Self {
        self.watch = ReservationContext(Arc::new(watch));
        self
    }

    /// Sets the revision that the client speaks.
    #[must_use]
    pub fn speaking(mut self, revision: Revision) -> Self {
        self.context = self.context.revision(revision);
        self
    }

    /// Sets the caller who sends the requests.
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

    /// Gets a prompt.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Conversation {
        self.request("prompts/get", json!({ "name": name, "arguments": arguments })).await
    }

    /// Reads a resource.
    pub async fn read_resource(&self, uri: &str) -> Conversation {
        self.request("resources/read", json!({ "uri": uri })).await
    }

    /// Sends any request, with these members as its parameters.
    ///
    /// # Panics
    ///
    /// If they are no object.
    pub async fn request(&self, method: &str, params: Value) -> Conversation {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        self.begin(method, params).await
    }

    /// Subscribes to what the filter says.
    ///
    /// # Panics
    ///
    /// If the server does not answer with a stream.
    pub async fn listen(&self, wanted: SubscriptionFilter) -> Listening {
        let revision = self.context.caller.revision;
        let wanted = wanted.to_json(revision).expect("a filter is JSON");
        let wanted: Value = serde_json::from_str(&wanted).expect("a filter is JSON");
        let mut params = Map::new();
        params.insert("notifications".to_owned(), wanted);
        match self.reply(1, "subscriptions/listen", params).await {
            Reply::Subscription(messages) => Listening::new(messages, self.clone()),
            reply => panic!("no stream, but {reply:?}"),
        }
    }

    /// Sends any request.
    pub async fn begin(&self, method: &str, params: Map<String, Value>) -> Conversation {
        Conversation::begin(self.clone(), method.to_owned(), params).await
    }

    /// Sends one request as it is, with metadata added where the revision wants it, and returns the messages that come
    /// back: notifications, and the response as the last one.
    async fn send(&self, id: u64, method: &str, params: Map<String, Value>) -> Vec<Value> {
        let messages: Vec<String> = match self.reply(id, method, params).await {
            Reply::Message { body, .. } => vec![body],
            Reply::Stream(messages) | Reply::Subscription(messages) => messages.collect().await,
            Reply::Accepted => Vec::new(),
        };
        messages.iter().map(|message| self.seen(method, message)).collect()
    }

    async fn reply(&self, id: u64, method: &str, mut params: Map<String, Value>) -> Reply {
        let revision = self.context.caller.revision;
        let mut context = self.context.clone();
        let mut meta = RequestMeta::new();
        if revision.has(Feature::RequestMetadata) {
            meta = RequestMeta::declaring(revision, self.capabilities.clone());
            meta.log_level = self.log;
        } else {
            context = context.capabilities(self.capabilities.clone());
        }
        meta.progress_token.clone_from(&self.progress);
        if meta != RequestMeta::new() {
            let meta = serde_json::to_value(InRevision::new(&meta, revision)).expect("metadata is JSON");
            params.entry("_meta").or_insert(meta);
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        // The server's own future is large; boxed, it does not make that of every test large.
        Box::pin(self.server.handle(message.to_string().into(), context)).await
    }

    fn seen(&self, method: &str, message: &str) -> Value {
        let message = serde_json::from_str(message).expect("a message is JSON");
        (self.watch.0)(self.context.caller.revision, method, &message);
        message
    }
}

/// Every capability that the protocol itself defines for being asked.
///
/// ```
/// let capabilities = mrtr_server::testing::everything();
/// assert!(capabilities.elicits_urls() && capabilities.samples_with_tools());
/// ```
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

/// A subscription: the server's notifications, and at its end the response. Dropping it ends the subscription.
///
/// ```
/// use mrtr_schema::subscriptions::SubscriptionFilter;
/// use mrtr_server::testing::Client;
/// use mrtr_server::{Failure, Flow, Server, Tool};
///
/// # async fn greet(_: Flow) -> Result<&'static str, Failure> { Ok("Hello") }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap();
/// let mut wanted = SubscriptionFilter::new();
/// wanted.tools_list_changed = Some(true);
/// let mut listening = Client::new(&server).listen(wanted).await;
/// assert_eq!(listening.next().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
/// server.changes().tools_changed();
/// assert_eq!(listening.next().await.unwrap()["method"], "notifications/tools/list_changed");
/// # }
/// ```
#[derive(Debug)]
pub struct Listening {
    messages: ReplyStream,
    client: Client,
}

impl Listening {
    fn new(messages: ReplyStream, client: Client) -> Self {
        Self { messages, client }
    }

    /// The next message; `None` after the response.
    pub async fn next(&mut self) -> Option<Value> {
        let message = self.messages.next().await?;
        Some(self.client.seen("subscriptions/listen", &message))
    }

    /// Takes all messages that have come already.
    pub fn heard(&mut self) -> Vec<Value> {
        let mut heard = Vec::new();
        while let Some(Some(message)) = futures_util::FutureExt::now_or_never(self.next()) {
            heard.push(message);
        }
        heard
    }
}
