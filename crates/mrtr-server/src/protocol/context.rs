//! The context of a request: all that its transport knows besides the body.

use std::borrow::Cow;
use std::sync::Arc;

use mrtr_flow::{Caller, Identity};
use mrtr_schema::{ClientCapabilities, Revision};
use mrtr_state::Timestamp;

use crate::definition::tool::HeaderClaim;
use crate::round::live::KnownClient;
use crate::round::request::CallerContext;
use crate::support::fair::CallerKey;
use crate::support::permit::{Held, Permit};

/// The context of a request: all that its transport knows besides the body.
///
/// ```
/// use mrtr_server::{Caller, Context};
///
/// let context = Context::new().caller(Caller::new("https://id.example.com", "ann")).tenant("acme");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Context<'h> {
    /// The claims of headers about the message itself. Those about its arguments belong to the round.
    pub(super) claims: Option<MessageClaims<'h>>,
    /// The part of the context that a round needs.
    pub(crate) caller: CallerContext<'h>,
}

/// The claims of headers about any message.
#[derive(Debug, Clone)]
pub(super) struct MessageClaims<'h> {
    pub(super) version: HeaderClaim<'h>,
    pub(super) method: HeaderClaim<'h>,
    pub(super) name: HeaderClaim<'h>,
}

impl<'h> Context<'h> {
    /// A request of the published revision, from no caller in particular, over a transport without headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the revision of the request. The transport knows an older one by where the request came in, such as its
    /// path.
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.caller.revision = revision;
        self
    }

    /// Sets the claims of the request's headers; the body must say the same.
    #[must_use]
    pub fn headers(mut self, headers: Headers<'h>) -> Self {
        let Headers { version, method, name, params } = headers;
        self.claims = Some(MessageClaims { version, method, name });
        self.caller.mirrored = Some(params);
        self
    }

    /// Sets the caller who sent the request. The transport has verified it.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<Option<Caller>>) -> Self {
        self.caller.identity = caller.into().map(Identity::of).unwrap_or_default();
        self
    }

    /// Sets all that the transport knows of the sender, who it has verified: the caller, the tenant, scopes, groups.
    ///
    /// ```
    /// use mrtr_server::{Caller, Context, Identity};
    ///
    /// let ann = Identity::of(Caller::new("https://id.example.com", "ann")).with_scopes(["files:read"]);
    /// let context = Context::new().identity(ann);
    /// ```
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.caller.identity = identity;
        self
    }

    /// Sets the tenant on whose behalf the caller sent it, where one server serves several tenants.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.caller.identity = self.caller.identity.for_tenant(tenant);
        self
    }

    /// Sets the client's capabilities, in revisions whose requests do not declare them.
    #[must_use]
    pub fn capabilities(mut self, capabilities: impl Into<Arc<ClientCapabilities>>) -> Self {
        self.caller.client = Some(Arc::new(KnownClient { capabilities: capabilities.into(), live: None }));
        self
    }

    /// Sets the time of arrival. A shedder learns from the wait how busy the server is.
    #[must_use]
    pub fn received(mut self, arrival: Arrival) -> Self {
        self.caller.received = Some(arrival.0);
        self
    }

    /// Sets what the request holds of its transport. Work that continues without its connection keeps it until it ends.
    #[must_use]
    pub fn permit<T: Send + Sync + 'static>(mut self, permit: &'h Permit<T>) -> Self {
        self.caller.permit = Some(Held::Lent(permit));
        self
    }

    /// Sets the account that counts what the server keeps for the request, for a caller that no issuer vouches for: it
    /// may be named by an address. Without this, the account is that of the [caller](Self::caller) in its tenant.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_server::Context;
    /// use mrtr_server::transport::CallerKey;
    ///
    /// // Made once a connection, and shared by its requests.
    /// let account = Arc::new(CallerKey::address("192.0.2.1".parse()?));
    /// let context = Context::new().account(&account);
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    #[must_use]
    pub fn account(mut self, account: &Arc<CallerKey>) -> Self {
        self.caller.account = Some(Arc::clone(account));
        self
    }

    /// Returns the context with all its parts owned, for work that outlives the request's own headers. It takes over
    /// the permit of the transport.
    pub(crate) fn into_owned(self) -> Context<'static> {
        let Self { claims, caller } = self;
        let claims = claims.map(|MessageClaims { version, method, name }| MessageClaims {
            version: version.into_owned(),
            method: method.into_owned(),
            name: name.into_owned(),
        });
        Context { claims, caller: caller.into_owned() }
    }

    /// Turns this into the context of a request in a session, whose client is known: its headers mirror nothing.
    pub(crate) fn in_session(&mut self, revision: Revision, client: KnownClient) {
        self.claims = None;
        self.caller.in_session(revision, client);
    }
}

/// The time at which a request came in, by the clock of the server that answers it.
/// [`Server::arrival`](crate::Server::arrival) makes it.
///
/// ```
/// use mrtr_server::{Context, Server};
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let arrival = server.arrival();
/// // Once the body is there:
/// let context = Context::new().received(arrival);
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival(pub(crate) Timestamp);

/// The claims of headers about a request's body. A transport that has the texts at hand lends them.
///
/// ```
/// use mrtr_server::Context;
/// use mrtr_server::transport::{HeaderClaim, Headers};
///
/// let headers = Headers {
///     version: HeaderClaim::Text("2026-07-28".into()),
///     method: HeaderClaim::Text("tools/list".into()),
///     ..Headers::default()
/// };
/// let context = Context::new().headers(headers);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a transport fills in all of them")]
pub struct Headers<'h> {
    /// `MCP-Protocol-Version`.
    pub version: HeaderClaim<'h>,
    /// `Mcp-Method`.
    pub method: HeaderClaim<'h>,
    /// `Mcp-Name`.
    pub name: HeaderClaim<'h>,
    /// `Mcp-Param-*`, by what follows the prefix, in lower case.
    pub params: Vec<(Cow<'h, str>, HeaderClaim<'h>)>,
}
