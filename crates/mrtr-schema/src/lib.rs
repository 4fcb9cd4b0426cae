//! The wire types of MCP in three revisions, and the JSON Schema generated from them.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backoff;
pub mod error;
mod heap;
mod json;
mod limits;
mod messages;
mod printable;
mod revision;
mod types;
mod wire;

pub mod json_schema;
pub mod registry;
#[cfg(feature = "validate")]
pub mod validate;

pub use backoff::Backoff;
#[cfg(feature = "validate")]
pub use error::SchemaError;
pub use error::{FormError, NotInRevision, ReadError};
pub use heap::{HeapSize, allocated};
pub use json::{Json, JsonObject, MemberIndex, Members, Number, RawMembers};
pub use limits::MOST_MEMBERS;
pub use messages::envelope::{Envelope, EnvelopeError, RawParams};
pub use messages::methods::MethodInfo;
pub use messages::owned_params::OwnedParams;
pub use messages::{coded_error, jsonrpc, methods};
pub use printable::Printable;
pub use revision::{Dialect, Era, Feature, Revision, UnknownRevision};
pub use types::caching::{CacheScope, CachingHints};
pub use types::capabilities::{ClientCapabilities, ServerCapabilities};
pub use types::content::ContentBlock;
pub use types::error_object::{ErrorCode, ErrorObject};
pub use types::form::Form;
pub use types::implementation::{Icon, Implementation};
pub use types::input::{InputRequest, InputRequests, InputResponse, InputResponses};
pub use types::meta::LoggingLevel;
pub use types::namespaced::{Method, NamespacedInput};
pub use types::request_id::RequestId;
pub use types::request_state::RequestState;
pub use types::result::{InputRequiredResult, MethodResult};
pub use types::tools::{CallToolResult, Tool};
pub use types::{
    capabilities, completion, content, discovery, elicitation, error_object, implementation, input, meta, namespaced,
    notifications, params, prompts, resources, result, roots, sampling, subscriptions, tasks, tools,
};
#[cfg(feature = "validate")]
pub use validate::SchemaCheck;
#[cfg(feature = "proptest")]
pub use wire::arbitrary;
pub use wire::{InRevision, Wire, WireObject};
