//! How client and server get to know each other: `server/discover`, and in older revisions `initialize`.

use mrtr_schema_derive::Wire;

use crate::input::InputResponses;
use crate::json::Members;
use crate::meta::{RequestMeta, ResultMeta};
use crate::params::required_params;
use crate::request_state::RequestState;
use crate::result::CompleteType;
use crate::{CacheScope, ClientCapabilities, Feature, Implementation, ServerCapabilities};

/// What a server is and offers.
///
/// ```
/// use mrtr_schema::{CacheScope, DiscoverResult, ServerCapabilities};
///
/// let mut offer = DiscoverResult::new(["2026-07-28".to_owned()], ServerCapabilities::new());
/// assert_eq!((offer.ttl_ms, offer.cache_scope), (0, CacheScope::Private), "not to be kept");
/// offer.ttl_ms = 3_600_000;
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "DiscoverResult", when = Feature::Discovery)]
#[non_exhaustive]
pub struct DiscoverResult {
    /// Says that it is complete.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The protocol versions that the server has.
    pub supported_versions: Vec<String>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// How to use it: for the model.
    pub instructions: Option<String>,
    /// For how many milliseconds this may be kept.
    #[wire(lenient)]
    pub ttl_ms: u64,
    /// For whom it may be kept.
    #[wire(lenient)]
    pub cache_scope: CacheScope,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `initialize`, which opens a session.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "InitializeRequestParams", when = Feature::Sessions)]
#[non_exhaustive]
pub struct InitializeParams {
    /// The latest protocol version that the client has.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// The client's name and version.
    pub client_info: Implementation,
    /// Answers to what the server asked.
    #[wire(when = Feature::RetryOnAnyRequest)]
    pub input_responses: Option<InputResponses>,
    /// What the server gave the client to carry, byte for byte.
    #[wire(when = Feature::RetryOnAnyRequest)]
    pub request_state: Option<RequestState>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(InitializeParams);

/// What a server answers to the opening of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "InitializeResult", when = Feature::Sessions)]
#[non_exhaustive]
pub struct InitializeResult {
    /// Says that it is complete.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The protocol version of the session.
    pub protocol_version: String,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// The server's name and version.
    pub server_info: Implementation,
    /// How to use it: for the model.
    pub instructions: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
