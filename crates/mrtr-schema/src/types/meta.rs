//! `_meta`: metadata of requests, results and notifications, its reserved keys and its rules for the others.

use std::borrow::Cow;
use std::fmt;

use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::error::{MetaKeyError, ReadError};
use crate::json::{Json, Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::capabilities::ClientCapabilities;
use crate::types::implementation::Implementation;
use crate::types::request_id::RequestId;
use crate::types::tasks::RelatedTask;
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, serde_at_published_revision, write_object};

/// Metadata on anything but a request, result or notification of the published revision.
///
/// ```
/// use mrtr_schema::Json;
/// use mrtr_schema::meta::{Meta, MetaKey};
///
/// let mut meta = Meta::default();
/// meta.set(MetaKey::new("com.example/trace")?, Json::of("abc")?);
/// assert_eq!(meta.get("com.example/trace").unwrap().as_text().unwrap(), "abc");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meta(Members);

impl Meta {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// Puts a value under a key.
    pub fn set(&mut self, key: MetaKey, value: impl Into<Json>) {
        self.0.set(key.0.into_owned(), value);
    }

    /// Keys and values, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter()
    }
}

impl Wire for Meta {
    const NAME: Option<&'static str> = Some("MetaObject");

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        WireObject::read_members(RawMembers::of(value)?, dialect)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        write_object(self, revision, serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "description": "Metadata.", "type": "object", "additionalProperties": {} })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        crate::wire::arbitrary::extra_members().prop_map(Self).boxed()
    }
}

impl WireObject for Meta {
    fn read_members(members: RawMembers<'_>, _: Dialect) -> Result<Self, ReadError> {
        members.rest().map(Self)
    }

    fn write_members<M: SerializeMap>(&self, _: Revision, map: &mut M) -> Result<(), M::Error> {
        self.0.write_into(map, |_| false)
    }
}

serde_at_published_revision!(Meta);

/// Metadata of a request: in the published revision, it has all that a server needs to know of its client (HT-7).
///
/// ```
/// use mrtr_schema::{ClientCapabilities, Revision};
/// use mrtr_schema::meta::RequestMeta;
///
/// let meta = RequestMeta::declaring(Revision::V2026_07_28, ClientCapabilities::new());
/// assert_eq!(meta.protocol_version.as_deref(), Some("2026-07-28"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "RequestMetaObject", open)]
#[non_exhaustive]
pub struct RequestMeta {
    /// The protocol version of this request.
    #[wire(rename = "io.modelcontextprotocol/protocolVersion", when = Feature::RequestMetadata, required = Feature::RequestMetadata)]
    pub protocol_version: Option<String>,
    /// The client's name and version.
    #[wire(rename = "io.modelcontextprotocol/clientInfo", when = Feature::RequestMetadata)]
    pub client_info: Option<Implementation>,
    /// The capabilities of the client for this request.
    #[wire(rename = "io.modelcontextprotocol/clientCapabilities", when = Feature::RequestMetadata, required = Feature::RequestMetadata)]
    pub client_capabilities: Option<ClientCapabilities>,
    /// The least severe log messages that the client wants; without it, none are sent.
    #[wire(rename = "io.modelcontextprotocol/logLevel", when = Feature::LogLevelPerRequest)]
    pub log_level: Option<LoggingLevel>,
    /// A token under which the client wants to hear of progress.
    pub progress_token: Option<ProgressToken>,
    /// The task that the request belongs to.
    #[wire(rename = "io.modelcontextprotocol/related-task", when = Feature::CoreTasks)]
    pub related_task: Option<RelatedTask>,
    /// W3C trace context: the caller's span.
    #[wire(when = Feature::TraceContext)]
    pub traceparent: Option<String>,
    /// W3C trace context: what vendors add to it.
    #[wire(when = Feature::TraceContext)]
    pub tracestate: Option<String>,
    /// W3C baggage.
    #[wire(when = Feature::TraceContext)]
    pub baggage: Option<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl RequestMeta {
    /// Declares the two things that a request of the published revision must say.
    pub fn declaring(version: Revision, capabilities: ClientCapabilities) -> Self {
        Self { protocol_version: Some(version.to_string()), client_capabilities: Some(capabilities), ..Self::default() }
    }
}

/// Metadata of a result.
///
/// ```
/// use mrtr_schema::Implementation;
/// use mrtr_schema::meta::ResultMeta;
///
/// let mut meta = ResultMeta::new();
/// meta.server_info = Some(Implementation::new("tracker", "1.4.0"));
/// assert_eq!(
///     serde_json::to_string(&meta)?,
///     r#"{"io.modelcontextprotocol/serverInfo":{"name":"tracker","version":"1.4.0"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ResultMetaObject", open)]
#[non_exhaustive]
pub struct ResultMeta {
    /// The server's name and version.
    #[wire(rename = "io.modelcontextprotocol/serverInfo", when = Feature::ServerInfoInResults)]
    pub server_info: Option<Implementation>,
    /// The task that the result belongs to.
    #[wire(rename = "io.modelcontextprotocol/related-task", when = Feature::CoreTasks)]
    pub related_task: Option<RelatedTask>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Metadata of a notification.
///
/// ```
/// use mrtr_schema::meta::NotificationMeta;
///
/// let mut meta = NotificationMeta::new();
/// meta.subscription_id = Some(7.into());
/// assert_eq!(serde_json::to_string(&meta)?, r#"{"io.modelcontextprotocol/subscriptionId":7}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "NotificationMetaObject", open)]
#[non_exhaustive]
pub struct NotificationMeta {
    /// The subscription that it is sent for: the id of the request that opened it.
    #[wire(rename = "io.modelcontextprotocol/subscriptionId", when = Feature::Subscriptions)]
    pub subscription_id: Option<RequestId>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The severity of a log message, as syslog grades it.
///
/// ```
/// use mrtr_schema::LoggingLevel;
///
/// assert!(LoggingLevel::Emergency > LoggingLevel::Warning, "they are ordered by severity");
/// assert_eq!(serde_json::to_string(&LoggingLevel::Notice)?, r#""notice""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Wire)]
#[wire(name = "LoggingLevel")]
#[expect(clippy::exhaustive_enums, reason = "RFC 5424 fixes the eight")]
pub enum LoggingLevel {
    /// Details for a person who looks for a fault.
    Debug,
    /// General information.
    Info,
    /// A normal event that is worth a mention.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part of the system has failed.
    Critical,
    /// The operator must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// A token that ties progress notifications to a request: a string or an integer, chosen by the client.
///
/// ```
/// use mrtr_schema::meta::{ProgressToken, RequestMeta};
///
/// let meta: RequestMeta = serde_json::from_str(r#"{
///     "io.modelcontextprotocol/protocolVersion": "2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities": {},
///     "progressToken": "upload"
/// }"#)?;
/// assert_eq!(meta.progress_token, Some(ProgressToken("upload".into())));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgressToken(pub RequestId);

impl Wire for ProgressToken {
    const NAME: Option<&'static str> = Some("ProgressToken");

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        RequestId::read(value, dialect).map(Self)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "description": "A token that ties progress notifications to a request.", "type": ["string", "integer"] })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        RequestId::any_value(revision).prop_map(Self).boxed()
    }
}

serde_at_published_revision!(ProgressToken);

/// A key that an application may use in `_meta`: an optional reverse-DNS prefix, a slash and a name.
///
/// Prefixes whose second label is `modelcontextprotocol` or `mcp` are the protocol's own.
///
/// ```
/// use mrtr_schema::meta::MetaKey;
///
/// assert!(MetaKey::new("com.example/build-id").is_ok());
/// assert!(MetaKey::new("io.modelcontextprotocol/anything").is_err());
/// assert!(MetaKey::new("com.example/").is_ok(), "a name may be empty after a prefix");
/// assert!(MetaKey::new("-no").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetaKey(Cow<'static, str>);

impl MetaKey {
    /// Checks a key against the rules.
    pub fn new(key: impl Into<Cow<'static, str>>) -> Result<Self, MetaKeyError> {
        let key = key.into();
        match key.split_once('/') {
            Some((prefix, _)) if !is_prefix(prefix) => Err(MetaKeyError::Prefix),
            Some((prefix, _)) if is_reserved(prefix) => Err(MetaKeyError::Reserved),
            Some((_, "")) => Ok(Self(key)),
            Some((_, name)) if is_name(name) => Ok(Self(key)),
            None if is_name(&key) => Ok(Self(key)),
            _ => Err(MetaKeyError::Name),
        }
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MetaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if the text is labels joined by dots.
pub(crate) fn is_prefix(prefix: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    };
    prefix.split('.').all(is_label)
}

/// Returns true if the protocol keeps a prefix for itself.
pub(crate) fn is_reserved(prefix: &str) -> bool {
    let second = prefix.split('.').nth(1).unwrap_or_default();
    second.eq_ignore_ascii_case("modelcontextprotocol") || second.eq_ignore_ascii_case("mcp")
}

/// Returns true if the text may be the name in a key: the part after the prefix.
pub(crate) fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
