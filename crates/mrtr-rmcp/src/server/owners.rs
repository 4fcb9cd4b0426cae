//! Sessions of rmcp's HTTP service that are their callers' alone: a tower layer that gives session ids only their owner
//! can use.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use mrtr_server::{Identity, Sealer};
use rmcp::model::Extensions;
use tower_layer::Layer;
use tower_service::Service;

use super::notices::Notices;
use crate::identity::{Identify, owner_bytes};

/// A tower layer for rmcp's HTTP service that binds each session to the caller who opened it.
///
/// rmcp's session manager does not know callers: any client that sends a session's id can answer the session's
/// questions, cancel its calls, read its streams and end it. Behind this layer the client gets rmcp's id sealed for the
/// caller of `initialize`. Any other caller that sends a POST, GET or DELETE gets 404, as for an unknown id.
///
/// The layer keeps no state, so there is nothing to clean up when a session ends. It seals with the server's
/// [`Sealer`](mrtr_server::Sealer): instances that share its keys know each other's sessions, as they must if rmcp
/// restores sessions from a store. [`Flows::session_owners`](crate::Flows::session_owners) makes it.
///
/// ```
/// use std::sync::Arc;
///
/// use mrtr_rmcp::Flows;
/// use mrtr_server::{Caller, Server};
/// use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
/// use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
///
/// /// What the middleware leaves behind once it has checked a token.
/// #[derive(Clone)]
/// struct User(String);
///
/// let flows = Flows::new(Server::builder("empty", "1.0.0").build()?).caller(|extensions| {
///     let User(name) = extensions.get::<http::request::Parts>()?.extensions.get()?;
///     Some(Caller::new("https://id.example.com", name))
/// });
/// let owners = flows.session_owners();
/// let sessions = Arc::new(LocalSessionManager::default());
/// let service = StreamableHttpService::new(move || Ok(flows.clone()), sessions, StreamableHttpServerConfig::default());
/// let app: axum::Router = axum::Router::new().nest_service("/mcp", service).layer(owners);
/// // Add the middleware that checks tokens last, `app.layer(check_tokens)`: axum runs the last layer first.
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Clone)]
pub struct SessionOwners {
    sealer: Sealer,
    identify: Identify,
    notices: Arc<Notices>,
}

impl SessionOwners {
    pub(super) fn new(sealer: Sealer, identify: Identify, notices: Arc<Notices>) -> Self {
        Self { sealer, identify, notices }
    }

    /// Returns the id that a client gets in place of rmcp's.
    fn sealed(&self, session: &HeaderValue, owner: &Identity) -> Option<HeaderValue> {
        let sealed = self.sealer.seal_at_rest(KIND, &owner_bytes(owner), session.as_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(sealed).try_into().ok()
    }

    /// Returns rmcp's id, if this caller is the one that got it.
    fn opened(&self, session: &HeaderValue, caller: &Identity) -> Option<HeaderValue> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(session.as_bytes()).ok()?;
        let opened = self.sealer.open_at_rest(KIND, &owner_bytes(caller), &sealed).ok()?;
        opened.try_into().ok()
    }

    /// Puts rmcp's id of the session into the headers. For another caller's session it puts an id that rmcp does not
    /// know.
    fn open_headers(&self, headers: &mut HeaderMap, caller: &Identity) -> Claim {
        let Some(shown) = headers.get(SESSION_ID) else { return Claim::None };
        let (session, claim) = match self.opened(shown, caller) {
            Some(session) => (session, Claim::Own),
            None => (HeaderValue::from_static(NO_SESSION), Claim::Foreign),
        };
        // This replaces all ids that the client sent: rmcp reads the first.
        headers.insert(SESSION_ID, session);
        claim
    }
}

/// The session that a request claims to belong to.
#[derive(Clone, Copy, PartialEq)]
enum Claim {
    None,
    Own,
    Foreign,
}

impl<S> Layer<S> for SessionOwners {
    type Service = OwnedSessions<S>;

    fn layer(&self, inner: S) -> Self::Service {
        OwnedSessions { owners: self.clone(), inner }
    }
}

impl fmt::Debug for SessionOwners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOwners").finish_non_exhaustive()
    }
}

/// A service behind [`SessionOwners`].
///
/// ```
/// use mrtr_rmcp::OwnedSessions;
///
/// struct App<S> {
///     mcp: OwnedSessions<S>,
/// }
/// ```
#[derive(Debug, Clone)]
pub struct OwnedSessions<S> {
    owners: SessionOwners,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for OwnedSessions<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let (mut parts, caller) = self.owners.identify.of_parts(parts);
        let claim = self.owners.open_headers(&mut parts.headers, &caller);
        let is_foreign_end = parts.method == Method::DELETE && claim == Claim::Foreign;
        parts.extensions.insert(Checked(caller.clone()));
        let answering = self.inner.call(Request::from_parts(parts, body));
        let owners = self.owners.clone();
        Box::pin(async move {
            let mut response = answering.await?;
            if let Some(session) = response.headers().get(SESSION_ID) {
                if claim == Claim::None && owners.identify.tells_callers() && !caller.caller().is_some() {
                    owners.notices.opened_by_nobody();
                }
                if let Some(sealed) = owners.sealed(session, &caller) {
                    response.headers_mut().insert(SESSION_ID, sealed);
                }
            }
            // rmcp accepts the end of a session that it does not know.
            if is_foreign_end && response.status().is_success() {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            Ok(response)
        })
    }
}

/// The mark of a request that came through the layer, with the caller it found.
#[derive(Clone)]
struct Checked(Identity);

/// Returns true if a request belongs to a session of rmcp's HTTP service that any caller can use who knows its id.
pub(super) fn is_not_owned(extensions: &Extensions, identity: &Identity) -> bool {
    let Some(parts) = extensions.get::<Parts>() else { return false };
    parts.headers.contains_key(SESSION_ID)
        && !identity.owns_as(&Identity::anonymous())
        && parts.extensions.get::<Checked>().is_none()
}

/// Returns true if the layer took the sender of a request for another caller.
pub(super) fn is_owned_by_another(extensions: &Extensions, identity: &Identity) -> bool {
    let Some(parts) = extensions.get::<Parts>() else { return false };
    parts.headers.contains_key(SESSION_ID)
        && parts.extensions.get::<Checked>().is_some_and(|Checked(caller)| !caller.owns_as(identity))
}

/// Returns true if a request came over HTTP and belongs to no session there.
pub(super) fn has_no_session(extensions: &Extensions) -> bool {
    extensions.get::<Parts>().is_some_and(|parts| !parts.headers.contains_key(SESSION_ID))
}

const SESSION_ID: &str = "mcp-session-id";

/// The kind of payload that an id is sealed as.
const KIND: &str = "mrtr-rmcp/session";

/// An id that no session manager gives out, since those are random.
const NO_SESSION: &str = "none";
