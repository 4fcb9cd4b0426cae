//! A reply that comes as server-sent events: notifications, and the response as the last message.

use mrtr_client::{ServerNotification, TransportError};
use mrtr_schema::{Envelope, Json, Printable, RawMembers};
use reqwest::Response;

use super::parser::Parser;

/// Tells of notifications as they come, and gives the response. No event may be longer than `limit`.
pub(super) async fn response_of(
    mut stream: Response,
    limit: usize,
    on_notification: &mut (dyn FnMut(ServerNotification) + Send),
) -> Result<String, TransportError> {
    let mut parser = Parser::new(limit);
    while let Some(chunk) = stream.chunk().await.map_err(TransportError::new)? {
        parser.feed(&chunk);
        while let Some(message) = parser.next()? {
            match Envelope::parse(message.as_bytes()).map_err(TransportError::new)? {
                Envelope::Notification { method, .. } => {
                    let method = method.into_owned();
                    on_notification(ServerNotification { method, params: params(&message) });
                }
                Envelope::Result { .. } | Envelope::Error { .. } => return Ok(message),
                Envelope::Request { method, .. } => {
                    let method = Printable::line(&method);
                    return Err(TransportError::new(format!("the server sent a request on a stream: `{method}`")));
                }
            }
        }
    }
    Err(TransportError::new("the stream ended without a response"))
}

/// The parameters of a notification, as they came.
fn params(message: &str) -> Json {
    let empty = || Json::from(serde_json::json!({}));
    let Ok(message) = RawMembers::parse(message) else { return empty() };
    message.get("params").and_then(|params| Json::from_raw(params).ok()).unwrap_or_else(empty)
}
