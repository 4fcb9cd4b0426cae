//! A call in a session: while its response is waited for, what the server asks is answered by the handlers, all at the
//! same time and within the limits that a modern call has.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::StreamExt;
use mrtr_schema::notifications::CancelledParams;
use mrtr_schema::{RequestId, Revision, Wire};
use tokio::time::Instant;

use super::drive::CallDriver;
use super::inbox::{Heard, Inbox};
use super::open_questions::OpenQuestions;
use super::session::Session;
use crate::handlers::Unanswered;
use crate::transport::{ServerMessage, ServerNotification, TransportRequest, TransportResponse};
use crate::{AnswerError, Stop, TransportError, TransportFailure};

/// Why a call in a session was ended while it was under way.
pub(super) enum Ended {
    /// It cannot go on: an answer could not be delivered, or nothing came in time.
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

/// What a call in a session came to.
pub(super) struct Conversed {
    /// The end of the exchange, which alone can say that the server has not begun with the call; or why it was not waited
    /// for. No other message of the session can have the call sent again.
    pub(super) outcome: Result<Result<TransportResponse, TransportError>, Ended>,
    /// How many rounds there were in which the server asked.
    pub(super) asked: u32,
    /// Whether the server said anything before it ended: it has begun with the call then.
    pub(super) has_begun: bool,
}

impl CallDriver<'_> {
    /// Sends a request of a session, and answers what is asked until the response is there.
    pub(super) async fn converse(&self, request: TransportRequest<'_>, session: &Session) -> Conversed {
        let inbox = Inbox::new(self.client.0.limits);
        let mut on_message = |message: ServerMessage| {
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
                // What was heard is looked at after the exchange that heard it.
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

/// The question that the server withdraws, if that is what it says.
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

/// The error for a server of which nothing came in time.
pub(super) fn nothing_came(undelivered: Option<&TransportError>) -> TransportError {
    let text = match undelivered {
        None => "nothing came in time".to_owned(),
        Some(error) => format!("nothing came in time, and an answer may not have reached the server: {error}"),
    };
    TransportError::of(TransportFailure::TimedOut, text)
}
