//! Middleware: code that runs around every call without touching flows, for authorization, rate limits and audit.

use std::fmt;

use async_trait::async_trait;
use mrtr_flow::{Caller, Identity, ProtocolError};
use mrtr_schema::{ErrorObject, Revision};

/// A layer around every request: it may refuse a request before it runs, and hears how the request ended.
///
/// The server asks it in every round, because a state grants nothing.
///
/// ```
/// use mrtr_schema::ErrorCode;
/// use mrtr_server::ProtocolError;
/// use mrtr_server::extend::{RequestInfo, Middleware};
///
/// #[derive(Debug)]
/// struct OnlyAnnDeletes;
///
/// #[async_trait::async_trait]
/// impl Middleware for OnlyAnnDeletes {
///     async fn before(&self, call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
///         match (call.name, call.caller.map(|caller| caller.subject())) {
///             (Some("delete"), caller) if caller != Some("ann") => {
///                 Err(ProtocolError::new(ErrorCode::INVALID_PARAMS, "You may not delete"))
///             }
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Middleware: fmt::Debug + Send + Sync + 'static {
    /// Lets a request through, or refuses it.
    async fn before(&self, _call: &RequestInfo<'_>) -> Result<(), ProtocolError> {
        Ok(())
    }

    /// Hears how a request ended, if this middleware let it through, even if another one then refused it. The last
    /// middleware to let it through hears first. A tool that failed is a result, not an error. For a subscription, this
    /// is its beginning.
    ///
    /// If the client goes away meanwhile, the server drops the request where it stands, and no middleware hears how it
    /// ended.
    async fn after(&self, _call: &RequestInfo<'_>, _outcome: Result<(), &ErrorObject>) {}
}

/// A request, as middleware sees it.
///
/// ```
/// use mrtr_server::Caller;
/// use mrtr_server::extend::RequestInfo;
///
/// /// A line for an audit.
/// fn line(call: &RequestInfo<'_>) -> String {
///     let who = call.caller.map_or("a stranger", Caller::subject);
///     format!("{who} called {} {}", call.method, call.name.unwrap_or_default())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RequestInfo<'a> {
    /// The method.
    pub method: &'a str,
    /// The tool or prompt by name, or the resource by URI.
    pub name: Option<&'a str>,
    /// The caller who sent it.
    pub caller: Option<&'a Caller>,
    /// The tenant on whose behalf the caller sent it.
    pub tenant: Option<&'a str>,
    /// All that the transport knows of the sender: scopes, groups, the client.
    pub identity: &'a Identity,
    /// The revision.
    pub revision: Revision,
    /// True if it brings a state, and so is not the first round.
    pub is_retry: bool,
}
