//! A request, as a round sees it: borrowed from its message, or owning it.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use mrtr_flow::for_server::internal_error;
use mrtr_flow::{Identity, NotificationSink};
use mrtr_schema::{ClientCapabilities, ErrorObject, Feature, MethodInfo, OwnedParams, RawParams, ReadError, Revision};
use mrtr_state::Timestamp;
use serde_json::value::RawValue;

use super::live::{KnownClient, LiveClient};
use crate::definition::extension::ExtensionRequest;
use crate::definition::tool::HeaderClaim;
use crate::error::invalid_params;
use crate::support::fair::CallerKey;
use crate::support::permit::Held;

/// The facts about a request besides its message: who sent it, and what it holds of its transport.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerContext<'h> {
    pub(crate) revision: Revision,
    /// The claims of headers about the arguments, by the rest of the name after the prefix; `None` over a transport
    /// without headers.
    pub(crate) mirrored: Option<Vec<(Cow<'h, str>, HeaderClaim<'h>)>>,
    pub(crate) identity: Identity,
    /// In one place: a request that says it all itself has nothing there.
    pub(crate) client: Option<Arc<KnownClient>>,
    /// The time at which it came in.
    pub(crate) received: Option<Timestamp>,
    pub(crate) permit: Option<Held<'h>>,
    /// The account that the transport names, if it does.
    pub(crate) account: Option<Arc<CallerKey>>,
}

impl<'h> CallerContext<'h> {
    /// The account in which the server counts what it keeps for the request.
    pub(crate) fn account_key(&self) -> CallerKey {
        match (&self.account, self.identity.caller(), self.identity.tenant()) {
            (Some(account), ..) => CallerKey::clone(account),
            (None, Some(caller), tenant) => CallerKey::of(caller, tenant),
            (None, None, Some(tenant)) => CallerKey::opaque(tenant.as_bytes()),
            (None, None, None) => CallerKey::unknown(),
        }
    }

    /// Returns the context with all its parts owned, for work that outlives the request's own headers. It takes over
    /// the permit of the transport.
    pub(crate) fn into_owned(self) -> CallerContext<'static> {
        let Self { revision, mirrored, identity, client, received, permit, account } = self;
        let owned = |(name, claim): (Cow<'h, str>, HeaderClaim<'h>)| (name.into_owned().into(), claim.into_owned());
        let mirrored = mirrored.map(|claims| claims.into_iter().map(owned).collect());
        let permit = permit.and_then(Held::into_owned);
        CallerContext { revision, mirrored, identity, client, received, permit, account }
    }

    /// The client, if it can be asked while its request waits.
    pub(crate) fn live(&self) -> Option<&Arc<dyn LiveClient>> {
        self.client.as_ref()?.live.as_ref()
    }

    /// Turns this into the context of a request in a session, whose client is known.
    pub(crate) fn in_session(&mut self, revision: Revision, client: KnownClient) {
        self.revision = revision;
        self.mirrored = None;
        self.client = Some(Arc::new(client));
    }
}

/// A request that was admitted: its parameters are still raw.
pub(crate) struct Request<'a> {
    /// Not for others: what was read of it is below, and is not read again.
    body: &'a Bytes,
    pub(crate) method: Cow<'a, str>,
    /// The facts about its method.
    pub(crate) info: MethodInfo,
    /// The member of the parameters that names what the request is about.
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) params: RawParams<'a>,
    pub(crate) context: &'a CallerContext<'a>,
    /// The capabilities that the client declared.
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) notifier: Option<Arc<dyn NotificationSink>>,
}

impl<'a> Request<'a> {
    /// A request with the method and parameters of this message, from a client that the server knows nothing of.
    pub(crate) fn new(
        body: &'a Bytes,
        method: Cow<'a, str>,
        params: RawParams<'a>,
        context: &'a CallerContext<'a>,
    ) -> Self {
        // Every request begins with this one, so that none is made anew.
        static NONE: LazyLock<Arc<ClientCapabilities>> = LazyLock::new(Arc::default);
        let (info, capabilities) = (MethodInfo::of(&method), Arc::clone(&NONE));
        Self { body, method, info, name: None, params, context, capabilities, notifier: None }
    }

    /// Returns true if the revision has headers that repeat what the body says. Older revisions have neither the
    /// headers nor an error code for a mismatch.
    pub(crate) fn has_headers(&self) -> bool {
        self.context.revision.has(Feature::MirroredHeaders)
    }

    /// Returns true if the server may ask questions on this request.
    pub(crate) fn may_ask(&self) -> bool {
        self.info.may_ask_in(self.context.revision)
    }

    /// Returns true if the request may bring answers and a state. A client that is asked while its request waits sends
    /// none.
    pub(crate) fn brings_answers(&self) -> bool {
        self.may_ask() && self.context.live().is_none()
    }

    /// Returns true if the request brings a state, and so continues a flow.
    pub(super) fn brings_state(&self) -> bool {
        self.brings_answers() && self.params.get("requestState").is_some()
    }

    /// A part of the message, which shares its bytes.
    pub(crate) fn share(&self, part: &RawValue) -> Bytes {
        let part = part.get().as_bytes();
        let start = part.as_ptr().addr().checked_sub(self.body.as_ptr().addr());
        let range = start.and_then(|start| Some(start..start.checked_add(part.len())?));
        match range.filter(|range| range.end <= self.body.len()) {
            Some(range) => self.body.slice(range),
            None => Bytes::copy_from_slice(part),
        }
    }

    /// The name of what it is about, which must be there.
    pub(crate) fn required_name(&self) -> Result<&str, ErrorObject> {
        let missing = || invalid_params(ReadError::missing(self.info.named_by.unwrap_or("name")));
        self.name.as_deref().ok_or_else(missing)
    }

    /// The request, as an extension sees it.
    pub(crate) fn for_extension(&self) -> ExtensionRequest<'_> {
        ExtensionRequest {
            method: &self.method,
            params: &self.params,
            revision: self.context.revision,
            capabilities: &self.capabilities,
            caller: self.context.identity.caller(),
            tenant: self.context.identity.tenant(),
            identity: &self.context.identity,
        }
    }

    /// Copies what was read of it, and the message: for a stream or a task that outlives this borrow.
    pub(crate) fn to_owned(&self) -> Result<OwnedRequest, ErrorObject> {
        let method = match self.info.name {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(self.method.clone().into_owned()),
        };
        Ok(OwnedRequest {
            method,
            info: self.info,
            name: self.name.as_deref().map(Into::into),
            params: OwnedParams::new(self.body.clone(), &self.params).ok_or_else(internal_error)?,
            capabilities: Arc::clone(&self.capabilities),
            notifier: self.notifier.clone(),
        })
    }
}

/// A request that owns its message, to be moved. It is a [`Request`] again without another reading.
pub(crate) struct OwnedRequest {
    method: Cow<'static, str>,
    info: MethodInfo,
    name: Option<Box<str>>,
    params: OwnedParams<Bytes>,
    capabilities: Arc<ClientCapabilities>,
    pub(crate) notifier: Option<Arc<dyn NotificationSink>>,
}

impl OwnedRequest {
    /// Returns true if this is its method.
    pub(crate) fn is(&self, method: &str) -> bool {
        self.method == method
    }

    /// Returns true if the flow of a handler answers it.
    pub(crate) fn runs_flow(&self) -> bool {
        self.info.runs_flow
    }

    /// Copies its message, if that is short: a call that waits must not keep the buffer that its connection was read
    /// into.
    pub(crate) fn compact(self) -> Result<Self, ErrorObject> {
        if self.size() > LONGEST_COPY {
            return Ok(self);
        }
        let copy = Bytes::copy_from_slice(self.params.message());
        let params = self.params.in_copy(copy).ok_or_else(internal_error)?;
        Ok(Self { params, ..self })
    }

    /// The size of its message in bytes.
    pub(crate) fn size(&self) -> usize {
        self.params.message().len()
    }

    pub(crate) fn request<'a>(&'a self, context: &'a CallerContext<'a>) -> Result<Request<'a>, ErrorObject> {
        Ok(Request {
            body: self.params.message(),
            method: Cow::Borrowed(&self.method),
            info: self.info,
            name: self.name.as_deref().map(Cow::Borrowed),
            params: self.params.params().ok_or_else(internal_error)?,
            context,
            capabilities: Arc::clone(&self.capabilities),
            notifier: self.notifier.clone(),
        })
    }
}

/// A longer message has a buffer of its own.
const LONGEST_COPY: usize = 64 << 10;
