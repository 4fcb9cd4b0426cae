//! What the legacy era needs of a transport: the id of a session, messages that have no response, and what a server
//! sends before its response.

use std::fmt;
use std::sync::Arc;

use mrtr_schema::{Json, RequestId, Revision};

/// What a transport calls a session: over HTTP the server's `Mcp-Session-Id`. Whoever has it has the session, so it is
/// never shown.
///
/// ```
/// use mrtr_client::SessionId;
///
/// let id = SessionId::new("1868a90c");
/// assert_eq!(id.as_str(), "1868a90c");
/// assert_eq!(format!("{id:?}"), "SessionId");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// An id, as the transport got it or chose it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Its text, for the transport alone.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId")
    }
}

/// A message of a session that has no response: a notification, or the answer to what the server asked.
///
/// ```
/// use mrtr_client::OneWayMessage;
///
/// fn shown(message: &OneWayMessage<'_>) -> String {
///     format!("{} bytes in {}", message.message.len(), message.revision)
/// }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OneWayMessage<'a> {
    /// The whole message.
    pub message: &'a str,
    /// The revision of the session.
    pub revision: Revision,
    /// The session, if the server gave it an id.
    pub session: Option<&'a SessionId>,
}

/// Shows only the length: an answer does not belong in a log.
impl fmt::Debug for OneWayMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OneWayMessage({} bytes)", self.message.len())
    }
}

/// What a server sends before its response.
///
/// ```
/// use mrtr_client::ServerMessage;
///
/// fn method(message: &ServerMessage) -> &str {
///     match message {
///         ServerMessage::Notification(notification) => &notification.method,
///         ServerMessage::Request(request) => &request.method,
///     }
/// }
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has these two beside the response")]
pub enum ServerMessage {
    /// It says something.
    Notification(ServerNotification),
    /// It asks something, in a session of the legacy era alone.
    Request(ServerRequest),
}

/// A notification that came before a reply.
///
/// ```
/// use mrtr_client::ServerNotification;
/// use mrtr_schema::Json;
///
/// let params = Json::parse(r#"{"progressToken": 1, "progress": 50}"#)?;
/// let notification = ServerNotification { method: "notifications/progress".into(), params };
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a method and its parameters are all there is")]
pub struct ServerNotification {
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Json,
}

/// A request of the server's own: how it asks in a session of the legacy era.
///
/// ```
/// use mrtr_client::ServerRequest;
/// use mrtr_schema::Json;
///
/// let request = ServerRequest { id: 7.into(), method: "roots/list".into(), params: Json::parse("{}")? };
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "an id, a method and its parameters are all there is")]
pub struct ServerRequest {
    /// The id that the answer carries.
    pub id: RequestId,
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Json,
}

/// Shows no parameters: a question to a model may hold what does not belong in a log.
impl fmt::Debug for ServerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRequest").field("id", &self.id).field("method", &self.method).finish_non_exhaustive()
    }
}
