//! What extensions tell subscribers.

use std::fmt;

use futures_util::stream::BoxStream;
use mrtr_schema::Json;
use mrtr_schema::subscriptions::SubscriptionFilter;

/// A notification of an extension's, for a subscriber.
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

/// What an extension tells a subscriber.
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
    /// What it will tell, out of what was asked for.
    pub acknowledged: SubscriptionFilter,
    /// What it tells.
    pub notices: BoxStream<'static, ExtensionNotice>,
}

impl fmt::Debug for ExtensionNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionNotices").field("acknowledged", &self.acknowledged).finish_non_exhaustive()
    }
}
