//! Messages of the legacy era, and the replies to them.

use std::fmt;

use mrtr_schema::{ErrorCode, ErrorObject, RequestId, Revision, Wire};
use serde_json::value::RawValue;

use super::limits::{Legacy, SessionId};
use super::one::Session;
use super::open_questions::Answer;
use super::requests;
use super::stream::SessionStream;
use super::table::{Sessions, is_version};
use crate::definition::parts::Parts;
use crate::definition::tool::HeaderClaim;
use crate::protocol::context::Context;
use crate::protocol::era::{OwnedMessage, Versionless};
use crate::protocol::reply::{Refused, Reply, Stage};

/// A message that does not say its version: of the legacy era, if it belongs to a session or begins one.
///
/// ```
/// use mrtr_server::transport::{HeaderClaim, LegacyReply, Received};
/// use mrtr_server::{Context, Server};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("empty", "1.0.0").build().unwrap();
/// let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let Received::Legacy(message) = server.receive(ping.into(), Context::new()).await else { panic!("no version") };
/// let reply = message.answer(Some("no such id"), &HeaderClaim::Missing).await;
/// assert!(matches!(reply, LegacyReply::NoSession { .. }));
/// # }
/// ```
pub struct LegacyMessage {
    sessions: Sessions,
    message: Box<Versionless>,
}

/// The reply that a transport sends to a client of the legacy era.
///
/// ```
/// use mrtr_server::transport::LegacyReply;
///
/// /// Whether the answer comes as a stream.
/// fn is_stream(reply: &LegacyReply) -> bool {
///     matches!(reply, LegacyReply::Events(_))
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum LegacyReply {
    /// The reply of a server without sessions, to a message that is of no session.
    Modern(Reply),
    /// A session has begun.
    Opened {
        /// The response to `initialize`.
        body: String,
        /// Its id: the client sends it with every further message.
        session: SessionId,
    },
    /// A JSON-RPC response.
    Message {
        /// Its text.
        body: String,
        /// The code, if it is an error, and how far the request had come.
        error: Option<(ErrorCode, Stage)>,
        /// The revision of the session.
        revision: Revision,
    },
    /// Messages of a call, the response as the last one. Dropping them cancels nothing.
    Events(SessionStream),
    /// No answer: the message needs none.
    Accepted,
    /// There is no such session, or it has ended, or it is another principal's: the client begins anew.
    NoSession {
        /// An error that says so.
        body: String,
    },
    /// The server has as many sessions as it may have.
    Overloaded,
}

impl LegacyMessage {
    pub(crate) fn new(sessions: Sessions, message: Box<Versionless>) -> Self {
        Self { sessions, message }
    }

    /// The reply of a server that has no sessions.
    pub(crate) fn refusal(self) -> Reply {
        self.message.refusal()
    }

    /// Answers it as a server with [`Legacy::Stateless`] does, whatever this one has: for a host that keeps no session
    /// with the client. The client cannot be asked. `version` is the version that it speaks.
    pub async fn answer_without_session(self, version: &HeaderClaim<'_>) -> LegacyReply {
        let Self { sessions, message } = self;
        match *message {
            Versionless { message: OwnedMessage::Request { id, request }, context }
                if sessions.legacy() != Legacy::Refuse =>
            {
                requests::stateless(&sessions, id, &request, context, version).await
            }
            message => LegacyReply::Modern(message.refusal()),
        }
    }

    /// Answers it, in the session that its transport says it belongs to. `version` is the claim of a header: if there
    /// is one, it must be the session's version.
    ///
    /// When this is first polled a call has begun, and a cancellation finds it.
    pub async fn answer(self, session: Option<&str>, version: &HeaderClaim<'_>) -> LegacyReply {
        let Self { sessions, message } = self;
        let Versionless { message, context } = *message;
        match (sessions.legacy(), message, session) {
            (Legacy::Sessions | Legacy::Stateless, OwnedMessage::Request { id, request }, _)
                if request.is("initialize") =>
            {
                requests::initialize(&sessions, id, &request, &context)
            }
            (Legacy::Stateless, OwnedMessage::Request { id, request }, _) => {
                requests::stateless(&sessions, id, &request, context, version).await
            }
            (Legacy::Sessions, message, Some(session)) => {
                in_session(&sessions, session, message, context, version).await
            }
            (Legacy::Sessions, OwnedMessage::Request { id, .. }, None) => LegacyReply::Modern(outside(id)),
            (_, message, _) => LegacyReply::Modern(Versionless { message, context }.refusal()),
        }
    }
}

/// A message that belongs to a session.
async fn in_session(
    sessions: &Sessions,
    session: &str,
    message: OwnedMessage,
    mut context: Context<'static>,
    version: &HeaderClaim<'_>,
) -> LegacyReply {
    let id = match &message {
        OwnedMessage::Request { id, .. } => Some(id.clone()),
        _ => None,
    };
    let Some(session) = sessions.find(session, &context) else {
        let error =
            ErrorObject::new(ErrorCode::INVALID_REQUEST, "There is no such session; begin anew with `initialize`");
        return LegacyReply::NoSession { body: text_of(Reply::error(id, error.into(), Revision::default())) };
    };
    if !is_version(version, session.revision) {
        let text = format!("MCP-Protocol-Version is not the version of the session, {}", session.revision);
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, text);
        return LegacyReply::of(Reply::error(id, Refused::early(error), session.revision), session.revision);
    }
    match message {
        OwnedMessage::Request { id, request } => {
            return requests::in_session(sessions.parts(), &session, id, request, context).await;
        }
        OwnedMessage::Notification { method, params } => requests::notified(&session, &method, params.params()),
        OwnedMessage::Result { id, result } => {
            if let Err(refused) = check_answer(sessions.parts(), &session, &id, &context).await {
                return LegacyReply::of(refused, session.revision);
            }
            session.answer(&id, &Answer::Result(&result), context.caller.permit.take());
        }
        OwnedMessage::Error { id: Some(id), error } => answered_with_error(&session, &id, &error, context),
        // An error without an id answers no question.
        OwnedMessage::Error { id: None, .. } => {}
    }
    LegacyReply::Accepted
}

/// Refuses an answer to a call that its caller may no longer make. The call waits on, and an answer with other
/// credentials lets it continue. An error may always come: it is how a client declines.
async fn check_answer(parts: &Parts, session: &Session, id: &RequestId, context: &Context<'_>) -> Result<(), Reply> {
    if !parts.access.is_asked {
        return Ok(());
    }
    let Some(call) = session.call_of(id) else { return Ok(()) };
    let Some(subject) = call.subject.get() else { return Ok(()) };
    let checked = subject.check(parts, context).await;
    checked.map_err(|error| Reply::error(None, error.into(), session.revision))
}

/// Delivers an answer of the client's that is an error.
fn answered_with_error(session: &Session, id: &RequestId, error: &RawValue, mut context: Context<'static>) {
    let (code, message) = match ErrorObject::read(error, session.revision.lenient()) {
        Ok(error) => (error.code.as_i64(), error.message),
        Err(_) => (ErrorCode::INTERNAL_ERROR.as_i64(), "the error cannot be read".to_owned()),
    };
    session.answer(id, &Answer::Error { code, message: &message }, context.caller.permit.take());
}

/// The reply to a request that belongs to no session.
fn outside(id: RequestId) -> Reply {
    let legacy: Vec<_> = Revision::LEGACY.iter().rev().map(ToString::to_string).collect();
    let text = format!(
        "`_meta` states no protocol version: this server supports {} that way, and {} in a session that begins with \
         `initialize`",
        Revision::default(),
        legacy.join(" and ")
    );
    let error = ErrorObject::new(ErrorCode::INVALID_PARAMS, text);
    Reply::error(Some(id), Refused::early(error), Revision::default())
}

impl LegacyReply {
    /// A reply in a session.
    pub(super) fn of(reply: Reply, revision: Revision) -> Self {
        match reply {
            Reply::Message { body, error } => Self::Message { body, error, revision },
            Reply::Accepted => Self::Accepted,
            stream => Self::Modern(stream),
        }
    }
}

fn text_of(reply: Reply) -> String {
    match reply {
        Reply::Message { body, .. } => body,
        _ => String::new(),
    }
}

impl fmt::Debug for LegacyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LegacyMessage")
    }
}
