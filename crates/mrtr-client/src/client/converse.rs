//! A call in a session: while its response is waited for, what the server asks is answered by the handlers, all at the
//! same time and within the limits that a modern call has.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use mrtr_schema::notifications::CancelledParams;
use mrtr_schema::{ErrorCode, ErrorObject, InputRequest, RequestId, Revision, Wire};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Client;
use super::drive::CallDriver;
use super::question::{Question, answer_message};
use super::session::Session;
use crate::answer;
use crate::handlers::{QuestionContext, Unanswered};
use crate::transport::{ServerMessage, ServerNotification, ServerRequest, TransportRequest, TransportResponse};
use crate::{AnswerError, EventKind, Stop, TransportError, TransportFailure};

/// Why a call in a session ended without a response.
pub(super) enum Ended {
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

/// What a call in a session came to, and in which round.
pub(super) struct Conversed {
    pub(super) outcome: Result<TransportResponse, Ended>,
    /// How many rounds there were in which the server asked.
    pub(super) asked: u32,
}

/// What the server says while the call goes on, as far as it is about questions.
enum Heard {
    Asked(ServerRequest),
    /// It does not want the answer to this any more.
    Withdrawn(RequestId),
}

impl CallDriver<'_> {
    /// Sends a request of a session, and answers what is asked until the response is there.
    pub(super) async fn converse(&self, request: TransportRequest<'_>, session: &Session) -> Conversed {
        let (tell, mut heard) = mpsc::unbounded_channel();
        let mut on_message = |message: ServerMessage| match message {
            ServerMessage::Request(request) => drop(tell.send(Heard::Asked(request))),
            ServerMessage::Notification(notification) => match withdrawn(&notification, session.revision) {
                Some(id) => drop(tell.send(Heard::Withdrawn(id))),
                None => self.hear(notification, session.revision),
            },
        };
        let mut exchanging = pin!(self.client.0.transport.exchange(request, &mut on_message));
        let mut questions = OpenQuestions::new(self, session);
        let outcome = loop {
            let step = tokio::select! {
                biased;
                response = &mut exchanging => break response.map_err(Ended::Transport),
                Some(heard) = heard.recv() => questions.hear(heard),
                Some(answered) = questions.answering.next(), if !questions.answering.is_empty() => {
                    questions.answered(answered)
                }
                ended = out_of_time(questions.deadline, questions.open.is_empty()) => Err(ended),
            };
            if let Err(ended) = step {
                break Err(ended);
            }
        };
        Conversed { outcome, asked: questions.asked_rounds }
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

/// Waits until the time is up, for the network or for the answers.
async fn out_of_time(deadline: Option<Instant>, is_network: bool) -> Ended {
    match deadline {
        None => std::future::pending().await,
        Some(deadline) => {
            tokio::time::sleep_until(deadline).await;
            let late = || TransportError::of(TransportFailure::TimedOut, "nothing came in time");
            if is_network { Ended::Transport(late()) } else { Ended::GatheringTooLong }
        }
    }
}

/// The questions of one call that have no answer yet.
struct OpenQuestions<'a> {
    driver: &'a CallDriver<'a>,
    session: &'a Session,
    /// Those that count: what each takes, and what stops it.
    open: HashMap<RequestId, OpenQuestion>,
    /// Ids that were there before: a question is asked once.
    seen: HashSet<RequestId>,
    answering: FuturesUnordered<BoxFuture<'a, Answering>>,
    bytes: usize,
    count: usize,
    /// How many rounds have had questions.
    asked_rounds: u32,
    /// For the network while no question is open, and for the answers while one is.
    deadline: Option<Instant>,
}

struct OpenQuestion {
    key: String,
    bytes: usize,
    stop: AbortHandle,
}

/// What came of answering.
enum Answering {
    /// There is an answer, which is to be sent; or none, if the server withdrew the question.
    Given {
        id: RequestId,
        message: Option<Result<String, Ended>>,
    },
    Sent(Result<(), Ended>),
}

impl<'a> OpenQuestions<'a> {
    fn new(driver: &'a CallDriver<'a>, session: &'a Session) -> Self {
        let mut questions = Self {
            driver,
            session,
            open: HashMap::new(),
            seen: HashSet::new(),
            answering: FuturesUnordered::new(),
            bytes: 0,
            count: 0,
            asked_rounds: 0,
            deadline: None,
        };
        questions.wait_for_network();
        questions
    }

    fn client(&self) -> &'a Client {
        self.driver.client
    }

    fn wait_for_network(&mut self) {
        self.deadline = Instant::now().checked_add(self.client().0.limits.exchange);
    }

    fn hear(&mut self, heard: Heard) -> Result<(), Ended> {
        match heard {
            Heard::Withdrawn(id) => {
                if let Some(question) = self.open.get(&id) {
                    question.stop.abort();
                }
                Ok(())
            }
            Heard::Asked(request) => self.ask(request),
        }
    }

    /// Has a request of the server's answered.
    fn ask(&mut self, request: ServerRequest) -> Result<(), Ended> {
        // What is answered already, or is about to be, is not asked twice: a stream that was resumed may repeat it.
        if self.seen.contains(&request.id) {
            tracing::debug!("a question that was asked before was passed over");
            return Ok(());
        }
        let limits = &self.client().0.limits;
        if self.answering.len() >= limits.questions {
            return Err(Ended::Stop(Stop::TooManyQuestions(self.answering.len() + 1)));
        }
        let (client, session, id) = (self.client(), self.session, request.id.clone());
        let question = Question::read(&request, session.revision);
        if let Question::Ping = question {
            // It asks nothing of the caller, so that it costs no round and the network's time goes on.
            self.send(answer_message(&id, Ok(&serde_json::json!({}))));
            return Ok(());
        }
        let bytes = request.params.as_str().len() + request.method.len();
        self.begin_round_if_none_is_open(bytes)?;
        self.count += 1;
        let key = format!("question-{}", self.count);
        self.seen.insert(id.clone());
        self.driver.reporter.emit(EventKind::Asked(vec![key.clone()]));
        let context = self.driver.context_of(key.clone(), self.asked_rounds);
        let (stop, stopped) = AbortHandle::new_pair();
        self.bytes += bytes;
        self.open.insert(id.clone(), OpenQuestion { key, bytes, stop });
        let answered = Abortable::new(respond(client, session, request, question, context), stopped);
        self.answering.push(Box::pin(async move { Answering::Given { message: answered.await.ok(), id } }));
        Ok(())
    }

    fn send(&mut self, message: String) {
        let (client, session) = (self.client(), self.session);
        self.answering.push(Box::pin(async move {
            Answering::Sent(client.tell(session, &message).await.map_err(Ended::Transport))
        }));
    }

    /// Counts a question against the limits that all questions of a round have together.
    fn begin_round_if_none_is_open(&mut self, bytes: usize) -> Result<(), Ended> {
        let limits = &self.client().0.limits;
        if self.driver.is_by_hand {
            self.asked_rounds = self.asked_rounds.max(1);
            return Err(Ended::ByHand);
        }
        if self.open.is_empty() {
            self.asked_rounds += 1;
            self.deadline = limits.gathering.and_then(|limit| Instant::now().checked_add(limit));
            // The answers would begin one round more.
            if self.asked_rounds >= limits.rounds {
                return Err(Ended::Stop(Stop::TooManyRounds(self.asked_rounds)));
            }
        }
        match self.bytes + bytes {
            all if all > limits.reply_bytes => Err(Ended::Stop(Stop::ReplyTooLong(all))),
            _ => Ok(()),
        }
    }

    fn answered(&mut self, answering: Answering) -> Result<(), Ended> {
        let (id, message) = match answering {
            Answering::Given { id, message } => (id, message),
            Answering::Sent(sent) => return sent,
        };
        let Some(question) = self.open.remove(&id) else { return Ok(()) };
        self.bytes -= question.bytes;
        if let Some(message) = message {
            // The server may ask on as soon as it has the answer, and before this client knows that it has: that is
            // another round.
            self.send(message?);
            self.driver.reporter.emit(EventKind::Answered(question.key));
        }
        if self.open.is_empty() {
            self.wait_for_network();
            self.driver.reporter.emit(EventKind::Round(self.asked_rounds.saturating_add(1)));
        }
        Ok(())
    }
}

/// Has a question answered by its handler, and gives the message that says so. What no handler answers is refused, and the
/// server hears why; nothing is made up.
async fn respond(
    client: &Client,
    session: &Session,
    request: ServerRequest,
    question: Question,
    context: QuestionContext,
) -> Result<String, Ended> {
    let (key, revision) = (context.key.clone(), session.revision);
    let answer = match question {
        Question::Ping => Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "a ping is no question")),
        Question::Refused(error) => Err(error),
        Question::Input(input) => match client.0.handlers.answer((*input).clone(), context, revision).await {
            Ok(answer) => Ok(answer::validated(&key, &input, &answer, revision).map_err(Ended::InvalidAnswer)?),
            Err(Unanswered::NoHandler(_) | Unanswered::Unknown) => Err(not_offered(&input)),
            Err(Unanswered::BadQuestion(error)) => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, error.to_string())),
            Err(unanswered) => return Err(Ended::Unanswered { key, method: request.method, unanswered }),
        },
    };
    Ok(answer_message(&request.id, answer.as_ref()))
}

fn not_offered(input: &InputRequest) -> ErrorObject {
    let text = format!("This client has no handler for `{}` of this kind, and has not offered one", input.method());
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, text)
}
