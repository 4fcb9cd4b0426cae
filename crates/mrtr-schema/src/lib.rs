//! Wire types of MCP's Multi Round-Trip Requests: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod error;
mod json;
mod messages;
mod printable;
mod revision;
mod types;
mod wire;

pub mod json_schema;
pub mod registry;
#[cfg(feature = "validate")]
mod validate;

#[cfg(feature = "validate")]
pub use error::SchemaError;
pub use error::{FormError, JsonPath, MetaKeyError, MethodError, Problem, ReadError, ToolResultsError};
pub use json::{Json, JsonObject, Members, Number, RawMembers};
pub use messages::coded_error::{
    CodedError, CodedErrorResponse, ErrorKind, HeaderMismatch, InternalError, InvalidParams, InvalidRequest,
    MethodNotFound, MissingRequiredClientCapability, ParseError, UnsupportedProtocolVersion,
};
pub use messages::envelope::{Envelope, EnvelopeError, RawParams};
pub use messages::jsonrpc::{
    AnyNotification, AnyRequest, AnyResponse, InterimResponse, Notification, Request, Response,
};
pub use messages::methods::*;
pub use printable::Printable;
pub use revision::{Dialect, Feature, Revision, UnknownRevision};
pub use types::caching::{CacheScope, CachingHints};
pub use types::capabilities::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, ElicitationCapability, ElicitationTaskRequests,
    ListChangedCapability, ResourcesCapability, RootsCapability, SamplingCapability, SamplingTaskRequests,
    ServerCapabilities, ServerTaskRequests, ServerTasksCapability, ToolTaskRequests,
};
pub use types::completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    CompletionValues, PromptReference, ResourceTemplateReference,
};
pub use types::content::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, Fraction, ImageContent,
    ResourceContents, ResourceLink, Role, StructuredContent, TextContent, TextResourceContents,
};
pub use types::discovery::{DiscoverResult, InitializeParams, InitializeResult};
pub use types::elicitation::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitParams, ElicitRequest, ElicitResult, ElicitUrlParams,
    EnumOption, FormContent, FormMode, LegacyTitledEnumSchema, NumberKind, NumberSchema, PrimitiveSchema, StringFormat,
    StringSchema, TitledMultiSelectEnumSchema, TitledOptions, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledOptions, UntitledSingleSelectEnumSchema, Url,
};
pub use types::error_object::{
    ErrorCode, ErrorData, ErrorObject, ErrorResponse, MissingCapabilityData, ResourceNotFoundData,
    UnsupportedVersionData,
};
pub use types::form::Form;
pub use types::implementation::{Icon, IconTheme, Implementation};
pub use types::input::{
    Answer, InputRequest, InputRequests, InputResponse, InputResponses, NamespacedInputResponse, RetryParams,
    UnknownInputRequest,
};
pub use types::meta::{LoggingLevel, Meta, MetaKey, NotificationMeta, ProgressToken, RequestMeta, ResultMeta};
pub use types::namespaced::{Method, NamespacedInput, NamespacedInputRequest};
pub use types::notifications::{
    CancelledParams, ElicitationCompleteParams, LoggingMessageParams, ProgressParams, SetLevelParams,
};
pub use types::params::{NotificationParams, Optional, PaginatedParams, Params, RequestParams, RetryAnywhere};
pub use types::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use types::request_id::RequestId;
pub use types::request_state::RequestState;
pub use types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, Resource,
    ResourceTemplate, ResourceUpdatedParams, SubscribeParams, UnsubscribeParams,
};
pub use types::result::{
    AnyResult, CompleteType, ExtensionResult, ExtensionType, InputRequiredResult, MethodResult, ResultType,
};
pub use types::roots::{ListRootsParams, ListRootsRequest, ListRootsResult, Root};
pub use types::sampling::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    OneOrMany, SamplingContent, SamplingMessage, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
pub use types::subscriptions::{
    ListenParams, ListenResult, ListenResultMeta, SubscriptionFilter, SubscriptionsAcknowledgedParams,
};
pub use types::tasks;
pub use types::tools::{
    CallToolParams, CallToolResult, InputSchema, ListToolsResult, OutputSchema, Tool, ToolAnnotations,
};
#[cfg(feature = "validate")]
pub use validate::{SchemaCheck, Violation, Violations};
#[cfg(feature = "proptest")]
pub use wire::arbitrary;
pub use wire::{InRevision, Wire, WireObject};
