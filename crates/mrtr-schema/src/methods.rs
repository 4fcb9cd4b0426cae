//! The methods of the protocol: for each, its parameters and its result.

use std::fmt;

use crate::completion::{CompleteParams, CompleteResult};
use crate::discovery::{DiscoverResult, InitializeParams, InitializeResult};
use crate::notifications::{
    CancelledParams, ElicitationCompleteParams, LoggingMessageParams, ProgressParams, SetLevelParams,
};
use crate::params::{NotificationParams, Optional, PaginatedParams, Params, RequestParams};
use crate::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult};
use crate::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, ResourceUpdatedParams,
    SubscribeParams, UnsubscribeParams,
};
use crate::result::{AnyResult, MethodResult};
use crate::roots::ListRootsResult;
use crate::subscriptions::{ListenParams, ListenResult, SubscriptionsAcknowledgedParams};
use crate::tasks::{self, TaskInputResponseParams, TaskParams, TaskPayload, TaskStatusParams, extension};
use crate::tools::{CallToolParams, CallToolResult, ListToolsResult};
use crate::wire::Wire;
use crate::{Feature, Request, Response};

/// A method that somebody calls and that somebody answers.
///
/// ```
/// use mrtr_schema::{RequestMethod, CallTool};
///
/// assert_eq!(CallTool::METHOD, "tools/call");
/// ```
pub trait RequestMethod: fmt::Debug + Clone + PartialEq + 'static {
    /// The method's name on the wire.
    const METHOD: &'static str;
    /// The name of the request's definition.
    const REQUEST: &'static str;
    /// The name of the response's definition.
    const RESPONSE: &'static str;
    /// The feature without which a revision has no such method.
    const WHEN: Option<Feature>;
    /// What it is called with.
    type Params: Params;
    /// What it is answered with.
    type Result: Wire;
}

/// A method that wants no answer.
///
/// ```
/// use mrtr_schema::{NotificationMethod, Progress};
///
/// assert_eq!(Progress::METHOD, "notifications/progress");
/// ```
pub trait NotificationMethod: fmt::Debug + Clone + PartialEq + 'static {
    /// The method's name on the wire.
    const METHOD: &'static str;
    /// The name of the notification's definition.
    const NAME: &'static str;
    /// The feature without which a revision has no such method.
    const WHEN: Option<Feature>;
    /// What is said.
    type Params: Params;
}

/// One line a method: its marker type, its name, its request and its response.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $call:ident $method:literal $(when $feature:ident)?,
        $request:literal ($params:ty) => $response:literal ($result:ty);
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// ```
            #[doc = concat!("use mrtr_schema::{RequestMethod, ", stringify!($call), "};")]
            ///
            #[doc = concat!("assert_eq!(", stringify!($call), "::METHOD, ", stringify!($method), ");")]
            #[doc = concat!("assert_eq!(", stringify!($call), "::REQUEST, ", stringify!($request), ");")]
            #[doc = concat!("assert_eq!(", stringify!($call), "::RESPONSE, ", stringify!($response), ");")]
            /// ```
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            #[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
            pub enum $call {}

            impl RequestMethod for $call {
                const METHOD: &'static str = $method;
                const REQUEST: &'static str = $request;
                const RESPONSE: &'static str = $response;
                const WHEN: Option<Feature> = calls!(@feature $($feature)?);
                type Params = $params;
                type Result = $result;
            }
        )*

        /// Shows a visitor the request and the response of every method.
        pub(crate) fn visit_requests(visitor: &mut impl RequestVisitor) {
            $(visitor.visit::<$call>();)*
        }
    };
    (@feature) => { None };
    (@feature $feature:ident) => { Some(Feature::$feature) };
}

/// Is shown each method in turn.
pub(crate) trait RequestVisitor {
    fn visit<M: RequestMethod>(&mut self)
    where
        Request<M>: Wire,
        Response<M>: Wire;
}

calls! {
    /// Calls a tool.
    CallTool "tools/call",
        "CallToolRequest" (CallToolParams) => "CallToolResultResponse" (MethodResult<CallToolResult>);
    /// Lists the server's tools.
    ListTools "tools/list",
        "ListToolsRequest" (Optional<PaginatedParams>) => "ListToolsResultResponse" (ListToolsResult);
    /// Fills in a prompt.
    GetPrompt "prompts/get",
        "GetPromptRequest" (GetPromptParams) => "GetPromptResultResponse" (MethodResult<GetPromptResult>);
    /// Lists the server's prompts.
    ListPrompts "prompts/list",
        "ListPromptsRequest" (Optional<PaginatedParams>) => "ListPromptsResultResponse" (ListPromptsResult);
    /// Reads a resource.
    ReadResource "resources/read",
        "ReadResourceRequest" (ReadResourceParams) => "ReadResourceResultResponse" (MethodResult<ReadResourceResult>);
    /// Lists the server's resources.
    ListResources "resources/list",
        "ListResourcesRequest" (Optional<PaginatedParams>) => "ListResourcesResultResponse" (ListResourcesResult);
    /// Lists the server's families of resources.
    ListResourceTemplates "resources/templates/list",
        "ListResourceTemplatesRequest" (Optional<PaginatedParams>)
            => "ListResourceTemplatesResultResponse" (ListResourceTemplatesResult);
    /// Completes an argument.
    Complete "completion/complete",
        "CompleteRequest" (CompleteParams) => "CompleteResultResponse" (CompleteResult);
    /// Asks what a server is and offers.
    Discover "server/discover" when Discovery,
        "DiscoverRequest" (RequestParams) => "DiscoverResultResponse" (DiscoverResult);
    /// Listens for notifications.
    Listen "subscriptions/listen" when Subscriptions,
        "SubscriptionsListenRequest" (ListenParams) => "SubscriptionsListenResultResponse" (ListenResult);
    /// Opens a session.
    Initialize "initialize" when Sessions,
        "InitializeRequest" (InitializeParams) => "InitializeResultResponse" (InitializeResult);
    /// Asks whether the other side is there.
    Ping "ping" when Sessions,
        "PingRequest" (Optional<RequestParams>) => "PingResultResponse" (AnyResult);
    /// Says which log messages are wanted.
    SetLevel "logging/setLevel" when Sessions,
        "SetLevelRequest" (SetLevelParams) => "SetLevelResultResponse" (AnyResult);
    /// Watches a resource.
    Subscribe "resources/subscribe" when Sessions,
        "SubscribeRequest" (SubscribeParams) => "SubscribeResultResponse" (AnyResult);
    /// Watches a resource no longer.
    Unsubscribe "resources/unsubscribe" when Sessions,
        "UnsubscribeRequest" (UnsubscribeParams) => "UnsubscribeResultResponse" (AnyResult);
    /// Asks a client for its roots, by a request of the server's own.
    ListRoots "roots/list" when RootsAsRequest,
        "ListRootsRequest" (Optional<RequestParams>) => "ListRootsResultResponse" (ListRootsResult);
    /// Calls a tool as a task.
    CreateTask "tools/call" when CoreTasks,
        "CallToolRequest" (CallToolParams) => "CreateTaskResultResponse" (tasks::CreateTaskResult);
    /// Asks where a task stands.
    GetTask "tasks/get" when CoreTasks,
        "GetTaskRequest" (TaskParams) => "GetTaskResultResponse" (tasks::GetTaskResult);
    /// Asks for a task's result, or for what it needs.
    GetTaskPayload "tasks/result" when CoreTasks,
        "GetTaskPayloadRequest" (TaskParams) => "GetTaskPayloadResultResponse" (MethodResult<TaskPayload>);
    /// Answers what a task asked.
    TaskInputResponse "tasks/input_response" when CoreTasks,
        "TaskInputResponseRequest" (TaskInputResponseParams) => "TaskInputResponseResultResponse" (AnyResult);
    /// Calls a task off.
    CancelTask "tasks/cancel" when CoreTasks,
        "CancelTaskRequest" (TaskParams) => "CancelTaskResultResponse" (tasks::CancelTaskResult);
    /// Lists the caller's tasks.
    ListTasks "tasks/list" when CoreTasks,
        "ListTasksRequest" (Optional<PaginatedParams>) => "ListTasksResultResponse" (tasks::ListTasksResult);
    /// Asks for a task, with all that belongs to where it stands.
    GetDetailedTask "tasks/get" when TasksExtension,
        "GetTaskRequest" (TaskParams) => "GetTaskResultResponse" (extension::GetTaskResult);
    /// Answers what a task asked.
    UpdateTask "tasks/update" when TasksExtension,
        "UpdateTaskRequest" (extension::UpdateTaskParams) => "UpdateTaskResultResponse" (extension::UpdateTaskResult);
    /// Calls a task off.
    CallOffTask "tasks/cancel" when TasksExtension,
        "CancelTaskRequest" (TaskParams) => "CancelTaskResultResponse" (extension::CancelTaskResult);
}

/// One line a notification: its marker type, its name, and what is said.
macro_rules! notifications {
    ($(
        $(#[$doc:meta])*
        $notification:ident $method:literal $(when $feature:ident)?, $name:literal ($params:ty);
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// ```
            #[doc = concat!("use mrtr_schema::{NotificationMethod, ", stringify!($notification), "};")]
            ///
            #[doc = concat!("assert_eq!(", stringify!($notification), "::METHOD, ", stringify!($method), ");")]
            #[doc = concat!("assert_eq!(", stringify!($notification), "::NAME, ", stringify!($name), ");")]
            /// ```
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            #[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
            pub enum $notification {}

            impl NotificationMethod for $notification {
                const METHOD: &'static str = $method;
                const NAME: &'static str = $name;
                const WHEN: Option<Feature> = calls!(@feature $($feature)?);
                type Params = $params;
            }
        )*

        /// Shows a visitor every notification.
        pub(crate) fn visit_notifications(visitor: &mut impl NotificationVisitor) {
            $(visitor.visit::<$notification>();)*
        }
    };
}

/// Is shown each notification in turn.
pub(crate) trait NotificationVisitor {
    fn visit<M: NotificationMethod>(&mut self);
}

notifications! {
    /// Says how far a request has come.
    Progress "notifications/progress", "ProgressNotification" (ProgressParams);
    /// Says that the result of a request is no longer wanted.
    Cancelled "notifications/cancelled", "CancelledNotification" (CancelledParams);
    /// A log message.
    LoggingMessage "notifications/message", "LoggingMessageNotification" (LoggingMessageParams);
    /// Says that the list of tools has changed.
    ToolListChanged "notifications/tools/list_changed",
        "ToolListChangedNotification" (Optional<NotificationParams>);
    /// Says that the list of prompts has changed.
    PromptListChanged "notifications/prompts/list_changed",
        "PromptListChangedNotification" (Optional<NotificationParams>);
    /// Says that the list of resources has changed.
    ResourceListChanged "notifications/resources/list_changed",
        "ResourceListChangedNotification" (Optional<NotificationParams>);
    /// Says that a resource has changed.
    ResourceUpdated "notifications/resources/updated", "ResourceUpdatedNotification" (ResourceUpdatedParams);
    /// Says what a subscriber is going to hear.
    SubscriptionsAcknowledged "notifications/subscriptions/acknowledged" when Subscriptions,
        "SubscriptionsAcknowledgedNotification" (SubscriptionsAcknowledgedParams);
    /// Says that a session is open.
    Initialized "notifications/initialized" when Sessions,
        "InitializedNotification" (Optional<NotificationParams>);
    /// Says that the client's roots have changed.
    RootsListChanged "notifications/roots/list_changed" when RootsListChanged,
        "RootsListChangedNotification" (Optional<NotificationParams>);
    /// Says that what a person did at a URL is done.
    ElicitationComplete "notifications/elicitation/complete" when ElicitationId,
        "ElicitationCompleteNotification" (ElicitationCompleteParams);
    /// Says how a task stands now.
    TaskStatusChanged "notifications/tasks/status" when CoreTasks,
        "TaskStatusNotification" (TaskStatusParams);
    /// Says how a task stands now, with all that belongs to it.
    TaskChanged "notifications/tasks" when TasksExtension,
        "TaskStatusNotification" (extension::TaskNotificationParams);
}
