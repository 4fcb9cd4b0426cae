//! Messages from extensions: the replies to their own methods, and the notifications for subscribers.

use std::fmt;

use futures_util::stream::BoxStream;
use mrtr_flow::ProtocolError;
use mrtr_schema::Json;
use mrtr_schema::subscriptions::SubscriptionFilter;

/// A notification from an extension to a subscriber.
///
/// ```
/// use mrtr_server::extend::ExtensionNotice;
///
/// let params = serde_json::json!({ "kelvin": 290 }).into();
/// let notice = ExtensionNotice { method: "com.example/weather/changed", params };
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a method and its parameters are all there is")]
pub struct ExtensionNotice {
    /// Its method.
    pub method: &'static str,
    /// Its parameters, without metadata.
    pub params: Json,
}

impl ExtensionNotice {
    /// The notification as a message.
    pub(crate) fn to_message(&self) -> String {
        let message = serde_json::json!({ "jsonrpc": "2.0", "method": self.method, "params": self.params });
        message.to_string()
    }
}

/// The notifications of an extension for one subscriber.
///
/// ```
/// use futures_util::{StreamExt, stream};
/// use mrtr_schema::subscriptions::SubscriptionFilter;
/// use mrtr_server::extend::{ExtensionNotice, ExtensionNotices};
///
/// let params = serde_json::json!({ "kelvin": 290 }).into();
/// let notice = ExtensionNotice { method: "com.example/weather/changed", params };
/// let notices = ExtensionNotices {
///     acknowledged: SubscriptionFilter::new(),
///     notices: stream::once(async { notice }).boxed(),
/// };
/// ```
#[expect(clippy::exhaustive_structs, reason = "an extension fills in both")]
pub struct ExtensionNotices {
    /// The part of the subscriber's filter that the extension will tell of.
    pub acknowledged: SubscriptionFilter,
    /// The notifications.
    pub notices: BoxStream<'static, ExtensionNotice>,
}

impl fmt::Debug for ExtensionNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionNotices").field("acknowledged", &self.acknowledged).finish_non_exhaustive()
    }
}

/// The answer of an extension to one of its own methods: a result, or a stream that ends with one.
///
/// A stream may last as long as its client waits. It counts as a subscription does, and not as a request at work.
///
/// ```
/// use futures_util::{StreamExt, stream};
/// use mrtr_schema::Json;
/// use mrtr_server::extend::{ExtensionMessage, ExtensionReply};
///
/// /// Answers when the work is done, however long that takes.
/// fn blocks(done: impl Future<Output = Json> + Send + 'static) -> ExtensionReply {
///     ExtensionReply::Stream(stream::once(async { ExtensionMessage::Result(Ok(done.await)) }).boxed())
/// }
/// ```
#[non_exhaustive]
pub enum ExtensionReply {
    /// The result.
    Result(Json),
    /// Notifications, and at last the result or the error. Anything after that is not sent.
    Stream(BoxStream<'static, ExtensionMessage>),
}

/// A message of an extension's stream.
///
/// ```
/// use mrtr_server::extend::ExtensionMessage;
///
/// fn is_last(message: &ExtensionMessage) -> bool {
///     matches!(message, ExtensionMessage::Result(_))
/// }
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "an extension tells something, or ends")]
pub enum ExtensionMessage {
    /// A notification.
    Notice(ExtensionNotice),
    /// The result or the error, which ends the stream.
    Result(Result<Json, ProtocolError>),
}

impl From<Json> for ExtensionReply {
    fn from(result: Json) -> Self {
        Self::Result(result)
    }
}

impl fmt::Debug for ExtensionReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(result) => f.debug_tuple("Result").field(result).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}
