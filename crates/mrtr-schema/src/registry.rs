//! Every named wire type, in one list: what the generated schemas, the examples and the property tests cover.

use crate::messages::coded_error::{ErrorKindVisitor, visit_error_kinds};
use crate::messages::methods::{NotificationVisitor, RequestVisitor, visit_notifications, visit_requests};
use crate::types::tasks::extension;
#[allow(clippy::wildcard_imports, reason = "every type, and nothing else")]
use crate::{
    capabilities::*, coded_error::*, completion::*, content::*, discovery::*, elicitation::*, error_object::*,
    implementation::*, input::*, jsonrpc::*, meta::*, methods::*, namespaced::*, notifications::*, params::*,
    prompts::*, resources::*, result::*, roots::*, sampling::*, subscriptions::*, tasks, tools::*, *,
};

/// A visitor that is shown each type in turn.
///
/// ```
/// use mrtr_schema::registry::{TypeVisitor, visit_types};
/// use mrtr_schema::{Revision, Wire};
///
/// struct Count(usize);
///
/// impl TypeVisitor for Count {
///     fn visit<T: Wire>(&mut self, name: &'static str) {
///         assert_eq!(T::name_in(Revision::V2026_07_28), Some(name));
///         self.0 += 1;
///     }
/// }
///
/// let mut count = Count(0);
/// visit_types(Revision::V2026_07_28, &mut count);
/// assert!(count.0 > 100);
/// ```
pub trait TypeVisitor {
    /// Sees a type, and the revision's name for it.
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
    visit_data(revision, visitor);
    visit_tasks(revision, visitor);
    let mut messages = Messages { revision, visitor, seen: Vec::new() };
    visit_error_kinds(&mut messages);
    visit_requests(&mut messages);
    visit_notifications(&mut messages);
}

macro_rules! visit {
    ($revision:ident, $visitor:ident, $($type:ty),* $(,)?) => {$(
        if let Some(name) = <$type as Wire>::name_in($revision) {
            $visitor.visit::<$type>(name);
        }
    )*};
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn visit_data(revision: Revision, visitor: &mut impl TypeVisitor) {
    visit![
        revision,
        visitor,
        // messages of any method
        RequestId,
        AnyRequest,
        AnyNotification,
        AnyResponse,
        InterimResponse,
        ErrorResponse,
        ErrorObject,
        // results
        ResultType,
        AnyResult,
        InputRequiredResult,
        ExtensionResult,
        // parameters and metadata
        RequestParams,
        PaginatedParams,
        NotificationParams,
        Meta,
        RequestMeta,
        ResultMeta,
        NotificationMeta,
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
        CallToolResult,
        ListToolsResult,
        // prompts
        Prompt,
        PromptArgument,
        PromptMessage,
        GetPromptParams,
        GetPromptResult,
        ListPromptsResult,
        // resources
        Resource,
        ResourceTemplate,
        ReadResourceParams,
        ReadResourceResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        SubscribeParams,
        UnsubscribeParams,
        ResourceUpdatedParams,
        // completion
        CompleteParams,
        CompleteResult,
        PromptReference,
        ResourceTemplateReference,
        // discovery and subscriptions
        DiscoverResult,
        InitializeParams,
        InitializeResult,
        SubscriptionFilter,
        ListenParams,
        ListenResult,
        ListenResultMeta,
        SubscriptionsAcknowledgedParams,
        // notifications
        ProgressParams,
        LoggingMessageParams,
        CancelledParams,
        SetLevelParams,
    ];
}

fn visit_tasks(revision: Revision, visitor: &mut impl TypeVisitor) {
    visit![
        revision,
        visitor,
        tasks::TaskStatus,
        tasks::TaskMetadata,
        tasks::RelatedTask,
        tasks::Task,
        tasks::ToolExecution,
        tasks::CreateTaskResult,
        tasks::GetTaskResult,
        tasks::CancelTaskResult,
        tasks::TaskPayload,
        tasks::ListTasksResult,
        tasks::TaskInputResponseParams,
        tasks::TaskStatusParams,
        extension::Task,
        extension::DetailedTask,
        extension::WorkingTask,
        extension::InputRequiredTask,
        extension::CompletedTask,
        extension::FailedTask,
        extension::CancelledTask,
        extension::CreateTaskResult,
        extension::GetTaskResult,
        extension::TaskNotificationParams,
        extension::UpdateTaskResult,
        extension::CancelTaskResult,
    ];
}

/// Visits the types that the tables of errors and methods make, each name once: a tool is called by one request, as a
/// task or not.
struct Messages<'a, V> {
    revision: Revision,
    visitor: &'a mut V,
    seen: Vec<&'static str>,
}

impl<V: TypeVisitor> Messages<'_, V> {
    fn show<T: Wire>(&mut self) {
        let Some(name) = T::name_in(self.revision).filter(|name| !self.seen.contains(name)) else { return };
        self.seen.push(name);
        self.visitor.visit::<T>(name);
    }
}

impl<V: TypeVisitor> ErrorKindVisitor for Messages<'_, V> {
    fn visit<K: ErrorKind>(&mut self) {
        self.show::<CodedError<K>>();
        self.show::<CodedErrorResponse<K>>();
    }
}

impl<V: TypeVisitor> RequestVisitor for Messages<'_, V> {
    fn visit<M: RequestMethod>(&mut self) {
        self.show::<Request<M>>();
        self.show::<Response<M>>();
    }
}

impl<V: TypeVisitor> NotificationVisitor for Messages<'_, V> {
    fn visit<M: NotificationMethod>(&mut self) {
        self.show::<Notification<M>>();
    }
}

/// The types of a method in a revision.
///
/// ```
/// use mrtr_schema::Revision;
/// use mrtr_schema::registry::method_types;
///
/// let methods = method_types(Revision::V2026_07_28);
/// let progress = methods.iter().find(|method| method.method == "notifications/progress").unwrap();
/// assert_eq!(progress.request, "ProgressNotification");
/// assert_eq!(progress.response, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodTypes {
    /// The method.
    pub method: &'static str,
    /// The type of its request, or of the notification.
    pub request: &'static str,
    /// The type of its response; a notification has none.
    pub response: Option<&'static str>,
}

/// The methods of a revision and their types.
///
/// ```
/// use mrtr_schema::Revision;
/// use mrtr_schema::registry::method_types;
///
/// let methods = method_types(Revision::V2026_07_28);
/// let discover = methods.iter().find(|method| method.method == "server/discover").unwrap();
/// assert_eq!(discover.response, Some("DiscoverResultResponse"));
/// assert!(methods.iter().all(|method| method.method != "initialize"));
/// ```
pub fn method_types(revision: Revision) -> Vec<MethodTypes> {
    struct Collect(Revision, Vec<MethodTypes>);

    impl RequestVisitor for Collect {
        fn visit<M: RequestMethod>(&mut self) {
            if let Some(request) = Request::<M>::name_in(self.0) {
                self.1.push(MethodTypes { method: M::METHOD, request, response: Some(M::RESPONSE) });
            }
        }
    }

    impl NotificationVisitor for Collect {
        fn visit<M: NotificationMethod>(&mut self) {
            if let Some(request) = Notification::<M>::name_in(self.0) {
                self.1.push(MethodTypes { method: M::METHOD, request, response: None });
            }
        }
    }

    let mut collect = Collect(revision, Vec::new());
    visit_requests(&mut collect);
    visit_notifications(&mut collect);
    collect.1
}
