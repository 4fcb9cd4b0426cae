//! Every named wire type, in one list: what the generated schemas, the examples and the property tests cover.

use crate::jsonrpc::{AnyNotification, AnyRequest, ErrorObject, ErrorResponse, Request, RequestId, Response};
use crate::result::{AnyResult, InputRequiredResult, Reply, ResultType};
use crate::wire::Wire;
use crate::{
    Annotations, AudioContent, BlobResourceContents, BooleanSchema, CallToolParams, CallToolResult, ClientCapabilities,
    ContentBlock, CreateMessageParams, CreateMessageRequest, CreateMessageResult, ElicitFormParams, ElicitParams,
    ElicitRequest, ElicitResult, ElicitUrlParams, EmbeddedResource, ExtensionResult, Icon, ImageContent,
    Implementation, InputRequest, InputRequests, InputResponse, InputResponses, LegacyTitledEnumSchema,
    ListRootsRequest, ListRootsResult, ListToolsParams, ListToolsResult, LoggingLevel, Meta, ModelHint,
    ModelPreferences, NamespacedInputRequest, NamespacedInputResponse, NumberSchema, PaginatedParams, PrimitiveSchema,
    ProgressToken, RequestMeta, ResourceLink, ResultMeta, RetryParams, Revision, Role, Root, SamplingContent,
    SamplingMessage, ServerCapabilities, StringSchema, TextContent, TextResourceContents, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, Tool, ToolAnnotations, ToolChoice, ToolResultContent, ToolUseContent,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};

/// Is shown each type in turn.
pub trait TypeVisitor {
    /// Sees a type, and what the revision calls it.
    fn visit<T: Wire>(&mut self, name: &'static str);
}

/// Shows a visitor every named type that a revision has.
///
/// ```
/// use mrtr_schema::registry::{TypeVisitor, visit_types};
/// use mrtr_schema::{Revision, Wire};
///
/// struct Names(Vec<&'static str>);
///
/// impl TypeVisitor for Names {
///     fn visit<T: Wire>(&mut self, name: &'static str) {
///         self.0.push(name);
///     }
/// }
///
/// let mut names = Names(Vec::new());
/// visit_types(Revision::Draft202602, &mut names);
/// assert!(names.0.contains(&"IncompleteResult"));
/// ```
pub fn visit_types(revision: Revision, visitor: &mut impl TypeVisitor) {
    macro_rules! visit {
        ($($type:ty),* $(,)?) => {$(
            if let Some(name) = <$type as Wire>::NAME.and_then(|name| revision.type_name(name)) {
                visitor.visit::<$type>(name);
            }
        )*};
    }
    visit![
        // JSON-RPC
        RequestId,
        AnyRequest,
        AnyNotification,
        Response<AnyResult>,
        ErrorResponse,
        ErrorObject,
        // results
        ResultType,
        AnyResult,
        InputRequiredResult,
        Response<InputRequiredResult>,
        ExtensionResult,
        // metadata
        Meta,
        RequestMeta,
        ResultMeta,
        LoggingLevel,
        ProgressToken,
        Implementation,
        Icon,
        ClientCapabilities,
        ServerCapabilities,
        // inputs
        InputRequest,
        InputRequests,
        InputResponse,
        InputResponses,
        RetryParams,
        NamespacedInputRequest,
        NamespacedInputResponse,
        // elicitation
        ElicitRequest,
        ElicitParams,
        ElicitFormParams,
        ElicitUrlParams,
        ElicitResult,
        PrimitiveSchema,
        StringSchema,
        NumberSchema,
        BooleanSchema,
        UntitledSingleSelectEnumSchema,
        TitledSingleSelectEnumSchema,
        UntitledMultiSelectEnumSchema,
        TitledMultiSelectEnumSchema,
        LegacyTitledEnumSchema,
        // sampling
        CreateMessageRequest,
        CreateMessageParams,
        CreateMessageResult,
        SamplingMessage,
        SamplingContent,
        ToolUseContent,
        ToolResultContent,
        ModelPreferences,
        ModelHint,
        ToolChoice,
        // roots
        ListRootsRequest,
        ListRootsResult,
        Root,
        // content
        ContentBlock,
        TextContent,
        ImageContent,
        AudioContent,
        ResourceLink,
        EmbeddedResource,
        TextResourceContents,
        BlobResourceContents,
        Annotations,
        Role,
        // tools
        Tool,
        ToolAnnotations,
        CallToolParams,
        Request<CallToolParams>,
        CallToolResult,
        Response<Reply<CallToolResult>>,
        PaginatedParams,
        Request<ListToolsParams>,
        ListToolsResult,
        Response<ListToolsResult>,
    ];
}

/// A method, and the types of its two messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodTypes {
    /// The method.
    pub method: &'static str,
    /// The name of its request's definition.
    pub request: &'static str,
    /// The name of its response's definition.
    pub response: &'static str,
}

/// The methods that a client may call in a revision, with the types of their messages.
///
/// A type that is named here need not be in the list above yet.
///
/// ```
/// use mrtr_schema::Revision;
/// use mrtr_schema::registry::method_types;
///
/// let methods = method_types(Revision::Published);
/// let call = methods.iter().find(|types| types.method == "tools/call").expect("every revision has it");
/// assert_eq!((call.request, call.response), ("CallToolRequest", "CallToolResultResponse"));
/// ```
pub fn method_types(revision: Revision) -> Vec<MethodTypes> {
    let entry = |(method, request, response)| MethodTypes { method, request, response };
    // The revisions with these methods are the ones in which tasks/result may ask.
    let tasks = if revision.may_ask_on("tasks/result") { TASK_METHODS } else { &[] };
    METHODS.iter().chain(tasks).copied().map(entry).collect()
}

const METHODS: &[(&str, &str, &str)] = &[
    ("tools/call", "CallToolRequest", "CallToolResultResponse"),
    ("tools/list", "ListToolsRequest", "ListToolsResultResponse"),
];

const TASK_METHODS: &[(&str, &str, &str)] = &[
    ("tasks/get", "GetTaskRequest", "GetTaskResultResponse"),
    ("tasks/result", "GetTaskPayloadRequest", "GetTaskPayloadResultResponse"),
    ("tasks/input_response", "TaskInputResponseRequest", "TaskInputResponseResultResponse"),
    ("tasks/cancel", "CancelTaskRequest", "CancelTaskResultResponse"),
];
