//! What a transport knows of a request besides its body.

use std::borrow::Cow;
use std::sync::Arc;

use mrtr_flow::Caller;
use mrtr_schema::{ClientCapabilities, Revision};
use mrtr_state::Timestamp;

use crate::definition::live::{KnownClient, LiveClient};
use crate::support::fair::CallerKey;
use crate::support::permit::{Held, Permit};

/// What a transport knows of a request besides its body.
///
/// ```
/// use mrtr_server::{Caller, Context};
///
/// let context = Context::new().caller(Caller::new("https://id.example.com", "ann")).tenant("acme");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Context<'h> {
    pub(crate) revision: Revision,
    pub(crate) headers: Option<Headers<'h>>,
    pub(crate) caller: Option<Caller>,
    pub(crate) tenant: Option<String>,
    /// In one place: a request that says it all itself has nothing there.
    pub(crate) client: Option<Arc<KnownClient>>,
    pub(crate) received: Option<Arrival>,
    permit: Option<Held<'h>>,
    account: Option<Arc<CallerKey>>,
}

impl<'h> Context<'h> {
    /// A request of the published revision, from no caller in particular, over a transport without headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A request of this revision: older ones are told by where the request came in.
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = revision;
        self
    }

    /// What the request's headers claim; the body must say the same.
    #[must_use]
    pub fn headers(mut self, headers: Headers<'h>) -> Self {
        self.headers = Some(headers);
        self
    }

    /// Who sent it, as the transport has made sure.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<Option<Caller>>) -> Self {
        self.caller = caller.into();
        self
    }

    /// On whose behalf, where one server serves several tenants.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// What the client can do, in revisions whose requests do not say so.
    #[must_use]
    pub fn capabilities(mut self, capabilities: impl Into<Arc<ClientCapabilities>>) -> Self {
        self.client = Some(Arc::new(KnownClient { capabilities: capabilities.into(), live: None }));
        self
    }

    /// When it came in: how long it waited tells a shedder how busy the server is.
    #[must_use]
    pub fn received(mut self, arrival: Arrival) -> Self {
        self.received = Some(arrival);
        self
    }

    /// What the request holds of its transport: work that goes on without its connection keeps it until it ends.
    #[must_use]
    pub fn permit<T: Send + Sync + 'static>(mut self, permit: &'h Permit<T>) -> Self {
        self.permit = Some(Held::Lent(permit));
        self
    }

    /// Whose account what is kept for the request counts in: for a caller that no issuer vouches for, such as its address.
    /// Without it, that of the [caller](Self::caller) in its tenant.
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
        self.account = Some(Arc::clone(account));
        self
    }

    /// The account that the transport named, if it did.
    pub(crate) fn named_account(&self) -> Option<&CallerKey> {
        self.account.as_deref()
    }

    /// The caller by whose account what is kept for the request counts.
    pub(crate) fn account_key(&self) -> CallerKey {
        let tenant = self.tenant.as_deref();
        match (&self.account, &self.caller, tenant) {
            (Some(account), ..) => CallerKey::clone(account),
            (None, Some(caller), tenant) => CallerKey::of(caller, tenant),
            (None, None, Some(tenant)) => CallerKey::opaque(tenant.as_bytes()),
            (None, None, None) => CallerKey::unknown(),
        }
    }

    /// For work that outlives the request's own headers. It takes over what the request holds of its transport.
    pub(crate) fn into_owned(self) -> Context<'static> {
        let Self { revision, headers, caller, tenant, client, received, permit, account } = self;
        let headers = headers.map(Headers::into_owned);
        let permit = permit.and_then(Held::into_owned);
        Context { revision, headers, caller, tenant, client, received, permit, account }
    }

    /// The client, if it can be asked while its request waits.
    pub(crate) fn live(&self) -> Option<&Arc<dyn LiveClient>> {
        self.client.as_ref()?.live.as_ref()
    }

    /// Has it be one of a session, whose client is known: its headers mirror nothing.
    pub(crate) fn in_session(&mut self, revision: Revision, client: KnownClient) {
        self.revision = revision;
        self.headers = None;
        self.client = Some(Arc::new(client));
    }

    /// Takes out what the request holds of its transport.
    pub(crate) fn take_permit(&mut self) -> Option<Held<'h>> {
        self.permit.take()
    }
}

/// When a request came in, by the clock of the server that answers it: [`Server::arrival`](crate::Server::arrival) tells.
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

/// What headers claim of a request's body. Texts are borrowed where the transport has them at hand.
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

impl Headers<'_> {
    fn into_owned(self) -> Headers<'static> {
        let params = self.params.into_iter();
        Headers {
            version: self.version.into_owned(),
            method: self.method.into_owned(),
            name: self.name.into_owned(),
            params: params.map(|(name, claim)| (name.into_owned().into(), claim.into_owned())).collect(),
        }
    }
}

/// What one header claims.
///
/// ```
/// use mrtr_server::transport::{HeaderClaim, Headers};
///
/// let headers = Headers { method: HeaderClaim::Text("tools/call".into()), ..Headers::default() };
/// assert_eq!(headers.name, HeaderClaim::Missing);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a header is there and can be read, or not")]
pub enum HeaderClaim<'h> {
    /// Nothing: it is not there.
    #[default]
    Missing,
    /// This, decoded.
    Text(Cow<'h, str>),
    /// It is there, and cannot be read: it matches nothing.
    Unreadable,
}

impl HeaderClaim<'_> {
    fn into_owned(self) -> HeaderClaim<'static> {
        match self {
            Self::Missing => HeaderClaim::Missing,
            Self::Text(text) => HeaderClaim::Text(text.into_owned().into()),
            Self::Unreadable => HeaderClaim::Unreadable,
        }
    }
}
