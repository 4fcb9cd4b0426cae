//! Subscriptions: the notifications that a client wants to hear, and the stream that carries them.

use mrtr_macros::Wire;

use crate::json::Members;
use crate::revision::Feature;
use crate::types::implementation::Implementation;
use crate::types::meta::{NotificationMeta, RequestMeta};
use crate::types::params::required_params;
use crate::types::request_id::RequestId;
use crate::types::result::CompleteType;

/// The notifications that a client wants to hear.
///
/// ```
/// use mrtr_schema::subscriptions::SubscriptionFilter;
///
/// let mut filter = SubscriptionFilter::new();
/// filter.tools_list_changed = Some(true);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "SubscriptionFilter", when = Feature::Subscriptions)]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// True to hear when the list of tools changes.
    pub tools_list_changed: Option<bool>,
    /// True to hear when the list of prompts changes.
    pub prompts_list_changed: Option<bool>,
    /// True to hear when the list of resources changes.
    pub resources_list_changed: Option<bool>,
    /// The resources whose changes the client wants to hear of.
    pub resource_subscriptions: Option<Vec<String>>,
    /// The tasks whose changes the client wants to hear of, if it declared the tasks extension.
    #[wire(when = Feature::TasksExtension)]
    pub task_ids: Option<Vec<String>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl SubscriptionFilter {
    /// The most resources and tasks, together, that a subscription may name.
    ///
    /// ```
    /// use mrtr_schema::subscriptions::SubscriptionFilter;
    ///
    /// assert_eq!(SubscriptionFilter::MOST_NAMES, 1024);
    /// ```
    pub const MOST_NAMES: usize = 1024;
}

/// Parameters of `subscriptions/listen`.
///
/// ```
/// use mrtr_schema::{ClientCapabilities, Revision};
/// use mrtr_schema::meta::RequestMeta;
/// use mrtr_schema::subscriptions::{ListenParams, SubscriptionFilter};
///
/// let mut filter = SubscriptionFilter::new();
/// filter.resource_subscriptions = Some(vec!["file:///a".into()]);
/// let mut params = ListenParams::new(filter);
/// params.meta = Some(RequestMeta::declaring(Revision::V2026_07_28, ClientCapabilities::new()));
/// assert!(serde_json::to_string(&params)?.starts_with(r#"{"notifications":{"resourceSubscriptions":["file:///a"]}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsListenRequestParams", when = Feature::Subscriptions)]
#[non_exhaustive]
pub struct ListenParams {
    /// The notifications that the client wants to hear.
    pub notifications: SubscriptionFilter,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says what the client is going to hear: the first message on the stream.
///
/// ```
/// use mrtr_schema::subscriptions::{SubscriptionFilter, SubscriptionsAcknowledgedParams};
///
/// let params = SubscriptionsAcknowledgedParams::new(SubscriptionFilter::new());
/// assert_eq!(serde_json::to_string(&params)?, r#"{"notifications":{}}"#, "the server took nothing on");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsAcknowledgedNotificationParams", when = Feature::Subscriptions)]
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedParams {
    /// The notifications that the server took on.
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
///
/// ```
/// use mrtr_schema::subscriptions::{ListenResult, ListenResultMeta};
///
/// let end = ListenResult::new(ListenResultMeta::new(7));
/// assert_eq!(
///     serde_json::to_string(&end)?,
///     r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsListenResult", when = Feature::Subscriptions)]
#[non_exhaustive]
pub struct ListenResult {
    /// Says that the result is complete, not an interim one.
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
///
/// ```
/// use mrtr_schema::subscriptions::ListenResultMeta;
///
/// assert_eq!(ListenResultMeta::new("s-1").subscription_id, "s-1".into());
/// assert!(serde_json::from_str::<ListenResultMeta>("{}").is_err(), "it must say which subscription");
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscriptionsListenResultMetaObject", when = Feature::Subscriptions, open)]
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
