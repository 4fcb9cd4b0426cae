//! Subscriptions: which notifications a client wants to hear, and the stream that carries them.

use mrtr_schema_derive::Wire;

use crate::json::Members;
use crate::meta::{NotificationMeta, RequestMeta};
use crate::params::required_params;
use crate::result::CompleteType;
use crate::{Feature, Implementation, RequestId};

/// Which notifications a client wants to hear.
///
/// ```
/// use mrtr_schema::SubscriptionFilter;
///
/// let mut filter = SubscriptionFilter::new();
/// filter.tools_list_changed = Some(true);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "SubscriptionFilter", when = Feature::Discovery)]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// When the list of tools changes.
    pub tools_list_changed: Option<bool>,
    /// When the list of prompts changes.
    pub prompts_list_changed: Option<bool>,
    /// When the list of resources changes.
    pub resources_list_changed: Option<bool>,
    /// When one of these resources changes.
    pub resource_subscriptions: Option<Vec<String>>,
    /// When one of these tasks changes: for clients that declared the tasks extension.
    #[wire(when = Feature::TasksExtension)]
    pub task_ids: Option<Vec<String>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `subscriptions/listen`.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsListenRequestParams", when = Feature::Discovery)]
#[non_exhaustive]
pub struct ListenParams {
    /// What the client wants to hear.
    pub notifications: SubscriptionFilter,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says what the client is going to hear: the first message on the stream.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsAcknowledgedNotificationParams", when = Feature::Discovery)]
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedParams {
    /// What the server took on.
    pub notifications: SubscriptionFilter,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(ListenParams, SubscriptionsAcknowledgedParams);

/// Says that the server has ended the subscription.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsListenResult", when = Feature::Discovery)]
#[non_exhaustive]
pub struct ListenResult {
    /// Says that it is complete.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// Metadata, with the id of the subscription.
    #[wire(rename = "_meta")]
    pub meta: ListenResultMeta,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Metadata of the end of a subscription.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsListenResultMetaObject", when = Feature::Discovery, open)]
#[non_exhaustive]
pub struct ListenResultMeta {
    /// The subscription: the id of the request that opened it.
    #[wire(rename = "io.modelcontextprotocol/subscriptionId")]
    pub subscription_id: RequestId,
    /// The server's name and version.
    #[wire(rename = "io.modelcontextprotocol/serverInfo")]
    pub server_info: Option<Implementation>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
