//! The parts of a transport that the eras need: the memory of its server's era, and for the legacy one the id of a
//! session, messages that have no response, and what a server sends on its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use mrtr_schema::{Era, Json, RequestId, Revision};

/// The id of a session at its transport: over HTTP the server's `Mcp-Session-Id`. A client that has it has the session,
/// so it is never shown.
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
    /// Creates an id, as the transport got it or chose it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The text of the id, for the transport alone.
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

/// A message that a server sends before its response.
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
    /// The server says something.
    Notification(ServerNotification),
    /// The server asks something, in a session of the legacy era alone.
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
    /// The method of the notification.
    pub method: String,
    /// The parameters of the notification.
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
    /// The method of the question.
    pub method: String,
    /// The parameters of the question.
    pub params: Json,
}

/// Shows no parameters: a question to a model may hold what does not belong in a log.
impl fmt::Debug for ServerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRequest").field("id", &self.id).field("method", &self.method).finish_non_exhaustive()
    }
}

/// The memory of a server's era. Clones are one memory, so that clients that share it agree.
///
/// A transport that can carry sessions keeps one: over HTTP for as long as the origin is the same, and over stdio for
/// as long as the process is. A client with such a transport finds out which era the server speaks, and then speaks
/// that one.
///
/// ```
/// use mrtr_client::EraMemory;
/// use mrtr_schema::{Era, Revision};
///
/// let memory = EraMemory::of_origin();
/// assert_eq!(memory.era(), None, "no request was answered yet");
/// let shared = memory.clone();
/// shared.remember(Revision::V2025_11_25.era());
/// assert_eq!(memory.era(), Some(Era::Legacy));
/// memory.forget();
/// assert_eq!(shared.era(), None);
/// ```
#[derive(Clone)]
pub struct EraMemory {
    era: Arc<AtomicU8>,
    pub(crate) detection: Detection,
}

/// The way to find out a server's era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detection {
    /// A request is its own probe: the server's answer and its status tell the era.
    ByRequest,
    /// A probe goes before the first request: a legacy server may run what it does not understand, or say nothing at
    /// all, and nothing else would tell.
    ByProbe,
}

impl EraMemory {
    /// Creates the memory of a transport whose server can refuse what it does not understand with a status, as over
    /// HTTP. A modern request is then its own probe: the answer tells the era, and a missing answer does not.
    pub fn of_origin() -> Self {
        Self::new(Detection::ByRequest)
    }

    /// Creates the memory of a transport whose server has no way but messages, as over stdio. The client sends
    /// `server/discover` before the first request; a legacy server may answer it with silence, or end its process.
    pub fn of_process() -> Self {
        Self::new(Detection::ByProbe)
    }

    fn new(detection: Detection) -> Self {
        Self { era: Arc::new(AtomicU8::new(UNKNOWN)), detection }
    }

    /// The era, if it is known.
    pub fn era(&self) -> Option<Era> {
        match self.era.load(Ordering::Relaxed) {
            MODERN => Some(Era::Modern),
            LEGACY => Some(Era::Legacy),
            _ => None,
        }
    }

    /// Notes that the server has shown that it is of this era.
    pub fn remember(&self, era: Era) {
        let era = match era {
            Era::Modern => MODERN,
            Era::Legacy => LEGACY,
        };
        self.era.store(era, Ordering::Relaxed);
    }

    /// Forgets the era of an origin, after a session has ended: another server may stand behind the origin by now, and
    /// a request finds that out. A process that is started again is still of its era.
    pub(crate) fn forget_origin(&self) {
        if self.detection == Detection::ByRequest {
            self.forget();
        }
    }

    /// Forgets the era: the server may be of another one by now.
    pub fn forget(&self) {
        self.era.store(UNKNOWN, Ordering::Relaxed);
    }
}

impl fmt::Debug for EraMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EraMemory").field(&self.era()).finish()
    }
}

/// The first revision that a client offers in `initialize`, unless its caller said another.
pub(crate) const NEWEST_LEGACY: Revision = Revision::LEGACY[Revision::LEGACY.len() - 1];

const UNKNOWN: u8 = 0;
const MODERN: u8 = 1;
const LEGACY: u8 = 2;
