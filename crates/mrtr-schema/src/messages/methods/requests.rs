//! The table of methods that are called and answered: one row each.

use super::info::MayAsk;
use super::{MethodInfo, RequestMethod, RequestVisitor};
use crate::revision::Feature;
use crate::types::completion::{CompleteParams, CompleteResult};
use crate::types::discovery::{DiscoverResult, InitializeParams, InitializeResult};
use crate::types::elicitation::{ElicitParams, ElicitResult};
use crate::types::notifications::SetLevelParams;
use crate::types::params::{Optional, PaginatedParams, RequestParams};
use crate::types::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult};
use crate::types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, SubscribeParams,
    UnsubscribeParams,
};
use crate::types::result::{AnyResult, MethodResult};
use crate::types::roots::ListRootsResult;
use crate::types::sampling::{CreateMessageParams, CreateMessageResult};
use crate::types::subscriptions::{ListenParams, ListenResult};
use crate::types::tasks::{self, TaskInputResponseParams, TaskParams, TaskPayload, extension};
use crate::types::tools::{CallToolParams, CallToolResult, ListToolsResult};

/// Declares one method per row: its name, the facts in which it differs from a plain one, and its types. A method that
/// revisions answer with different types has a marker for each; a marker `in` a module is declared there.
macro_rules! methods {
    ($(
        $method:literal { $($fact:ident: $value:expr),* } [$(
            $(#[$doc:meta])*
            $marker:ident $(in $module:ident)? $(when $feature:ident)?:
            $request:literal ($params:ty) => $response:literal ($result:ty);
        )+]
    )*) => {
        $($(
            methods! { @marker [$($module)?] $marker $method $request $response $(#[$doc])* }

            impl RequestMethod for $($module::)? $marker {
                const METHOD: &'static str = $method;
                const REQUEST: &'static str = $request;
                const RESPONSE: &'static str = $response;
                const WHEN: Option<Feature> = methods!(@feature $($feature)?);
                type Params = $params;
                type Result = $result;
            }
        )+)*

        /// Shows a visitor the request and the response of every method.
        pub(crate) fn visit_requests(visitor: &mut impl RequestVisitor) {
            $($(visitor.visit::<$($module::)? $marker>();)+)*
        }

        /// The row of a method.
        pub(super) fn row(method: &str) -> Option<MethodInfo> {
            match method {
                $($method => {
                    const ROW: MethodInfo = MethodInfo {
                        $($fact: $value,)*
                        ..MethodInfo::plain($method, &[$(methods!(@feature $($feature)?)),+])
                    };
                    Some(ROW)
                })*
                _ => None,
            }
        }
    };
    (@marker [] $marker:ident $method:literal $request:literal $response:literal $(#[$doc:meta])*) => {
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use mrtr_schema::methods::{", stringify!($marker), ", RequestMethod};")]
        ///
        #[doc = concat!("assert_eq!(", stringify!($marker), "::METHOD, ", stringify!($method), ");")]
        #[doc = concat!("assert_eq!(", stringify!($marker), "::REQUEST, ", stringify!($request), ");")]
        #[doc = concat!("assert_eq!(", stringify!($marker), "::RESPONSE, ", stringify!($response), ");")]
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
        pub enum $marker {}
    };
    (@marker [$module:ident] $($declared_there:tt)*) => {};
    (@feature) => { None };
    (@feature $feature:ident) => { Some(Feature::$feature) };
}

methods! {
    "tools/call" { named_by: Some("name"), may_ask: MayAsk::Always, runs_flow: true } [
        /// Calls a tool.
        CallTool: "CallToolRequest" (CallToolParams) => "CallToolResultResponse" (MethodResult<CallToolResult>);
        /// Calls a tool as a task.
        CreateTask when CoreTasks:
            "CallToolRequest" (CallToolParams) => "CreateTaskResultResponse" (tasks::CreateTaskResult);
    ]
    "tools/list" { only_reads: true } [
        /// Lists the server's tools.
        ListTools: "ListToolsRequest" (Optional<PaginatedParams>) => "ListToolsResultResponse" (ListToolsResult);
    ]
    "prompts/get" { named_by: Some("name"), may_ask: MayAsk::Always, runs_flow: true } [
        /// Fills in a prompt.
        GetPrompt: "GetPromptRequest" (GetPromptParams) => "GetPromptResultResponse" (MethodResult<GetPromptResult>);
    ]
    "prompts/list" { only_reads: true } [
        /// Lists the server's prompts.
        ListPrompts: "ListPromptsRequest" (Optional<PaginatedParams>) => "ListPromptsResultResponse" (ListPromptsResult);
    ]
    "resources/read" { named_by: Some("uri"), may_ask: MayAsk::Always, runs_flow: true } [
        /// Reads a resource.
        ReadResource:
            "ReadResourceRequest" (ReadResourceParams)
            => "ReadResourceResultResponse" (MethodResult<ReadResourceResult>);
    ]
    "resources/list" { only_reads: true } [
        /// Lists the server's resources.
        ListResources:
            "ListResourcesRequest" (Optional<PaginatedParams>) => "ListResourcesResultResponse" (ListResourcesResult);
    ]
    "resources/templates/list" { only_reads: true } [
        /// Lists the server's families of resources.
        ListResourceTemplates:
            "ListResourceTemplatesRequest" (Optional<PaginatedParams>)
            => "ListResourceTemplatesResultResponse" (ListResourceTemplatesResult);
    ]
    "completion/complete" { may_ask: MayAsk::When(Feature::AskOnCompletion), runs_flow: true } [
        /// Completes an argument.
        Complete: "CompleteRequest" (CompleteParams) => "CompleteResultResponse" (CompleteResult);
    ]
    "server/discover" { only_reads: true } [
        /// Asks what a server is and offers.
        Discover when Discovery: "DiscoverRequest" (RequestParams) => "DiscoverResultResponse" (DiscoverResult);
    ]
    "subscriptions/listen" {} [
        /// Listens for notifications.
        Listen when Subscriptions:
            "SubscriptionsListenRequest" (ListenParams) => "SubscriptionsListenResultResponse" (ListenResult);
    ]
    "initialize" {} [
        /// Opens a session.
        Initialize when Sessions:
            "InitializeRequest" (InitializeParams) => "InitializeResultResponse" (InitializeResult);
    ]
    "ping" {} [
        /// Asks whether the other side is there.
        Ping when Sessions: "PingRequest" (Optional<RequestParams>) => "PingResultResponse" (AnyResult);
    ]
    "logging/setLevel" {} [
        /// Says which log messages are wanted.
        SetLevel when Sessions: "SetLevelRequest" (SetLevelParams) => "SetLevelResultResponse" (AnyResult);
    ]
    "resources/subscribe" {} [
        /// Watches a resource.
        Subscribe when Sessions: "SubscribeRequest" (SubscribeParams) => "SubscribeResultResponse" (AnyResult);
    ]
    "resources/unsubscribe" {} [
        /// Watches a resource no longer.
        Unsubscribe when Sessions: "UnsubscribeRequest" (UnsubscribeParams) => "UnsubscribeResultResponse" (AnyResult);
    ]
    "elicitation/create" {} [
        /// Asks a person something, by a request of the server's own.
        Elicit when InputsAsRequests: "ElicitRequest" (ElicitParams) => "ElicitResultResponse" (ElicitResult);
    ]
    "sampling/createMessage" {} [
        /// Asks a model something, by a request of the server's own.
        CreateMessage when InputsAsRequests:
            "CreateMessageRequest" (CreateMessageParams) => "CreateMessageResultResponse" (CreateMessageResult);
    ]
    "roots/list" { only_reads: true } [
        /// Asks a client for its roots, by a request of the server's own.
        ListRoots when RootsAsRequest:
            "ListRootsRequest" (Optional<RequestParams>) => "ListRootsResultResponse" (ListRootsResult);
    ]
    "tasks/get" { named_by: Some("taskId"), only_reads: true } [
        /// Asks for the status of a task.
        GetTask when CoreTasks: "GetTaskRequest" (TaskParams) => "GetTaskResultResponse" (tasks::GetTaskResult);
        GetTask in extension when TasksExtension:
            "GetTaskRequest" (TaskParams) => "GetTaskResultResponse" (extension::GetTaskResult);
    ]
    "tasks/result" { named_by: Some("taskId"), may_ask: MayAsk::Always } [
        /// Asks for a task's result, or for what it needs.
        GetTaskPayload when CoreTasks:
            "GetTaskPayloadRequest" (TaskParams) => "GetTaskPayloadResultResponse" (MethodResult<TaskPayload>);
    ]
    "tasks/input_response" { named_by: Some("taskId") } [
        /// Answers the questions of a task.
        TaskInputResponse when CoreTasks:
            "TaskInputResponseRequest" (TaskInputResponseParams) => "TaskInputResponseResultResponse" (AnyResult);
    ]
    "tasks/update" { named_by: Some("taskId") } [
        UpdateTask in extension when TasksExtension:
            "UpdateTaskRequest" (extension::UpdateTaskParams)
            => "UpdateTaskResultResponse" (extension::UpdateTaskResult);
    ]
    "tasks/cancel" { named_by: Some("taskId") } [
        /// Cancels a task.
        CancelTask when CoreTasks:
            "CancelTaskRequest" (TaskParams) => "CancelTaskResultResponse" (tasks::CancelTaskResult);
        CancelTask in extension when TasksExtension:
            "CancelTaskRequest" (TaskParams) => "CancelTaskResultResponse" (extension::CancelTaskResult);
    ]
    "tasks/list" { only_reads: true } [
        /// Lists the caller's tasks.
        ListTasks when CoreTasks:
            "ListTasksRequest" (Optional<PaginatedParams>) => "ListTasksResultResponse" (tasks::ListTasksResult);
    ]
}
