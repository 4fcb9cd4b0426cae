//! What a transport knows of a request besides its body.

use mrtr_schema::{ClientCapabilities, Revision};
use mrtr_state::{Principal, Timestamp};

/// What a transport knows of a request besides its body.
///
/// ```
/// use mrtr_server::{Caller, Context};
///
/// let context = Context::new().caller(Caller::new("https://id.example.com", "ann")).tenant("acme");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Context {
    pub(crate) revision: Revision,
    pub(crate) headers: Option<Headers>,
    pub(crate) caller: Option<Caller>,
    pub(crate) tenant: Option<String>,
    pub(crate) capabilities: Option<ClientCapabilities>,
    pub(crate) received: Option<Timestamp>,
}

impl Context {
    /// A request of the published revision, from nobody in particular, over a transport without headers.
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
    pub fn headers(mut self, headers: Headers) -> Self {
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
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// When it came in: how long it waited tells a shedder how busy the server is.
    #[must_use]
    pub fn received(mut self, moment: Timestamp) -> Self {
        self.received = Some(moment);
        self
    }
}

/// What headers claim of a request's body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a transport fills in all of them")]
pub struct Headers {
    /// `MCP-Protocol-Version`.
    pub version: HeaderClaim,
    /// `Mcp-Method`.
    pub method: HeaderClaim,
    /// `Mcp-Name`.
    pub name: HeaderClaim,
    /// `Mcp-Param-*`, by what follows the prefix, in lower case.
    pub params: Vec<(String, HeaderClaim)>,
}

/// What one header claims.
///
/// ```
/// use mrtr_server::{HeaderClaim, Headers};
///
/// let headers = Headers { method: HeaderClaim::Text("tools/call".into()), ..Headers::default() };
/// assert_eq!(headers.name, HeaderClaim::Missing);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a header is there and can be read, or not")]
pub enum HeaderClaim {
    /// Nothing: it is not there.
    #[default]
    Missing,
    /// This, decoded.
    Text(String),
    /// It is there, and cannot be read: it matches nothing.
    Unreadable,
}

/// Who sent a request: a subject, and who vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    issuer: String,
    subject: String,
}

impl Caller {
    /// A subject of an issuer.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into() }
    }

    /// Who vouches for the subject.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Whom it vouches for.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    pub(crate) fn principal(&self) -> Principal<'_> {
        Principal { issuer: &self.issuer, subject: &self.subject }
    }
}
