//! A call in a session. While the client waits for the response, it hears the server's questions within bounds, reads
//! them as those of a modern server, and has its handlers answer them, all at the same time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use mrtr_schema::elicitation::{ElicitParams, ElicitRequest};
use mrtr_schema::notifications::CancelledParams;
use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest};
use mrtr_schema::{ErrorCode, ErrorObject, InputRequest, RequestId, Revision, Wire};
use serde::Serialize;
use tokio::time::Instant;

use super::drive::CallDriver;
use super::open_questions::OpenQuestions;
use super::session::{NO_RESULT, Session, within};
use crate::handlers::Unanswered;
use crate::transport::{ServerMessage, ServerNotification, TransportRequest, TransportResponse};
use crate::{AnswerError, Limits, ServerRequest, Stop, TransportError, TransportFailure};

/// The reason that a call in a session ended while it was under way.
pub(super) enum Ended {
    /// The call cannot continue: an answer could not be delivered, or nothing came in time.
    Transport(TransportError),
    Stop(Stop),
    /// The handler did not answer.
    Unanswered {
        key: String,
        method: String,
        unanswered: Unanswered,
    },
    InvalidAnswer(AnswerError),
    GatheringTooLong,
    /// The server asked, and the caller drives the call by hand.
    ByHand,
}

/// The outcome of a call in a session.
pub(super) struct Conversed {
    /// The end of the exchange, which alone can say that the server has not begun with the call; or why the client did
    /// not wait for it. No other message of the session can have the call sent again.
    pub(super) outcome: Result<Result<TransportResponse, TransportError>, Ended>,
    /// The number of rounds in which the server asked.
    pub(super) asked: u32,
    /// True if the server said anything before the end: then it has begun with the call.
    pub(super) has_begun: bool,
}

impl CallDriver<'_> {
    /// Sends a request of a session, and answers the server's questions until the response is there.
    pub(super) async fn converse(&self, request: TransportRequest<'_>, session: &Session) -> Conversed {
        let inbox = Inbox::new(self.client.0.limits);
        let mut on_message = |message: ServerMessage| {
            // Whatever the server says, it has begun with the call, so the client does not send the call again.
            inbox.note();
            match message {
                ServerMessage::Request(request) => inbox.push(Heard::Asked(request)),
                ServerMessage::Notification(notification) => match withdrawn(&notification, session.revision) {
                    Some(id) => inbox.push(Heard::Withdrawn(id)),
                    None => self.hear(notification, session.revision),
                },
            }
        };
        let mut exchanging = pin!(self.client.0.transport.exchange(request, &mut on_message));
        let mut questions = OpenQuestions::new(self, session);
        let outcome = loop {
            let step = tokio::select! {
                // The messages are looked at after the exchange has heard them.
                biased;
                reply = &mut exchanging => break Ok(reply),
                heard = poll_fn(|_| inbox.pop().map_or(Poll::Pending, Poll::Ready)) => {
                    heard.map_err(Ended::Stop).and_then(|heard| questions.hear(heard))
                }
                Some(answered) = questions.answering.next(), if !questions.answering.is_empty() => {
                    questions.answered(answered)
                }
                () = until(questions.deadline) => Err(questions.out_of_time()),
            };
            if let Err(ended) = step {
                break Err(ended);
            }
        };
        Conversed { outcome, asked: questions.asked_rounds, has_begun: inbox.has_heard() }
    }

    /// Tells of a notification that came on the way.
    pub(super) fn hear(&self, notification: ServerNotification, revision: Revision) {
        self.client.invalidate_cache(&notification);
        self.reporter.emit_notification(notification, revision);
    }
}

/// The question that the server withdraws, if the notification says so.
fn withdrawn(notification: &ServerNotification, revision: Revision) -> Option<RequestId> {
    let is_cancel = notification.method == "notifications/cancelled";
    is_cancel.then(|| CancelledParams::read(notification.params.as_raw(), revision.lenient()).ok()?.request_id)?
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        None => std::future::pending().await,
        Some(deadline) => tokio::time::sleep_until(deadline).await,
    }
}

/// The error for a server that sent no result in time.
pub(super) fn no_result_came(limit: Duration, undelivered: Option<&TransportError>) -> TransportError {
    let text = format!("{NO_RESULT} {}", within(limit));
    let text = match undelivered {
        None => text,
        Some(error) => format!("{text}, and an answer may not have reached the server: {error}"),
    };
    TransportError::of(TransportFailure::TimedOut, text)
}

/// Something that a server says during a call, as far as it is about questions.
pub(super) enum Heard {
    Asked(ServerRequest),
    /// The server does not want the answer to this question any more.
    Withdrawn(RequestId),
}

impl Heard {
    fn bytes(&self) -> usize {
        match self {
            Self::Asked(request) => bytes_of(request),
            Self::Withdrawn(id) => id_bytes(id),
        }
    }
}

/// The bytes of a server's request, its id among them.
pub(super) fn bytes_of(request: &ServerRequest) -> usize {
    request.params.as_str().len() + request.method.len() + id_bytes(&request.id)
}

pub(super) fn id_bytes(id: &RequestId) -> usize {
    match id {
        RequestId::String(text) => text.len(),
        RequestId::Integer(_) => size_of::<i64>(),
    }
}

/// The messages that wait to be looked at.
///
/// They come while the exchange is polled, and the same task looks at them right after that: no task is woken.
struct Inbox {
    limits: Limits,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    heard: VecDeque<Heard>,
    bytes: usize,
    /// The reason that no more is taken.
    overflow: Option<Stop>,
    has_heard: bool,
}

impl Inbox {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the server has said something, whatever it is: it has begun with the call.
    pub(super) fn note(&self) {
        self.waiting().has_heard = true;
    }

    /// True if the server has said anything.
    pub(super) fn has_heard(&self) -> bool {
        self.waiting().has_heard
    }

    pub(super) fn push(&self, heard: Heard) {
        let mut waiting = self.waiting();
        if waiting.overflow.is_some() {
            return;
        }
        let (count, bytes) = (waiting.heard.len() + 1, waiting.bytes + heard.bytes());
        // The server may withdraw each question, and may send pings besides.
        let most = self.limits.questions.saturating_mul(2).saturating_add(PINGS);
        if count > most {
            waiting.overflow = Some(Stop::TooManyQuestions(count));
        } else if bytes > self.limits.reply_bytes {
            waiting.overflow = Some(Stop::ReplyTooLong(bytes));
        } else {
            waiting.bytes = bytes;
            waiting.heard.push_back(heard);
        }
    }

    /// The next message, or the reason that the client hears the server no more.
    pub(super) fn pop(&self) -> Option<Result<Heard, Stop>> {
        let mut waiting = self.waiting();
        if let Some(stop) = waiting.overflow.take() {
            return Some(Err(stop));
        }
        let heard = waiting.heard.pop_front()?;
        waiting.bytes -= heard.bytes();
        Some(Ok(heard))
    }
}

/// A request of the server's.
pub(super) enum Question {
    /// The server asks if this client is there.
    Ping,
    /// Something that a handler answers.
    Input(Box<InputRequest>),
    /// Something that this error answers.
    Refused(ErrorObject),
}

impl Question {
    pub(super) fn read(request: &ServerRequest, revision: Revision) -> Self {
        let (params, dialect) = (request.params.as_raw(), revision.lenient());
        let input = match request.method.as_str() {
            "ping" => return Self::Ping,
            "elicitation/create" => ElicitParams::read(params, dialect).map(|params| ElicitRequest::new(params).into()),
            "sampling/createMessage" => {
                CreateMessageParams::read(params, dialect).map(|params| CreateMessageRequest::new(params).into())
            }
            "roots/list" => Ok(ListRootsRequest::new().into()),
            _ => {
                let text = "This client does not know this method";
                return Self::Refused(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, text));
            }
        };
        match input {
            Ok(input) => Self::Input(Box::new(input)),
            Err(error) => Self::Refused(ErrorObject::new(ErrorCode::INVALID_PARAMS, error.to_string())),
        }
    }
}

/// The answer to a request of the server's, as a message.
pub(super) fn answer_message(id: &RequestId, answer: Result<&impl Serialize, &ErrorObject>) -> String {
    let (result, error) = (answer.ok(), answer.err());
    serde_json::to_string(&Answer { jsonrpc: "2.0", id, result, error })
        .expect("an answer that was read can be written")
}

#[derive(Serialize)]
struct Answer<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorObject>,
}

/// The number of pings that may wait besides the questions.
const PINGS: usize = 64;
