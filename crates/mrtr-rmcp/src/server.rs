//! An rmcp server whose tools, prompts and resources are flows: an rmcp handler, and what it is made of.

mod handler;
mod lists;
mod message;
mod modern;
mod notices;
mod owners;
mod session;

use std::fmt;
use std::sync::Arc;

use mrtr_server::{BuildError, Caller, Identity, Server, Tool};
use rmcp::model::{Extensions, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

pub use message::IntoMrtr;
pub use owners::{OwnedSessions, SessionOwners};

use crate::identity::{Identify, Told};
use lists::{Declared, union};
use notices::Notices;
use session::Sessions;

/// A server of flows, as an rmcp [`ServerHandler`]: by itself, or beside a handler of rmcp's own.
///
/// It serves both of rmcp's lifecycles. A client that discovers gets rounds with sealed states, and tasks if the server
/// has them. A client that initializes gets questions in its session, while its call stays open.
///
/// All clones are one server: rmcp's transports may give each session a clone.
///
/// ```
/// use mrtr_rmcp::Flows;
/// use mrtr_server::{Failure, Flow, Server, Tool};
/// use rmcp::ServerHandler;
///
/// # #[derive(Clone)] struct Calculator;
/// # impl ServerHandler for Calculator {}
/// async fn greet(_: Flow) -> Result<&'static str, Failure> {
///     Ok("Hello")
/// }
///
/// let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
/// let handler = Flows::new(server).beside(Calculator);
/// assert!(handler.get_info().capabilities.tools.is_some());
/// assert!(handler.get_tool("greet").is_some());
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
pub struct Flows<H = Alone> {
    server: Server,
    other: Option<H>,
    declared: Arc<Declared>,
    identify: Identify,
    notices: Arc<Notices>,
    sessions: Arc<Sessions>,
}

/// The handler type of flows that have no other handler beside them. It has no values.
///
/// ```
/// use mrtr_rmcp::{Alone, Flows};
///
/// struct App {
///     handler: Flows<Alone>,
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "there is none")]
pub enum Alone {}

impl ServerHandler for Alone {}

impl Flows {
    /// Creates a handler of this server's flows and of nothing else.
    pub fn new(server: Server) -> Self {
        Self {
            other: None,
            declared: Arc::new(Declared::of(&server)),
            identify: Identify::default(),
            notices: Arc::default(),
            sessions: Arc::new(Sessions::new(server.clone())),
            server,
        }
    }

    /// Creates a handler of one tool. It seals states with a key that only this process has: for more than one
    /// instance, or for states that outlive a restart, build a [`Server`] with a sealer.
    ///
    /// ```
    /// use mrtr_rmcp::Flows;
    /// use mrtr_server::{Failure, Flow, Tool};
    ///
    /// let handler = Flows::of_tool(Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello")))?;
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    pub fn of_tool(tool: Tool) -> Result<Self, BuildError> {
        Server::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).tool(tool).build().map(Self::new)
    }

    /// Offers these flows beside what another handler offers. Where both have the same tool, prompt or resource, the
    /// flow wins, and clients cannot reach the other handler's. Name, version and instructions are the other handler's,
    /// in the replies of flows too.
    ///
    /// All sessions share a handler that is given once. To give each session a handler of its own, call this where rmcp
    /// asks for one. Build the server once even then: tasks and sessions belong to it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use mrtr_rmcp::Flows;
    /// # use mrtr_server::Server;
    /// # use rmcp::ServerHandler;
    /// # use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
    /// # use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
    /// # #[derive(Default)] struct Desk;
    /// # impl ServerHandler for Desk {}
    /// let flows = Flows::new(Server::builder("desk", "1.0.0").build()?);
    /// let service = StreamableHttpService::new(
    ///     move || Ok(flows.clone().beside(Desk::default())),
    ///     Arc::new(LocalSessionManager::default()),
    ///     StreamableHttpServerConfig::default(),
    /// );
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    pub fn beside<H: ServerHandler>(self, other: H) -> Flows<H> {
        let Self { server, declared, identify, notices, sessions, .. } = self;
        Flows { server, other: Some(other), declared, identify, notices, sessions }
    }
}

impl<H> Flows<H> {
    /// Sets the function that says who sent a request. States, single use, tasks and the responses in a session are
    /// bound to that caller. Without this function, or where it returns `None`, nothing is bound to anybody. The log warns
    /// once if it returns `None` for an HTTP request.
    ///
    /// rmcp's own sessions are not bound to it: over HTTP any caller that knows a session's id can answer and cancel in
    /// it, unless the service is behind [`session_owners`](Self::session_owners). The log warns once if it is not.
    ///
    /// rmcp does not know who calls. Over HTTP it puts the request's `http::request::Parts` into the extensions, and
    /// what a middleware has established is in the extensions of those parts.
    ///
    /// ```
    /// # use mrtr_rmcp::Flows;
    /// # use mrtr_server::{Caller, Server};
    /// # let server = Server::builder("empty", "1.0.0").build()?;
    /// /// What the middleware leaves behind once it has checked a token.
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// let handler = Flows::new(server).caller(|extensions| {
    ///     let User(name) = extensions.get::<http::request::Parts>()?.extensions.get()?;
    ///     Some(Caller::new("https://id.example.com", name))
    /// });
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn caller(mut self, who: impl Fn(&Extensions) -> Option<Caller> + Send + Sync + 'static) -> Self {
        self.identify.caller = Told::by(who);
        self
    }

    /// Sets the function that says all that is known of a request's sender: caller, tenant, scopes, groups. It decides
    /// where it returns an identity, and [`caller`](Self::caller) and [`tenant`](Self::tenant) decide elsewhere.
    ///
    /// ```
    /// # use mrtr_rmcp::Flows;
    /// # use mrtr_server::{Identity, Server};
    /// # let server = Server::builder("empty", "1.0.0").build()?;
    /// // The middleware that has checked a token leaves it behind.
    /// let handler = Flows::new(server).identity(|extensions| {
    ///     extensions.get::<http::request::Parts>()?.extensions.get::<Identity>().cloned()
    /// });
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn identity(mut self, who: impl Fn(&Extensions) -> Option<Identity> + Send + Sync + 'static) -> Self {
        self.identify.identity = Told::by(who);
        self
    }

    /// Sets the function that says on behalf of which tenant a request was sent, where one server serves several.
    ///
    /// ```
    /// # use mrtr_rmcp::Flows;
    /// # use mrtr_server::Server;
    /// # let server = Server::builder("empty", "1.0.0").build()?;
    /// let handler = Flows::new(server).tenant(|extensions| {
    ///     let host = extensions.get::<http::request::Parts>()?.headers.get("host")?.to_str().ok()?;
    ///     Some(host.split('.').next()?.to_owned())
    /// });
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn tenant(mut self, whose: impl Fn(&Extensions) -> Option<String> + Send + Sync + 'static) -> Self {
        self.identify.tenant = Told::by(whose);
        self
    }

    /// Returns the layer for rmcp's HTTP service that binds each session to the caller, and the tenant, that opened it.
    /// The layer tells callers and tenants as these flows do, so call this after [`caller`](Self::caller) and
    /// [`tenant`](Self::tenant).
    ///
    /// The docs of [`SessionOwners`] show where the layer goes.
    pub fn session_owners(&self) -> SessionOwners {
        SessionOwners::new(self.server.sealer().clone(), self.identify.clone(), Arc::clone(&self.notices))
    }
}

impl<H: ServerHandler> Flows<H> {
    /// Returns the caller of a request, and tells the log what a first request shows.
    fn sender(&self, context: &RequestContext<RoleServer>) -> Identity {
        let identity = self.identify.of(&context.extensions);
        self.notices.serving(&self.server, &self.identify);
        self.notices.look_at(context, &self.identify, &identity);
        identity
    }

    /// The configuration that this handler declares.
    fn config(&self) -> ServerConfig {
        let Some(other) = &self.other else { return self.declared.config() };
        let mut config = other.get_info();
        config.capabilities = union(&self.declared.modern, config.capabilities);
        config
    }
}

impl<H: Clone> Clone for Flows<H> {
    fn clone(&self) -> Self {
        Self {
            server: self.server.clone(),
            other: self.other.clone(),
            declared: Arc::clone(&self.declared),
            identify: self.identify.clone(),
            notices: Arc::clone(&self.notices),
            sessions: Arc::clone(&self.sessions),
        }
    }
}

impl<H> fmt::Debug for Flows<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flows").field("server", &self.server).finish_non_exhaustive()
    }
}
