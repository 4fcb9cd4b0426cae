//! The questions of a call in a session: they count as those of a modern call, the handlers answer them, and the
//! answers are sent.

use std::collections::{HashMap, HashSet};

use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use mrtr_schema::{ErrorCode, ErrorObject, InputRequest, RequestId};
use tokio::time::Instant;

use super::Client;
use super::converse::{Ended, Heard, Question, answer_message, bytes_of, id_bytes, no_result_came};
use super::drive::CallDriver;
use super::session::Session;
use crate::handlers::{QuestionContext, Unanswered};
use crate::transport::ServerRequest;
use crate::{EventKind, Stop, TransportError, answer};

/// The questions of one call.
pub(super) struct OpenQuestions<'a> {
    driver: &'a CallDriver<'a>,
    session: &'a Session,
    /// The questions that have no answer yet.
    open: HashMap<RequestId, RunningHandler>,
    /// The questions whose answers are on their way, and that were not withdrawn since.
    sending: HashSet<RequestId>,
    /// The ids of all questions so far, and their bytes: a question is asked once.
    seen: HashSet<RequestId>,
    seen_bytes: usize,
    /// The work under way for questions and pings.
    pub(super) answering: FuturesUnordered<BoxFuture<'a, Answering>>,
    pongs: usize,
    /// The questions since none was open, as one reply of a modern server would ask them.
    round: Round,
    /// The number of questions in all rounds.
    count: usize,
    /// The number of rounds that have had questions.
    pub(super) asked_rounds: u32,
    /// The deadline for the network while no question is open, and for the answers while one is.
    pub(super) deadline: Option<Instant>,
    /// The failure by which an answer may not have reached the server.
    undelivered: Option<TransportError>,
}

#[derive(Default)]
struct Round {
    questions: usize,
    bytes: usize,
}

struct RunningHandler {
    key: String,
    stop: AbortHandle,
}

/// The end of a step of answering.
pub(super) enum Answering {
    /// There is an answer, which is to be sent; or none, if the server withdrew the question.
    Given { id: RequestId, message: Option<Result<String, Ended>> },
    /// An answer was sent.
    Sent { id: RequestId, sent: Result<(), TransportError> },
    /// A ping was answered.
    Ponged(Result<(), TransportError>),
}

impl<'a> OpenQuestions<'a> {
    pub(super) fn new(driver: &'a CallDriver<'a>, session: &'a Session) -> Self {
        let mut questions = Self {
            driver,
            session,
            open: HashMap::new(),
            sending: HashSet::new(),
            seen: HashSet::new(),
            seen_bytes: 0,
            answering: FuturesUnordered::new(),
            pongs: 0,
            round: Round::default(),
            count: 0,
            asked_rounds: 0,
            deadline: None,
            undelivered: None,
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

    pub(super) fn hear(&mut self, heard: Heard) -> Result<(), Ended> {
        match heard {
            Heard::Withdrawn(id) => {
                self.sending.remove(&id);
                if let Some(question) = self.open.get(&id) {
                    question.stop.abort();
                }
                Ok(())
            }
            Heard::Asked(request) => self.ask(request),
        }
    }

    /// Begins to answer a request of the server's.
    fn ask(&mut self, request: ServerRequest) -> Result<(), Ended> {
        // No question is asked twice, if it is answered or about to be: a resumed stream may repeat it.
        if self.seen.contains(&request.id) {
            tracing::debug!("a question that was asked before was passed over");
            return Ok(());
        }
        let (client, session, id) = (self.client(), self.session, request.id.clone());
        let question = Question::read(&request, session.revision);
        if let Question::Ping = question {
            self.pong(&id);
            return Ok(());
        }
        self.count(&request)?;
        let key = format!("question-{}", self.count);
        self.seen.insert(id.clone());
        self.driver.reporter.emit(EventKind::Asked(vec![key.clone()]));
        let context = self.driver.context_of(key.clone(), self.asked_rounds);
        let (stop, stopped) = AbortHandle::new_pair();
        self.open.insert(id.clone(), RunningHandler { key, stop });
        let answered = Abortable::new(respond(client, session, request, question, context), stopped);
        self.answering.push(Box::pin(async move { Answering::Given { message: answered.await.ok(), id } }));
        Ok(())
    }

    /// Answers a ping. A ping asks nothing of the caller, so it costs no round, and the network's time runs on. The
    /// client does not answer a server that takes no answers and sends ping after ping.
    fn pong(&mut self, id: &RequestId) {
        if self.pongs >= MAX_PONGS || id_bytes(id) > MAX_PING_ID {
            return tracing::debug!("a ping was not answered: too many answers are being sent, or its id is too long");
        }
        self.pongs += 1;
        let (client, session) = (self.client(), self.session);
        let message = answer_message(id, Ok(&serde_json::json!({})));
        self.answering.push(Box::pin(async move { Answering::Ponged(client.tell(session, &message).await) }));
    }

    fn send(&mut self, id: RequestId, message: String) {
        let (client, session) = (self.client(), self.session);
        self.sending.insert(id.clone());
        self.answering
            .push(Box::pin(async move { Answering::Sent { sent: client.tell(session, &message).await, id } }));
    }

    /// Counts a question against the limits that all questions of a round have together, and all rounds.
    fn count(&mut self, request: &ServerRequest) -> Result<(), Ended> {
        let limits = &self.client().0.limits;
        if self.driver.is_by_hand {
            self.asked_rounds = self.asked_rounds.max(1);
            return Err(Ended::ByHand);
        }
        if self.open.is_empty() {
            self.begin_round()?;
        }
        self.count += 1;
        self.round.questions += 1;
        self.round.bytes += bytes_of(request);
        self.seen_bytes += id_bytes(&request.id);
        // Answers count for as long as they are on their way: the server may not take them.
        let questions = self.round.questions.max(self.open.len() + self.sending.len() + 1);
        let bytes = self.round.bytes.max(self.seen_bytes);
        if questions > limits.questions {
            Err(Ended::Stop(Stop::TooManyQuestions(questions)))
        } else if bytes > limits.reply_bytes {
            Err(Ended::Stop(Stop::ReplyTooLong(bytes)))
        } else {
            Ok(())
        }
    }

    fn begin_round(&mut self) -> Result<(), Ended> {
        let limits = &self.client().0.limits;
        self.round = Round::default();
        self.asked_rounds += 1;
        self.deadline = limits.gathering.and_then(|limit| Instant::now().checked_add(limit));
        // Sending the answers would begin one more round.
        if self.asked_rounds >= limits.rounds {
            return Err(Ended::Stop(Stop::TooManyRounds(self.asked_rounds)));
        }
        Ok(())
    }

    pub(super) fn answered(&mut self, answering: Answering) -> Result<(), Ended> {
        match answering {
            Answering::Given { id, message } => self.given(id, message),
            Answering::Sent { id, sent } => self.sent(&id, sent),
            Answering::Ponged(sent) => {
                self.pongs -= 1;
                if let Err(error) = sent {
                    // The server may think that the client is gone, and tells it so in that case.
                    tracing::debug!(%error, "an answer to a ping was not taken");
                }
                Ok(())
            }
        }
    }

    fn given(&mut self, id: RequestId, message: Option<Result<String, Ended>>) -> Result<(), Ended> {
        let Some(question) = self.open.remove(&id) else { return Ok(()) };
        if let Some(message) = message {
            // The server may ask again as soon as it has the answer, before this client knows that it has: that is
            // another round.
            self.send(id, message?);
            self.driver.reporter.emit(EventKind::Answered(question.key));
        }
        if self.open.is_empty() {
            self.wait_for_network();
            self.driver.reporter.emit(EventKind::Round(self.asked_rounds.saturating_add(1)));
        }
        Ok(())
    }

    /// Notes how the sending of an answer ended. If the server cannot have the answer, the call ends: without it the
    /// server waits for ever.
    fn sent(&mut self, id: &RequestId, sent: Result<(), TransportError>) -> Result<(), Ended> {
        let is_wanted = self.sending.remove(id);
        match sent {
            Err(error) if is_wanted && error.may_have_run() => {
                // The server may have the answer all the same, and continue the call.
                tracing::debug!(%error, "an answer may not have reached the server");
                self.undelivered = Some(error);
                Ok(())
            }
            Err(error) if is_wanted => Err(Ended::Transport(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The end of a call whose time is up, for the network or for the answers.
    pub(super) fn out_of_time(&self) -> Ended {
        if self.open.is_empty() {
            Ended::Transport(no_result_came(self.client().0.limits.exchange, self.undelivered.as_ref()))
        } else {
            Ended::GatheringTooLong
        }
    }
}

/// Has the handler of a question answer it, and gives the message with the answer. The client refuses what no handler
/// answers, and tells the server why; it makes up nothing.
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

/// The most answers to pings that may be on their way.
const MAX_PONGS: usize = 16;

/// The longest id of a ping that is answered, in bytes.
const MAX_PING_ID: usize = 1024;
