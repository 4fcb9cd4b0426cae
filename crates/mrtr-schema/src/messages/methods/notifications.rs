//! The table of notifications: one row each.

use super::{NotificationMethod, NotificationVisitor};
use crate::revision::Feature;
use crate::types::notifications::{CancelledParams, ElicitationCompleteParams, LoggingMessageParams, ProgressParams};
use crate::types::params::{NotificationParams, Optional};
use crate::types::resources::ResourceUpdatedParams;
use crate::types::subscriptions::SubscriptionsAcknowledgedParams;
use crate::types::tasks::{TaskStatusParams, extension};

/// Declares one notification per line: its marker type, its name, and its parameters.
macro_rules! notifications {
    ($(
        $(#[$doc:meta])*
        $notification:ident $method:literal $(when $feature:ident)?, $name:literal ($params:ty);
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// ```
            #[doc = concat!("use mrtr_schema::methods::{NotificationMethod, ", stringify!($notification), "};")]
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
                const WHEN: Option<Feature> = notifications!(@feature $($feature)?);
                type Params = $params;
            }
        )*

        /// Shows a visitor every notification.
        pub(crate) fn visit_notifications(visitor: &mut impl NotificationVisitor) {
            $(visitor.visit::<$notification>();)*
        }
    };    (@feature) => { None };
    (@feature $feature:ident) => { Some(Feature::$feature) };
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
    /// Says that the interaction of a person at a URL is complete.
    ElicitationComplete "notifications/elicitation/complete" when ElicitationId,
        "ElicitationCompleteNotification" (ElicitationCompleteParams);
    /// Says what status a task has now.
    TaskStatusChanged "notifications/tasks/status" when CoreTasks,
        "TaskStatusNotification" (TaskStatusParams);
    /// Says what status a task has now, with the members of that status: a result, an error, or open inputs.
    TaskChanged "notifications/tasks" when TasksExtension,
        "TaskStatusNotification" (extension::TaskNotificationParams);
}
