//! The sender of a request, as the application has established it.

use std::sync::Arc;

use http::request::Parts;
use mrtr_server::{Caller, Identity};
use rmcp::model::Extensions;

/// The application's functions that tell identity, or caller and tenant, from what rmcp and its transport have put into a request's
/// extensions.
#[derive(Clone, Default)]
pub(crate) struct Identify {
    pub(crate) identity: Told<Identity>,
    pub(crate) caller: Told<Caller>,
    pub(crate) tenant: Told<String>,
}

/// A fact about a request that the application may provide, such as its caller.
#[derive(Clone)]
pub(crate) struct Told<T>(Option<Arc<dyn Tell<T>>>);

/// A function that reads a fact from a request's extensions.
trait Tell<T>: Fn(&Extensions) -> Option<T> + Send + Sync {}

impl<T, F: Fn(&Extensions) -> Option<T> + Send + Sync> Tell<T> for F {}

impl<T> Told<T> {
    pub(crate) fn by(tell: impl Fn(&Extensions) -> Option<T> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    fn is_told(&self) -> bool {
        self.0.is_some()
    }

    fn of(&self, extensions: &Extensions) -> Option<T> {
        self.0.as_ref().and_then(|tell| tell(extensions))
    }
}

impl<T> Default for Told<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl Identify {
    /// Returns true if the application tells callers.
    pub(crate) fn tells_callers(&self) -> bool {
        self.caller.is_told() || self.identity.is_told()
    }

    pub(crate) fn of(&self, extensions: &Extensions) -> Identity {
        if let Some(identity) = self.identity.of(extensions) {
            return identity;
        }
        let identity = self.caller.of(extensions).map(Identity::of).unwrap_or_default();
        match self.tenant.of(extensions) {
            Some(tenant) => identity.for_tenant(tenant),
            None => identity,
        }
    }

    /// Identifies the sender of an HTTP request on its way to rmcp, from extensions that hold its parts as rmcp's will.
    pub(crate) fn of_parts(&self, mut parts: Parts) -> (Parts, Identity) {
        let mut extensions = Extensions::new();
        extensions.insert(parts);
        let identity = self.of(&extensions);
        parts = extensions.remove().expect("it was put there, and the application only reads");
        (parts, identity)
    }
}

/// Returns the owner that an identity stands for as bytes that no other owner has: each part with its length.
pub(crate) fn owner_bytes(identity: &Identity) -> Vec<u8> {
    let caller = identity.caller();
    let known = [caller.map(Caller::issuer), caller.map(Caller::subject), identity.tenant()];
    let client = caller.and_then(Caller::bound_client);
    let actors = identity.actors().iter().flat_map(|actor| [Some(actor.issuer()), Some(actor.subject())]);
    // Without actors and client, as many parts as ever: sessions of the version before stay open.
    let more = client.is_some().then_some(client);
    let mut bytes = Vec::new();
    for part in known.into_iter().chain(actors).chain(more) {
        bytes.push(u8::from(part.is_some()));
        let part = part.unwrap_or_default();
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}
