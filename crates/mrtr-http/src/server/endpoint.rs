//! One endpoint: a request from its head to its response.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::extract::ConnectInfo;
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use mrtr_schema::{ClientCapabilities, Era, ErrorCode, Feature, Revision};
use mrtr_server::transport::{FairPool, HeaderClaim, Headers, Holding, Inventory, Permit, Received};
use mrtr_server::{Context, Identity, Reply, Server};
use tower_service::Service;

use super::accounts::{Accounts, Charges, Pools};
use super::authenticate::{Anonymous, Authenticator, RequestHead};
use super::budget::{BodyReservation, UNCOUNTED};
use super::challenge::Challenge;
use super::config::{Callers, EndpointConfig, all_capabilities};
use super::forwarded::{ForwardedHeader, Proxies, is_forwarded};
use super::head;
use super::heavy_requests::HeavyRequests;
use super::http2_streams::PIECE;
use super::link::Peer;
use super::origin::Allowed;
use super::public_url::PublicUrl;
use super::rejection::Rejection;
use super::request_body::{self, is_deeper};
use super::respond::{forbidden, message, reject, respond};
use super::response_body::{ResponseBody, StreamPermits};

/// A server at one URL: a plain tower and hyper service. It is cheap to clone.
///
/// It accepts requests that name this machine by a loopback name; [`allow_host`](Self::allow_host) adds others.
///
/// ```
/// use std::time::Duration;
/// use mrtr_http::Endpoint;
/// use mrtr_server::Server;
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let endpoint = Endpoint::anonymous(server).allow_host("mcp.example.com").body_limit(1 << 20);
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Endpoint {
    server: Server,
    pub(super) config: Arc<EndpointConfig>,
}

impl Endpoint {
    /// The most bytes of a body, unless [`body_limit`](Self::body_limit) says otherwise.
    pub const DEFAULT_BODY_LIMIT: usize = 4 << 20;
    /// The bytes of bodies that the endpoint holds at a time, unless [`body_budget`](Self::body_budget) says otherwise:
    /// as many as a small machine has to spare, 64 of the largest bodies.
    pub const DEFAULT_BODY_BUDGET: usize = 256 << 20;
    /// The size up to which a body does not count in the budget. The number of bodies is limited, so these bytes are
    /// bounded anyway. Few requests are longer: most take nothing of the budget, and the endpoint serves them even
    /// while large, slow ones have taken all of it.
    pub const UNCOUNTED_BODY: usize = UNCOUNTED;
    /// The bytes of replies that wait to be read at a time, unless [`reply_budget`](Self::reply_budget) says otherwise.
    pub const DEFAULT_REPLY_BUDGET: usize = 256 << 20;
    /// The size up to which a reply does not count in the budget: the number of replies is limited, so these bytes are
    /// bounded anyway. Longer replies go out in pieces of this size.
    pub const UNCOUNTED_REPLY: usize = PIECE;
    /// The deepest nesting of JSON, unless [`json_depth`](Self::json_depth) says otherwise: as deep as servers and
    /// clients read anyway.
    pub const DEFAULT_JSON_DEPTH: usize = 128;
    /// The longest time for a body to arrive, unless [`body_timeout`](Self::body_timeout) says otherwise.
    pub const DEFAULT_BODY_TIMEOUT: Duration = Duration::from_secs(10);
    /// The most requests that run at a time, unless [`concurrency`](Self::concurrency) says otherwise: as many as a
    /// small machine can hold in memory.
    pub const DEFAULT_CONCURRENCY: usize = 4096;
    /// The most subscriptions at a time, unless [`subscriptions`](Self::subscriptions) says otherwise.
    pub const DEFAULT_SUBSCRIPTIONS: usize = 4096;
    /// The longest time that a stream may be quiet, unless [`keep_alive`](Self::keep_alive) says otherwise.
    pub const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(15);

    /// Creates an endpoint that serves the callers that the authenticator lets in.
    ///
    /// ```
    /// # use mrtr_http::{Authenticator, Challenge, Endpoint, Identity, RequestHead};
    /// # use mrtr_server::Server;
    /// #[derive(Debug)]
    /// struct Nobody;
    ///
    /// #[async_trait::async_trait]
    /// impl Authenticator for Nobody {
    ///     async fn authenticate(&self, _: &RequestHead<'_>) -> Result<Identity, Challenge> {
    ///         Err(Challenge::bearer())
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::new(Server::builder("empty", "1.0.0").build()?, Nobody);
    /// let request = http::Request::post("http://localhost/mcp")
    ///     .header("content-type", "application/json")
    ///     .header("accept", "application/json, text/event-stream")
    ///     .body(http_body_util::Empty::new())?;
    /// assert_eq!(endpoint.respond(request).await.status(), 401);
    /// # Ok(()) }
    /// ```
    pub fn new(server: Server, authenticator: impl Authenticator) -> Self {
        Self::with(server, Arc::new(authenticator), Callers::Authenticated)
    }

    fn with(server: Server, authenticator: Arc<dyn Authenticator>, callers: Callers) -> Self {
        let config = EndpointConfig {
            revision: Revision::default(),
            capabilities: Arc::new(all_capabilities()),
            authenticator,
            callers,
            allowed: Allowed::default(),
            public_url: None,
            basic_scopes: Vec::new(),
            refusals: Arc::default(),
            body_limit: Self::DEFAULT_BODY_LIMIT,
            json_depth: Self::DEFAULT_JSON_DEPTH,
            body_timeout: Self::DEFAULT_BODY_TIMEOUT,
            keep_alive: Self::DEFAULT_KEEP_ALIVE,
            proxies: Proxies::default(),
            pools: Arc::new(Pools {
                requests: FairPool::new(Self::DEFAULT_CONCURRENCY),
                subscriptions: FairPool::new(Self::DEFAULT_SUBSCRIPTIONS),
                bodies: FairPool::new(Self::DEFAULT_BODY_BUDGET),
                replies: FairPool::new(Self::DEFAULT_REPLY_BUDGET),
                heavy_requests: HeavyRequests::new(),
            }),
        };
        Self { server, config: Arc::new(config) }
    }

    /// Creates an endpoint that serves every caller that can reach it.
    pub fn anonymous(server: Server) -> Self {
        Self::with(server, Arc::new(Anonymous), Callers::Anonymous)
    }

    /// Serves the callers that this authenticator lets in, and no others.
    #[must_use]
    pub fn authenticator(self, authenticator: impl Authenticator) -> Self {
        self.set(|config| {
            config.authenticator = Arc::new(authenticator);
            config.callers = Callers::Authenticated;
        })
    }

    /// Finds settings that cannot work together.
    pub(super) fn check(&self) -> Result<(), String> {
        let issuers = self.config.authenticator.authorization_servers();
        match &issuers[..] {
            [first, ..] if self.config.public_url.is_none() => Err(format!(
                "tokens of {first} must be for this server, and nothing says under which URL clients know it: give the \
                 endpoint `.public_url(\"https://…/mcp\")`"
            )),
            _ => Ok(()),
        }
    }

    fn set(mut self, change: impl FnOnce(&mut EndpointConfig)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    fn set_pools(self, change: impl FnOnce(&mut Pools)) -> Self {
        self.set(|config| change(Arc::make_mut(&mut config.pools)))
    }

    /// Serves a draft of the pattern. Unless [`capabilities`](Self::capabilities) says otherwise, the endpoint assumes
    /// that its clients can do everything that a server can ask for.
    ///
    /// # Panics
    /// Panics with a revision of the legacy era: those have sessions, and no path of their own.
    #[must_use]
    pub fn revision(self, revision: Revision) -> Self {
        assert!(revision.era() == Era::Modern, "{revision} has no path of its own");
        self.set(|config| config.revision = revision)
    }

    /// Sets what clients of an older revision can do, since their requests do not say so.
    #[must_use]
    pub fn capabilities(self, capabilities: ClientCapabilities) -> Self {
        self.set(|config| config.capabilities = Arc::new(capabilities))
    }

    /// Says under which URL clients know the endpoint, also where a proxy is in front of it.
    ///
    /// All else follows: the endpoint takes requests for its host, and names it as its resource identifier, as the
    /// audience that tokens must have, in challenges, and in its metadata. No header of a request changes it.
    ///
    /// ```
    /// use mrtr_http::Endpoint;
    /// use mrtr_server::Server;
    ///
    /// let server = Server::builder("empty", "1.0.0").build()?;
    /// let endpoint = Endpoint::anonymous(server).public_url("https://mcp.example.com/mcp".parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn public_url(self, url: PublicUrl) -> Self {
        self.set(|config| {
            config.allowed.add_host(url.host());
            config.public_url = Some(url);
        })
    }

    /// Names the scopes that make basic use possible, for clients that ask for scopes before they know what they need.
    /// A tool that needs more says so when it is called.
    ///
    /// `offline_access` is between a client and its issuer, and is left out.
    #[must_use]
    pub fn basic_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        let mut scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        if scopes.iter().any(|scope| scope == OFFLINE) {
            tracing::warn!("`{OFFLINE}` is no scope of a server's: it is left out of the metadata");
            scopes.retain(|scope| scope != OFFLINE);
        }
        self.set(|config| config.basic_scopes = scopes)
    }

    /// Accepts requests for this host, and from pages of it. The endpoint always accepts loopback names.
    #[must_use]
    pub fn allow_host(self, host: impl AsRef<str>) -> Self {
        self.set(|config| config.allowed.add_host(host.as_ref()))
    }

    /// Accepts requests from pages of this origin, such as `https://app.example.com`.
    #[must_use]
    pub fn allow_origin(self, origin: impl AsRef<str>) -> Self {
        self.set(|config| config.allowed.add_origin(origin.as_ref()))
    }

    /// Accepts bodies of at most this many bytes. 4 MiB by default.
    #[must_use]
    pub fn body_limit(self, bytes: usize) -> Self {
        self.set(|config| config.body_limit = bytes)
    }

    /// Holds this many bytes of bodies at a time; what does not fit is sent away for a second. 256 MiB by default.
    ///
    /// A request that is sent away gets 503 with `Retry-After: 1`. The endpoint counts memory as it takes it for what
    /// arrives, in parts of 64 KiB. It gives the memory back when it has answered the round or, with a stream or a
    /// subscription, when that ends. A body of up to 4 KiB does not count: [`concurrency`](Self::concurrency) and
    /// [`subscriptions`](Self::subscriptions) bound those, so a few large, slow bodies keep no small one out. A body
    /// that is larger than three quarters of the budget is over the limit.
    #[must_use]
    pub fn body_budget(self, bytes: usize) -> Self {
        self.set_pools(|pools| pools.bodies = FairPool::new(bytes))
    }

    /// Keeps this many bytes of replies that wait to be read. Beyond it, the endpoint breaks off unread replies, those
    /// of the caller that has most first. 256 MiB by default.
    ///
    /// A reply counts from when it is there until its client has read it. One of up to 16 KiB does not count.
    #[must_use]
    pub fn reply_budget(self, bytes: usize) -> Self {
        self.set_pools(|pools| pools.replies = FairPool::new(bytes))
    }

    /// Trusts the proxies in this network. The endpoint then knows an anonymous caller by the address that such a proxy
    /// forwards it for, which decides on its [share](Self::concurrency). None by default.
    ///
    /// The last address in [the header](Self::forwarded_header) that is outside all such networks counts: any client
    /// may have written those before it. `trusted_proxy([10, 0, 0, 0], 8)` is the network 10.0.0.0/8.
    #[must_use]
    pub fn trusted_proxy(self, network: impl Into<IpAddr>, prefix: u8) -> Self {
        self.set(|config| config.proxies.trust(network.into(), prefix))
    }

    /// Reads this header from trusted proxies. `X-Forwarded-For` by default.
    #[must_use]
    pub fn forwarded_header(self, header: ForwardedHeader) -> Self {
        self.set(|config| config.proxies.set_header(header))
    }

    /// Accepts JSON that is nested at most this deep. 128 by default.
    #[must_use]
    pub fn json_depth(self, depth: usize) -> Self {
        self.set(|config| config.json_depth = depth)
    }

    /// Waits this long for a body to arrive. Ten seconds by default.
    #[must_use]
    pub fn body_timeout(self, limit: Duration) -> Self {
        self.set(|config| config.body_timeout = limit)
    }

    /// Runs this many requests at a time; others are sent away for a second. 4096 by default.
    ///
    /// A request that is sent away gets 503 with `Retry-After: 1`. A request counts from when its body begins to arrive
    /// until the reply is there or, if that is a stream, until it ends. A round of a single-use tool whose client is
    /// gone counts until it has finished its step.
    ///
    /// The endpoint divides this number between callers, and also those of [subscriptions](Self::subscriptions) and of
    /// bytes: by principal and tenant, or by address where the authenticator names no caller. One caller has at most
    /// three quarters. The last quarter is for callers that hold less than an equal share. In an axum application, the
    /// address is that of its `ConnectInfo<SocketAddr>`; without it, all anonymous callers have one share.
    #[must_use]
    pub fn concurrency(self, most: usize) -> Self {
        self.set_pools(|pools| pools.requests = FairPool::new(most))
    }

    /// Keeps this many subscriptions at a time. 4096 by default. They do not count as requests that run.
    #[must_use]
    pub fn subscriptions(self, most: usize) -> Self {
        self.set_pools(|pools| pools.subscriptions = FairPool::new(most))
    }

    /// Sends a comment on quiet streams after this long. 15 seconds by default.
    #[must_use]
    pub fn keep_alive(self, every: Duration) -> Self {
        self.set(|config| config.keep_alive = every)
    }

    /// Logs that it is served from now on, and where.
    pub(super) fn log(&self, place: &str) {
        let Inventory { name, version, tools, prompts, resources, states_outlive_process, .. } =
            self.server.inventory();
        let key = if states_outlive_process { "given" } else { "of this process only" };
        let callers = self.config.callers.as_str();
        tracing::info!(server = name, version, tools, prompts, resources, key, callers, "serving {place}");
    }

    /// Returns the server behind the endpoint.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Answers a request.
    ///
    /// Dropping this future, or the body of its response, cancels the request.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let address = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        let version = request.version();
        let answered = self.answer(request, Peer { address, link: None }).await;
        answered.unwrap_or_else(|rejection| reject(rejection, version))
    }

    /// Answers a request of this peer, or returns the reason why it does not reach the server.
    pub(super) async fn answer<B>(
        &self,
        request: Request<B>,
        peer: Peer<'_>,
    ) -> Result<Response<ResponseBody>, Rejection>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let arrival = self.server.arrival();
        let config = &self.config;
        let (mut head, body) = request.into_parts();
        if head.method != Method::POST {
            return Box::pin(self.answer_without_body(&head, peer)).await;
        }
        head::check(&head, &config.allowed).map_err(|rejection| self.refused(rejection, &head, peer))?;
        let length = body.size_hint();
        // A body with a known length has no transfer coding.
        if length.exact().is_none() && head::is_transfer_coded(&head.headers) {
            return Err(Rejection::TransferCoded);
        }
        // A caller that is not let in takes neither a permit nor memory for its body.
        let identity = self.identify(&head, peer).await?;
        let accounts = peer.accounts(config, &head, &identity);
        let is_anonymous = identity.is_anonymous();
        let largest = config.largest_body();
        if length.lower() > largest as u64 {
            return Err(Rejection::TooLarge);
        }
        // Bodies take memory, so a request takes its permit before its body is read: there are as many bodies as
        // requests may run.
        let mut permit = accounts.take_request()?;
        let head_bytes = head::size(&head);
        // A long head keeps the buffer of its connection while the server waits for the body, so it counts as a body
        // does.
        let _head = BodyReservation::of(&accounts, head_bytes).map_err(|_| Rejection::NoRoomForHead)?;
        let reading = request_body::read(body, &mut head, largest, &accounts, &mut permit);
        let body = tokio::time::timeout(config.body_timeout, reading).await.map_err(|_| Rejection::TooSlow)??;
        if head_bytes > UNCOUNTED {
            head::keep_needed(&mut head);
        }
        let permit = Permit::new(permit);
        // A round that continues without its connection is a running request, and keeps its permit.
        let context = self.context(&head, identity, &accounts).received(arrival).permit(&permit);
        let is_heavy = accounts.count_heavy(body.len());
        let received = {
            // This checks the depth here, too: the check goes over all of the body, which takes long if it is large.
            let mut receiving = pin!(async {
                if is_deeper(&body, config.json_depth) {
                    return Err(Rejection::TooDeep);
                }
                Ok(self.server.receive(body, context).await)
            });
            // A body of some megabytes takes tens of milliseconds to read, in which one core would serve nothing else.
            let early = if is_heavy { accounts.begin_aside(receiving.as_mut()).await } else { None };
            if let Some(received) = early { received? } else { receiving.await? }
        };
        let charges = Charges::new(Arc::clone(&accounts), peer.link);
        let reply = match received {
            Received::Reply(Reply::Message { body, error: Some((ErrorCode::NOT_ALLOWED, _)) }) => {
                return Ok(forbidden(body, self, is_anonymous, charges));
            }
            Received::Reply(Reply::Message { body, error }) => {
                return Ok(message(body, error, config.revision, charges));
            }
            Received::Reply(reply) => reply,
            Received::Legacy(legacy) => {
                let mut answering = Box::pin(self.answer_legacy(legacy, &head, is_anonymous, charges));
                let early = if is_heavy { accounts.begin_aside(answering.as_mut()).await } else { None };
                return if let Some(answered) = early { answered } else { answering.await };
            }
        };
        self.answer_apart(reply, permit.into_inner(), &accounts, charges)
    }

    /// Asks the authenticator who sent a request.
    pub(super) async fn identify(&self, head: &Parts, peer: Peer<'_>) -> Result<Identity, Rejection> {
        let request = RequestHead::new(head, self.config.public_url.as_ref());
        let identity = self.config.authenticator.authenticate(&request).await;
        identity.map_err(|challenge| {
            let challenge = self.completed(challenge, &self.scopes_of(head));
            self.refused(Rejection::Unauthenticated(Box::new(challenge)), head, peer)
        })
    }

    /// Returns the scopes that a request needs, as far as its head tells.
    #[cold]
    fn scopes_of(&self, head: &Parts) -> Vec<String> {
        let Headers { method: HeaderClaim::Text(method), name, .. } = head::mirrored(&head.headers) else {
            return Vec::new();
        };
        let name = if let HeaderClaim::Text(name) = &name { Some(&**name) } else { None };
        self.server.required_scopes(&method, name)
    }

    /// Adds to a challenge what the endpoint knows.
    #[cold]
    pub(super) fn completed(&self, challenge: Challenge, scopes: &[String]) -> Challenge {
        let has_metadata = !self.config.authenticator.authorization_servers().is_empty();
        let url = self.config.public_url.as_ref().filter(|_| has_metadata).map(PublicUrl::metadata);
        challenge.completed(url.as_deref(), scopes)
    }

    /// Tells the log of a refusal that a setting could change, and returns it. A caller on this machine reads it, too.
    #[cold]
    pub(super) fn refused(&self, rejection: Rejection, head: &Parts, peer: Peer<'_>) -> Rejection {
        let told = self.config.refusals.log(&rejection, head);
        let is_here = peer.address.is_some_and(|address| address.to_canonical().is_loopback());
        match rejection {
            // Behind a proxy on this machine everybody seems to be here.
            Rejection::Foreign(foreign, _) if is_here && !is_forwarded(&head.headers) => {
                Rejection::Foreign(foreign, told)
            }
            rejection => rejection,
        }
    }

    /// Answers with a stream, or with nothing.
    fn answer_apart(
        &self,
        reply: Reply,
        permit: Option<Holding>,
        accounts: &Arc<Accounts>,
        charges: Charges,
    ) -> Result<Response<ResponseBody>, Rejection> {
        let permits = if let Reply::Subscription(stream) = &reply {
            // A subscription does not count as a request that runs. The reservation of its body goes back with the
            // body. What it listens for is kept apart, and counts as it is kept.
            let permit = charges.subscribe(accounts.take_subscription()?);
            StreamPermits::new(Some(permit), BodyReservation::of(accounts, stream.kept_bytes())?)
        } else {
            StreamPermits::new(permit, BodyReservation::default())
        };
        Ok(respond(reply, &self.config, permits, charges))
    }

    pub(super) fn context<'h>(&self, head: &'h Parts, identity: Identity, accounts: &Accounts) -> Context<'h> {
        let revision = self.config.revision;
        let mut context = Context::new().revision(revision).account(accounts.key()).identity(identity);
        if revision.has(Feature::MirroredHeaders) {
            context = context.headers(head::mirrored(&head.headers));
        }
        if !revision.has(Feature::RequestMetadata) {
            context = context.capabilities(Arc::clone(&self.config.capabilities));
        }
        context
    }
}

/// The scope by which a client asks its issuer for a refresh token.
const OFFLINE: &str = "offline_access";

impl From<Server> for Endpoint {
    /// Makes an endpoint that serves every caller that can reach it.
    fn from(server: Server) -> Self {
        Self::anonymous(server)
    }
}

impl<B> Service<Request<B>> for Endpoint
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.respond(request).await) })
    }
}
