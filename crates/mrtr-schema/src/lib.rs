//! Wire types of MCP's Multi Round-Trip Requests: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod caching;
mod capabilities;
mod coded_error;
mod completion;
mod content;
mod discovery;
mod elicitation;
mod envelope;
mod error;
mod error_object;
mod form;
mod implementation;
mod input;
mod json;
mod jsonrpc;
mod meta;
mod methods;
mod namespaced;
mod notifications;
mod params;
mod printable;
mod prompts;
mod request_state;
mod resources;
mod result;
mod revision;
mod roots;
mod sampling;
mod subscriptions;
mod tools;
mod wire;

#[cfg(feature = "proptest")]
pub mod arbitrary;
pub mod json_schema;
pub mod registry;
pub mod tasks;
#[cfg(feature = "validate")]
mod validate;

pub use caching::{CacheScope, CachingHints};
pub use capabilities::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, ElicitationCapability, ElicitationTaskRequests,
    ListChangedCapability, ResourcesCapability, RootsCapability, SamplingCapability, SamplingTaskRequests,
    ServerCapabilities, ServerTaskRequests, ServerTasksCapability, ToolTaskRequests,
};
pub use coded_error::{
    CodedError, CodedErrorResponse, ErrorKind, HeaderMismatch, InternalError, InvalidParams, InvalidRequest,
    MethodNotFound, MissingRequiredClientCapability, ParseError, UnsupportedProtocolVersion,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    CompletionValues, PromptReference, ResourceTemplateReference,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, Fraction, ImageContent,
    ResourceContents, ResourceLink, Role, StructuredContent, TextContent, TextResourceContents,
};
pub use discovery::{DiscoverResult, InitializeParams, InitializeResult};
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitParams, ElicitRequest, ElicitResult, ElicitUrlParams,
    EnumOption, FormContent, FormMode, LegacyTitledEnumSchema, NumberKind, NumberSchema, PrimitiveSchema, StringFormat,
    StringSchema, TitledMultiSelectEnumSchema, TitledOptions, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledOptions, UntitledSingleSelectEnumSchema, Url,
};
pub use envelope::{Envelope, EnvelopeError, RawParams};
pub use error::{JsonPath, Problem, ReadError};
pub use error_object::{
    ErrorCode, ErrorData, ErrorObject, ErrorResponse, MissingCapabilityData, ResourceNotFoundData,
    UnsupportedVersionData,
};
pub use form::{Form, FormError};
pub use implementation::{Icon, IconTheme, Implementation};
pub use input::{
    Answer, InputRequest, InputRequests, InputResponse, InputResponses, NamespacedInputResponse, RetryParams,
    UnknownInputRequest,
};
pub use json::{Json, JsonObject, Members, Number, RawMembers};
pub use jsonrpc::{
    AnyNotification, AnyRequest, AnyResponse, InterimResponse, Notification, Request, RequestId, Response,
};
pub use meta::{LoggingLevel, Meta, MetaKey, MetaKeyError, NotificationMeta, ProgressToken, RequestMeta, ResultMeta};
pub use methods::*;
pub use namespaced::{Method, MethodError, NamespacedInput, NamespacedInputRequest};
pub use notifications::{
    CancelledParams, ElicitationCompleteParams, LoggingMessageParams, ProgressParams, SetLevelParams,
};
pub use params::{NotificationParams, Optional, PaginatedParams, Params, RequestParams, RetryAnywhere};
pub use printable::Printable;
pub use prompts::{GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use request_state::RequestState;
pub use resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, Resource,
    ResourceTemplate, ResourceUpdatedParams, SubscribeParams, UnsubscribeParams,
};
pub use result::{
    AnyResult, CompleteType, ExtensionResult, ExtensionType, InputRequiredResult, MethodResult, ResultType,
};
pub use revision::{Dialect, Feature, Revision, UnknownRevision};
pub use roots::{ListRootsParams, ListRootsRequest, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    OneOrMany, SamplingContent, SamplingMessage, ToolChoice, ToolChoiceMode, ToolResultContent, ToolResultsError,
    ToolUseContent,
};
pub use subscriptions::{
    ListenParams, ListenResult, ListenResultMeta, SubscriptionFilter, SubscriptionsAcknowledgedParams,
};
pub use tools::{CallToolParams, CallToolResult, InputSchema, ListToolsResult, OutputSchema, Tool, ToolAnnotations};
#[cfg(feature = "validate")]
pub use validate::{SchemaCheck, SchemaError, Violation, Violations};
pub use wire::{InRevision, Wire, WireObject};
