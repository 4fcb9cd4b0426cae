//! The sender of a request, as the application has established it.

use std::sync::Arc;

use http::request::Parts;
use mrtr_server::{Caller, Context};
use mrtr_state::{Binding, Principal};
use rmcp::model::Extensions;

/// The application's functions that tell caller and tenant, from what rmcp and its transport have put into a request's
/// extensions.
#[derive(Clone, Default)]
pub(crate) struct Identify {
    pub(crate) caller: Told<Caller>,
    pub(crate) tenant: Told<String>,
}

/// A fact about a request that the application may provide, such as its caller.
#[derive(Clone)]
pub(crate) struct Told<T>(Option<Arc<dyn Tell<T>>>);

/// A function that reads a fact from a request's extensions.
trait Tell<T>: Fn(&Extensions) -> Option<T> + Send + Sync {}

impl<T, F: Fn(&Extensions) -> Option<T> + Send + Sync> Tell<T> for F {}

/// The caller that sent a request, and the tenant on whose behalf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    caller: Option<Caller>,
    tenant: Option<String>,
}

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
        self.caller.is_told()
    }

    pub(crate) fn of(&self, extensions: &Extensions) -> Identity {
        Identity { caller: self.caller.of(extensions), tenant: self.tenant.of(extensions) }
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

impl Identity {
    pub(crate) fn has_caller(&self) -> bool {
        self.caller.is_some()
    }

    /// The context in which our server receives a request.
    pub(crate) fn context(&self) -> Context<'static> {
        let context = Context::new().caller(self.caller.clone());
        match &self.tenant {
            Some(tenant) => context.tenant(tenant.clone()),
            None => context,
        }
    }

    /// Returns the identity as bytes that no other identity has: each part with its length.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let caller = self.caller.as_ref();
        let parts = [caller.map(Caller::issuer), caller.map(Caller::subject), self.tenant.as_deref()];
        let mut bytes = Vec::new();
        for part in parts {
            bytes.push(u8::from(part.is_some()));
            let part = part.unwrap_or_default();
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }

    /// Ties a state to the sender of its request.
    pub(crate) fn bind<'a>(&'a self, binding: Binding<'a>) -> Binding<'a> {
        let principal = self.caller.as_ref();
        let principal = principal.map(|caller| Principal { issuer: caller.issuer(), subject: caller.subject() });
        binding.principal(principal).tenant(self.tenant.as_deref())
    }
}
