//! Whole messages: methods, JSON-RPC around them, the first look at one that comes in, and the questions that a server
//! sends as requests of its own in sessions.

pub mod coded_error;
pub(crate) mod envelope;
pub mod jsonrpc;
pub mod methods;
pub(crate) mod owned_params;

use serde::ser::Error;

use crate::messages::jsonrpc::Request;
use crate::messages::methods::{CreateMessage, Elicit, ListRoots};
use crate::revision::{Feature, Revision};
use crate::types::input::InputRequest;
use crate::types::params::Optional;
use crate::types::request_id::RequestId;
use crate::wire::Wire;

impl InputRequest {
    /// Makes the message that asks for this input in a session, under an id of the server's choice. The answer is the
    /// result of the response; [`InputResponse::answering`](crate::InputResponse::answering) reads it.
    ///
    /// Fails if the revision cannot ask this (see [`check_in`](Self::check_in)), and for a URL without an
    /// `elicitationId`.
    ///
    /// ```
    /// use mrtr_schema::{InputRequest, Revision};
    /// use mrtr_schema::roots::ListRootsRequest;
    ///
    /// let roots = InputRequest::from(ListRootsRequest::new());
    /// assert_eq!(
    ///     roots.to_request("q-1", Revision::V2025_11_25)?,
    ///     r#"{"jsonrpc":"2.0","id":"q-1","method":"roots/list"}"#,
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn to_request(&self, id: impl Into<RequestId>, revision: Revision) -> Result<String, serde_json::Error> {
        self.check_in(revision).map_err(serde_json::Error::custom)?;
        match self {
            _ if !revision.has(Feature::InputsAsRequests) => {
                Err(serde_json::Error::custom(format_args!("a server of {revision} sends no requests")))
            }
            Self::Elicit(request) => Request::<Elicit>::new(id, request.params.clone()).to_json(revision),
            Self::Sample(request) => Request::<CreateMessage>::new(id, request.params.clone()).to_json(revision),
            Self::Roots(_) => Request::<ListRoots>::new(id, Optional::absent()).to_json(revision),
            Self::Namespaced(_) | Self::Unknown(_) => {
                Err(serde_json::Error::custom(format_args!("`{}` is not a request of {revision}", self.method())))
            }
        }
    }
}
