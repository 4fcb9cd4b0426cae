#![doc = include_str!("../README.md")]

mod capabilities;
mod content;
mod elicitation;
mod envelope;
mod error;
mod form;
mod implementation;
mod input;
mod json;
mod jsonrpc;
mod meta;
mod namespaced;
mod request_state;
mod result;
mod revision;
mod roots;
mod sampling;
mod tools;
mod wire;

#[cfg(feature = "proptest")]
pub mod arbitrary;
pub mod json_schema;
pub mod registry;
#[cfg(feature = "validate")]
mod validate;

pub use capabilities::{
    ClientCapabilities, ElicitationCapability, ListChangedCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, Fraction, ImageContent,
    ResourceContents, ResourceLink, Role, StructuredContent, TextContent, TextResourceContents,
};
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitParams, ElicitRequest, ElicitResult, ElicitUrlParams,
    EnumOption, FormContent, FormMode, LegacyTitledEnumSchema, NumberKind, NumberSchema, PrimitiveSchema, StringFormat,
    StringSchema, TitledMultiSelectEnumSchema, TitledOptions, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledOptions, UntitledSingleSelectEnumSchema, Url,
};
pub use envelope::{Envelope, EnvelopeError, RawParams};
pub use error::{JsonPath, Problem, ReadError};
pub use form::{Form, FormError};
pub use implementation::{Icon, IconTheme, Implementation};
pub use input::{
    Answer, InputRequest, InputRequests, InputResponse, InputResponses, NamespacedInputResponse, RetryParams,
};
pub use json::{Json, JsonObject, Members, Number, RawMembers};
pub use jsonrpc::{
    AnyNotification, AnyRequest, ErrorCode, ErrorData, ErrorObject, ErrorResponse, MissingCapabilityData, Params,
    Request, RequestId, ResourceNotFoundData, Response, ResultBody, UnsupportedVersionData,
};
pub use meta::{LoggingLevel, Meta, MetaKey, MetaKeyError, ProgressToken, RequestMeta, ResultMeta};
pub use namespaced::{Method, MethodError, NamespacedInput, NamespacedInputRequest};
pub use request_state::RequestState;
pub use result::{AnyResult, CompleteType, ExtensionResult, ExtensionType, InputRequiredResult, Reply, ResultType};
pub use revision::{Dialect, Feature, Revision, UnknownRevision};
pub use roots::{ListRootsParams, ListRootsRequest, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    OneOrMany, SamplingContent, SamplingMessage, ToolChoice, ToolChoiceMode, ToolResultContent, ToolResultsError,
    ToolUseContent,
};
pub use tools::{
    CacheScope, CallToolParams, CallToolResult, InputSchema, ListToolsParams, ListToolsResult, OutputSchema,
    PaginatedParams, Tool, ToolAnnotations,
};
#[cfg(feature = "validate")]
pub use validate::{SchemaCheck, SchemaError, Violation, Violations};
pub use wire::{InRevision, Wire, WireObject};
