//! A reply that comes as server-sent events: what the server says on the way, and the response as the last message.

use mrtr_client::{ServerMessage, ServerNotification, ServerRequest, TransportError, TransportFailure};
use mrtr_schema::{Envelope, Json, Printable, RawMembers};
use reqwest::Response;

use super::parser::Parser;

/// Tells of notifications as they come, and gives the response. No event may be longer than `limit`.
pub(super) async fn response_of(
    mut stream: Response,
    limit: usize,
    on_message: &mut (dyn FnMut(ServerMessage) + Send),
) -> Result<String, TransportError> {
    let mut parser = Parser::new(limit);
    while let Some(chunk) = stream.chunk().await.map_err(TransportError::new)? {
        parser.feed(&chunk);
        while let Some(message) = parser.next()? {
            match Event::of(message)? {
                Event::Response(message) => return Ok(message),
                Event::Before(ServerMessage::Request(ServerRequest { method, .. })) => {
                    let text = format!("the server sent a request on a stream: `{}`", Printable::line(&method));
                    return Err(TransportError::of(TransportFailure::LegacyServer, text));
                }
                Event::Before(message) => on_message(message),
            }
        }
    }
    Err(TransportError::new("the stream ended without a response"))
}

/// A message of a stream.
pub(super) enum Event {
    /// What comes before the response.
    Before(ServerMessage),
    /// A response, as it came.
    Response(String),
}

impl Event {
    pub(super) fn of(message: String) -> Result<Self, TransportError> {
        Ok(match Envelope::parse(message.as_bytes()).map_err(TransportError::new)? {
            Envelope::Notification { method, .. } => {
                let (method, params) = (method.into_owned(), params(&message));
                Self::Before(ServerMessage::Notification(ServerNotification { method, params }))
            }
            Envelope::Request { id, method, .. } => {
                let (method, params) = (method.into_owned(), params(&message));
                Self::Before(ServerMessage::Request(ServerRequest { id, method, params }))
            }
            Envelope::Result { .. } | Envelope::Error { .. } => Self::Response(message),
        })
    }
}

/// The parameters of a message, as they came.
fn params(message: &str) -> Json {
    let empty = || Json::from(serde_json::json!({}));
    let Ok(message) = RawMembers::parse(message) else { return empty() };
    message.get("params").and_then(|params| Json::from_raw(params).ok()).unwrap_or_else(empty)
}
