//! Discovery: client and server get to know each other by `server/discover`, and in older revisions by `initialize`.

use mrtr_macros::Wire;

use crate::json::Members;
use crate::revision::Feature;
use crate::types::caching::CachingHints;
use crate::types::capabilities::{ClientCapabilities, ServerCapabilities};
use crate::types::implementation::Implementation;
use crate::types::meta::{RequestMeta, ResultMeta};
use crate::types::params::{RetryAnywhere, required_params};
use crate::types::result::CompleteType;

/// The name, version and capabilities of a server.
///
/// ```
/// use mrtr_schema::{CacheScope, CachingHints, ServerCapabilities};
/// use mrtr_schema::discovery::DiscoverResult;
///
/// let mut offer = DiscoverResult::new(["2026-07-28".to_owned()], ServerCapabilities::new());
/// offer.caching = CachingHints::keep(3_600_000, CacheScope::Public);
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "DiscoverResult", when = Feature::Discovery)]
#[non_exhaustive]
pub struct DiscoverResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The protocol versions that the server has.
    pub supported_versions: Vec<String>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for use: for the model.
    pub instructions: Option<String>,
    /// Hints on caching the result.
    #[wire(flatten, lenient)]
    pub caching: CachingHints,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `initialize`, which opens a session.
///
/// ```
/// use mrtr_schema::{ClientCapabilities, Implementation, Revision, Wire};
/// use mrtr_schema::discovery::InitializeParams;
///
/// let client = Implementation::new("editor", "2.1.0");
/// let params = InitializeParams::new("2025-11-25", ClientCapabilities::new(), client);
/// assert!(params.to_json(Revision::Sep2322)?.starts_with(r#"{"protocolVersion":"2025-11-25","capabilities":{}"#));
/// assert_eq!(InitializeParams::name_in(Revision::V2026_07_28), None, "it has no sessions");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "InitializeRequestParams", when = Feature::Sessions)]
#[non_exhaustive]
pub struct InitializeParams {
    /// The latest protocol version that the client has.
    pub protocol_version: String,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// The client's name and version.
    pub client_info: Implementation,
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(InitializeParams);

/// The server's answer to the opening of a session.
///
/// ```
/// use mrtr_schema::{Implementation, Revision, ServerCapabilities, Wire};
/// use mrtr_schema::discovery::InitializeResult;
///
/// let server = Implementation::new("tracker", "1.4.0");
/// let mut result = InitializeResult::new("2025-11-25", ServerCapabilities::new(), server);
/// result.instructions = Some("Look a bug up before you change it.".into());
/// assert!(!result.to_json(Revision::Draft202602)?.contains("resultType"), "the draft has none");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "InitializeResult", when = Feature::Sessions)]
#[non_exhaustive]
pub struct InitializeResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The protocol version of the session.
    pub protocol_version: String,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The server's name and version.
    pub server_info: Implementation,
    /// Instructions for use: for the model.
    pub instructions: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
