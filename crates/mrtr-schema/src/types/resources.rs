//! Resources: listed, described, read and watched.

use mrtr_macros::Wire;

use crate::json::Members;
use crate::revision::Feature;
use crate::types::caching::CachingHints;
use crate::types::content::{Annotations, ResourceContents};
use crate::types::implementation::Icon;
use crate::types::input::InputResponses;
use crate::types::meta::{Meta, NotificationMeta, RequestMeta, ResultMeta};
use crate::types::params::{RetryAnywhere, required_params};
use crate::types::request_state::RequestState;
use crate::types::result::CompleteType;

/// A resource, as a server describes it.
///
/// ```
/// use mrtr_schema::resources::Resource;
///
/// let mut resource = Resource::new("file:///src/main.rs", "main.rs");
/// resource.mime_type = Some("text/x-rust".into());
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Resource")]
#[non_exhaustive]
pub struct Resource {
    /// Its URI.
    #[wire(format = "uri")]
    pub uri: String,
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description of what it holds.
    pub description: Option<String>,
    /// Its media type, if known.
    pub mime_type: Option<String>,
    /// Hints for the client that shows it.
    pub annotations: Option<Annotations>,
    /// Its size in bytes, before any encoding.
    pub size: Option<u64>,
    /// Pictures of it for user interfaces.
    #[wire(when = Feature::Icons)]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A family of resources, as a server describes it.
///
/// ```
/// use mrtr_schema::resources::ResourceTemplate;
///
/// let logs = ResourceTemplate::new("file:///logs/{date}", "logs");
/// assert_eq!(serde_json::to_string(&logs)?, r#"{"uriTemplate":"file:///logs/{date}","name":"logs"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ResourceTemplate")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// Their URIs, as a template of RFC 6570.
    #[wire(format = "uri-template")]
    pub uri_template: String,
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description of what they hold.
    pub description: Option<String>,
    /// Their media type, if they all have the same.
    pub mime_type: Option<String>,
    /// Hints for the client that shows them.
    pub annotations: Option<Annotations>,
    /// Pictures of them for user interfaces.
    #[wire(when = Feature::Icons)]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `resources/read`, first attempts and retries alike.
///
/// ```
/// use mrtr_schema::{RequestState, Revision, Wire};
/// use mrtr_schema::resources::ReadResourceParams;
///
/// let mut retry = ReadResourceParams::new("file:///secret");
/// retry.request_state = Some(RequestState::new("sealed"));
/// assert_eq!(retry.to_json(Revision::Sep2322)?, r#"{"uri":"file:///secret","requestState":"sealed"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ReadResourceRequestParams")]
#[non_exhaustive]
pub struct ReadResourceParams {
    /// The resource.
    #[wire(format = "uri")]
    pub uri: String,
    /// Answers to what the server asked.
    #[wire(when = Feature::InterimResults)]
    pub input_responses: Option<InputResponses>,
    /// The server's state for the client to carry, byte for byte.
    #[wire(when = Feature::InterimResults)]
    pub request_state: Option<RequestState>,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The contents of a resource, and the time for which they may be kept.
///
/// ```
/// use mrtr_schema::CachingHints;
/// use mrtr_schema::content::{ResourceContents, TextResourceContents};
/// use mrtr_schema::resources::ReadResourceResult;
///
/// let contents = ResourceContents::Text(TextResourceContents::new("file:///a", "Hello"));
/// let mut result = ReadResourceResult::new([contents]);
/// result.caching = CachingHints::do_not_keep();
/// assert!(serde_json::to_string(&result)?.ends_with(r#""ttlMs":0,"cacheScope":"private"}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ReadResourceResult")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The contents; several, where one URI stands for several resources.
    pub contents: Vec<ResourceContents>,
    /// Hints on caching the result.
    #[wire(flatten, lenient)]
    pub caching: CachingHints,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// One page of a server's resources.
///
/// ```
/// use mrtr_schema::resources::ListResourcesResult;
///
/// let page = r#"{"resources": [{"uri": "file:///a", "name": "a"}], "nextCursor": "page-2"}"#;
/// let page: ListResourcesResult = serde_json::from_str(page)?;
/// assert_eq!(page.next_cursor.as_deref(), Some("page-2"));
/// assert_eq!(page.caching.ttl_ms, Some(0), "a peer that does not say wants nothing kept");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListResourcesResult")]
#[non_exhaustive]
pub struct ListResourcesResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The resources.
    pub resources: Vec<Resource>,
    /// The place where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
    /// Hints on caching the result.
    #[wire(flatten, lenient)]
    pub caching: CachingHints,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// One page of a server's families of resources.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::resources::{ListResourceTemplatesResult, ResourceTemplate};
///
/// let page = ListResourceTemplatesResult::new([ResourceTemplate::new("file:///logs/{date}", "logs")]);
/// assert!(page.to_json(Revision::Draft202602)?.starts_with(r#"{"resourceTemplates":[{"uriTemplate":"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListResourceTemplatesResult")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The families.
    pub resource_templates: Vec<ResourceTemplate>,
    /// The place where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
    /// Hints on caching the result.
    #[wire(flatten, lenient)]
    pub caching: CachingHints,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `resources/subscribe`, in sessions.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::resources::SubscribeParams;
///
/// let params = SubscribeParams::new("file:///a");
/// assert_eq!(params.to_json(Revision::Sep2322)?, r#"{"uri":"file:///a"}"#);
/// assert_eq!(SubscribeParams::name_in(Revision::V2026_07_28), None, "it listens with a filter instead");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "SubscribeRequestParams", when = Feature::Sessions)]
#[non_exhaustive]
pub struct SubscribeParams {
    /// The resource to watch.
    #[wire(format = "uri")]
    pub uri: String,
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `resources/unsubscribe`, in sessions.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::jsonrpc::Request;
/// use mrtr_schema::methods::Unsubscribe;
/// use mrtr_schema::resources::UnsubscribeParams;
///
/// let request = Request::<Unsubscribe>::new(2, UnsubscribeParams::new("file:///a"));
/// assert!(request.to_json(Revision::Sep2322)?.contains(r#""method":"resources/unsubscribe""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "UnsubscribeRequestParams", when = Feature::Sessions)]
#[non_exhaustive]
pub struct UnsubscribeParams {
    /// The resource to watch no longer.
    #[wire(format = "uri")]
    pub uri: String,
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says which resource changed.
///
/// ```
/// use mrtr_schema::jsonrpc::Notification;
/// use mrtr_schema::methods::ResourceUpdated;
/// use mrtr_schema::resources::ResourceUpdatedParams;
///
/// let changed = Notification::<ResourceUpdated>::new(ResourceUpdatedParams::new("file:///a"));
/// assert!(serde_json::to_string(&changed)?.ends_with(r#""params":{"uri":"file:///a"}}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ResourceUpdatedNotificationParams")]
#[non_exhaustive]
pub struct ResourceUpdatedParams {
    /// Its URI, or that of a resource within it.
    #[wire(format = "uri")]
    pub uri: String,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(ReadResourceParams, SubscribeParams, UnsubscribeParams, ResourceUpdatedParams);
