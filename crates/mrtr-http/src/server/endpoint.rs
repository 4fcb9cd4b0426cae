//! One endpoint: a request from its head to its response.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Request, Response, header};
use mrtr_schema::{
    ClientCapabilities, ElicitationCapability, JsonObject, Revision, RootsCapability, SamplingCapability,
};
use mrtr_server::{Context, HeaderClaim, Headers, Server};
use tokio::sync::Semaphore;
use tower_service::Service;

use super::authenticate::{Anonymous, Authenticator, Identity};
use super::body::Body;
use super::origin::AllowedHosts;
use super::read::{Unread, read};
use super::respond::{Refusal, respond};
use crate::header_text;

/// A server at one URL: a plain tower and hyper service. Cheap to clone.
///
/// It takes requests for this machine by its loopback names; [`allow_host`](Self::allow_host) adds others.
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
    settings: Arc<Settings>,
}

#[derive(Debug, Clone)]
pub(super) struct Settings {
    revision: Revision,
    /// What clients of an older revision can do.
    capabilities: ClientCapabilities,
    authenticator: Arc<dyn Authenticator>,
    hosts: AllowedHosts,
    body_limit: usize,
    arrival: Duration,
    pub(super) keep_alive: Duration,
    running: Arc<Semaphore>,
}

impl Endpoint {
    /// Serves whoever the authenticator lets in.
    pub fn new(server: Server, authenticator: impl Authenticator) -> Self {
        let settings = Settings {
            revision: Revision::default(),
            capabilities: everything(),
            authenticator: Arc::new(authenticator),
            hosts: AllowedHosts::default(),
            body_limit: 4 << 20,
            arrival: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            running: Arc::new(Semaphore::new(DEFAULT_CONCURRENCY)),
        };
        Self { server, settings: Arc::new(settings) }
    }

    /// Serves anybody who can reach it.
    pub fn anonymous(server: Server) -> Self {
        Self::new(server, Anonymous)
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Serves an older revision, whose clients are taken to be able to do all that they can be asked.
    #[must_use]
    pub fn revision(self, revision: Revision) -> Self {
        self.set(|settings| settings.revision = revision)
    }

    /// What clients of an older revision can do: its requests do not say so.
    #[must_use]
    pub fn capabilities(self, capabilities: ClientCapabilities) -> Self {
        self.set(|settings| settings.capabilities = capabilities)
    }

    /// Takes requests for this host, and from pages of it.
    #[must_use]
    pub fn allow_host(self, host: impl AsRef<str>) -> Self {
        self.set(|settings| settings.hosts.add(host.as_ref()))
    }

    /// Takes bodies of at most this many bytes. 4 MiB by default.
    #[must_use]
    pub fn body_limit(self, bytes: usize) -> Self {
        self.set(|settings| settings.body_limit = bytes)
    }

    /// Waits this long for a body to arrive. Ten seconds by default.
    #[must_use]
    pub fn arrival(self, limit: Duration) -> Self {
        self.set(|settings| settings.arrival = limit)
    }

    /// Runs this many requests at a time; others are sent away for a second. 4096 by default.
    #[must_use]
    pub fn concurrency(self, most: usize) -> Self {
        self.set(|settings| settings.running = Arc::new(Semaphore::new(most)))
    }

    /// Says something on quiet streams after this long. 15 seconds by default.
    #[must_use]
    pub fn keep_alive(self, every: Duration) -> Self {
        self.set(|settings| settings.keep_alive = every)
    }

    /// Answers a request.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
    {
        match self.answer(request).await {
            Ok(response) => response,
            Err(refusal) => {
                tracing::debug!(?refusal, "a request was refused");
                refusal.into_response()
            }
        }
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let settings = &self.settings;
        let (head, body) = request.into_parts();
        check_head(&head, &settings.hosts)?;
        let identity = settings.authenticator.authenticate(&head).await.map_err(Refusal::Unauthenticated)?;
        let permit = Arc::clone(&settings.running).try_acquire_owned().map_err(|_| Refusal::Overloaded)?;
        let body = tokio::time::timeout(settings.arrival, read(body, settings.body_limit)).await;
        let body = body.map_err(|_| Refusal::TooSlow)?.map_err(|unread| match unread {
            Unread::TooLarge => Refusal::TooLarge,
            Unread::Broken => Refusal::Broken,
        })?;
        let reply = self.server.handle(body, self.context(&head, identity)).await;
        Ok(respond(reply, settings, Some(permit)))
    }

    fn context(&self, head: &Parts, identity: Identity) -> Context {
        let mut context = Context::new().revision(self.settings.revision).caller(identity.caller);
        if let Some(tenant) = identity.tenant {
            context = context.tenant(tenant);
        }
        if self.settings.revision == Revision::Published {
            context.headers(claims(&head.headers))
        } else {
            context.capabilities(self.settings.capabilities.clone())
        }
    }
}

/// All that a client can be asked.
fn everything() -> ClientCapabilities {
    let offered = || Some(JsonObject::default());
    let mut elicitation = ElicitationCapability::new();
    (elicitation.form, elicitation.url) = (offered(), offered());
    let mut sampling = SamplingCapability::new();
    (sampling.tools, sampling.context) = (offered(), offered());
    let mut capabilities = ClientCapabilities::new();
    capabilities.elicitation = Some(elicitation);
    capabilities.sampling = Some(sampling);
    capabilities.roots = Some(RootsCapability::new());
    capabilities
}

/// As many requests at a time as a small machine can hold in memory.
const DEFAULT_CONCURRENCY: usize = 4096;

/// What can be seen before the body is read, in the order of the protocol.
fn check_head(head: &Parts, hosts: &AllowedHosts) -> Result<(), Refusal> {
    if !hosts.allow(head) {
        return Err(Refusal::ForeignOrigin);
    }
    if head.method != Method::POST {
        return Err(Refusal::NotPost);
    }
    if !is_json(&head.headers) {
        return Err(Refusal::NotJson);
    }
    if !accepts_both(&head.headers) {
        return Err(Refusal::NotAcceptable);
    }
    Ok(())
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|value| is_media_type(value, "application/json"))
}

/// Whether the client takes a reply of either kind: which one comes is not known yet.
fn accepts_both(headers: &HeaderMap) -> bool {
    let accepts = |wanted: &str| {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let group = wanted.split_once('/').map_or("", |(group, _)| group);
        values.flat_map(|value| value.split(',')).any(|range| {
            let range = range.split(';').next().unwrap_or_default().trim();
            range == "*/*" || range.eq_ignore_ascii_case(wanted) || range.strip_suffix("/*") == Some(group)
        })
    };
    accepts("application/json") && accepts("text/event-stream")
}

fn is_media_type(value: &str, wanted: &str) -> bool {
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

/// What the headers claim; the server compares it with the body.
fn claims(headers: &HeaderMap) -> Headers {
    Headers {
        version: claim(headers, &PROTOCOL_VERSION),
        method: claim(headers, &METHOD),
        name: claim(headers, &NAME),
        params: headers
            .iter()
            .filter_map(|(name, value)| {
                let param = name.as_str().strip_prefix(PARAM_PREFIX)?;
                Some((param.to_owned(), readable(value)))
            })
            .collect(),
    }
}

fn claim(headers: &HeaderMap, name: &HeaderName) -> HeaderClaim {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderClaim::Missing,
        (Some(value), None) => readable(value),
        // Two headers of one name could each be believed by somebody.
        (Some(_), Some(_)) => HeaderClaim::Unreadable,
    }
}

fn readable(value: &http::HeaderValue) -> HeaderClaim {
    let text = value.to_str().ok().and_then(|text| header_text::decode(text.trim()));
    text.map_or(HeaderClaim::Unreadable, HeaderClaim::Text)
}

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM_PREFIX: &str = "mcp-param-";

impl<B> Service<Request<B>> for Endpoint
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.respond(request).await) })
    }
}
