//! What a server may ask in one call of a session: as much as a modern one may, however it spreads it.

use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_client::{
    CallError, Client, EraMemory, Limits, OneWayMessage, ServerMessage, ServerNotification, ServerRequest, SessionId,
    Stop, Transport, TransportError, TransportRequest, TransportResponse,
};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{RequestId, Revision};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// What a server does in the middle of a call.
#[derive(Debug, Clone)]
enum Step {
    /// Asks for roots, under this id and with so long parameters.
    Roots(RequestId, usize),
    /// Asks what is never answered.
    Form(i64),
    Ping(RequestId),
    Withdraw(RequestId),
    /// Waits until it has so many answers more.
    Answers(u32),
    /// Waits for more than will come.
    Never,
}

/// A server of one session that does this in a call, and then responds.
#[derive(Clone)]
struct Asking(Arc<Inner>);

struct Inner {
    era: EraMemory,
    steps: Mutex<Vec<Step>>,
    answers: Semaphore,
    /// The ids of what was answered, as they stand in the messages.
    answered: Mutex<Vec<Value>>,
    asked: AtomicUsize,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking")
    }
}

impl Asking {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(Arc::new(Inner {
            era: EraMemory::of_origin(),
            steps: Mutex::new(steps.into_iter().collect()),
            answers: Semaphore::new(0),
            answered: Mutex::default(),
            asked: AtomicUsize::new(0),
        }))
    }

    /// How many questions it has got to.
    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    fn answered(&self) -> Vec<Value> {
        self.0.answered.lock().unwrap().clone()
    }

    async fn ask(&self, step: Step, on_message: &mut (dyn FnMut(ServerMessage) + Send)) {
        let ask = |id: RequestId, method: &str, params: Value| {
            self.0.asked.fetch_add(1, Ordering::SeqCst);
            ServerMessage::Request(ServerRequest { id, method: method.into(), params: params.into() })
        };
        match step {
            Step::Roots(id, length) => on_message(ask(id, "roots/list", json!({ "x": "x".repeat(length) }))),
            Step::Form(id) => {
                let form = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
                on_message(ask(id.into(), "elicitation/create", form));
            }
            Step::Ping(id) => on_message(ask(id, "ping", json!({}))),
            Step::Withdraw(id) => {
                let (method, params) = ("notifications/cancelled".to_owned(), json!({ "requestId": id }).into());
                on_message(ServerMessage::Notification(ServerNotification { method, params }));
            }
            Step::Answers(count) => self.0.answers.acquire_many(count).await.unwrap().forget(),
            Step::Never => pending().await,
        }
    }
}

#[async_trait]
impl Transport for Asking {
    fn server(&self) -> &'static str {
        "asking"
    }

    fn era(&self) -> Option<&EraMemory> {
        Some(&self.0.era)
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let result = if request.method == "initialize" {
            let server = json!({ "name": "s", "version": "1" });
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server })
        } else {
            let steps = std::mem::take(&mut *self.0.steps.lock().unwrap());
            for step in steps {
                self.ask(step, on_message).await;
            }
            json!({ "content": [] })
        };
        let response = json!({ "jsonrpc": "2.0", "id": request.id, "result": result }).to_string();
        Ok(TransportResponse::new(response).session(SessionId::new("s-1")))
    }

    async fn send(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        let message: Value = serde_json::from_str(message.message).unwrap();
        if message.get("method").is_none() {
            self.0.answered.lock().unwrap().push(message["id"].clone());
            self.0.answers.add_permits(1);
        }
        Ok(())
    }
}

fn client(server: &Asking, limits: Limits) -> Client {
    Client::builder(server.clone())
        .revision(Revision::V20251125)
        .limits(limits)
        .on_roots(|_| async { Ok::<_, String>(Vec::new()) })
        .on_elicit(|_| pending::<ElicitResult>())
        .build()
}

/// How a call ends, which it does.
async fn called(server: &Asking, limits: Limits) -> Result<(), Stop> {
    let client = client(server, limits);
    let call = tokio::time::timeout(Duration::from_mins(5), client.call_tool("t", json!({})));
    match call.await.expect("the call ends") {
        Ok(_) => Ok(()),
        Err(CallError::Stopped { stop, .. }) => Err(stop),
        Err(other) => panic!("{other}"),
    }
}

fn roots(id: i64) -> Step {
    Step::Roots(id.into(), 0)
}

#[tokio::test(start_paused = true)]
async fn questions_of_a_round_are_counted_though_each_is_answered_before_the_next() {
    // As long as one is open, it is one round.
    let steps = (1..=6000).flat_map(|id| [roots(id), Step::Answers(1)]);
    let server = Asking::new([Step::Form(0)].into_iter().chain(steps));
    let stop = called(&server, Limits::default()).await.unwrap_err();
    assert!(matches!(stop, Stop::TooManyQuestions(257)), "{stop}");
    assert_eq!((server.asked(), server.answered().len()), (257, 255), "the form among them, and the last one not");
}

#[tokio::test(start_paused = true)]
async fn a_round_may_have_as_many_questions_as_a_reply_of_a_modern_server() {
    let ask = |round: i64| (0..256).map(move |id| roots(round * 1000 + id)).chain([Step::Answers(256)]);
    let server = Asking::new((0..9).flat_map(ask));
    assert!(called(&server, Limits::default()).await.is_ok());
    assert_eq!(server.answered().len(), 9 * 256);
    let server = Asking::new((0..10).flat_map(ask));
    assert!(matches!(called(&server, Limits::default()).await, Err(Stop::TooManyRounds(10))));
}

#[tokio::test(start_paused = true)]
async fn bytes_of_a_round_are_counted_though_each_question_is_answered_before_the_next() {
    let long = |id: i64| [Step::Roots(id.into(), 1000), Step::Answers(1)];
    let limits = Limits { reply_bytes: 10_000, ..Limits::default() };
    let server = Asking::new([Step::Form(0)].into_iter().chain((1..50).flat_map(long)));
    let stop = called(&server, limits).await.unwrap_err();
    assert!(matches!(stop, Stop::ReplyTooLong(10_001..)), "{stop}");
    assert!(server.asked() <= 11, "{}", server.asked());
    // Each round has as much.
    let server = Asking::new((1..=8).flat_map(|round| {
        let ask = (0..8).map(move |id| Step::Roots((round * 100 + id).into(), 1000));
        ask.chain([Step::Answers(8)])
    }));
    assert!(called(&server, limits).await.is_ok());
}

fn long_id(first: char) -> RequestId {
    RequestId::from(format!("{first}{}", "x".repeat(6000)))
}

#[tokio::test(start_paused = true)]
async fn ids_are_counted_as_what_they_take() {
    let limits = Limits { reply_bytes: 10_000, ..Limits::default() };
    let [first, second] = ['a', 'b'].map(|first| Step::Roots(long_id(first), 0));
    let server = Asking::new([first.clone(), second.clone(), Step::Never]);
    let stop = called(&server, limits).await.unwrap_err();
    assert!(matches!(stop, Stop::ReplyTooLong(12_002..)), "in one round: {stop}");

    // An id is kept as long as the call, since it is asked once.
    let server = Asking::new([first, Step::Answers(1), second, Step::Never]);
    let stop = called(&server, limits).await.unwrap_err();
    assert!(matches!(stop, Stop::ReplyTooLong(12_002..)), "in two rounds: {stop}");

    let withdrawn = ['a', 'b'].map(|first| Step::Withdraw(long_id(first)));
    let server = Asking::new(withdrawn.into_iter().chain([Step::Never]));
    let stop = called(&server, limits).await.unwrap_err();
    assert!(matches!(stop, Stop::ReplyTooLong(_)), "of what is withdrawn: {stop}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stop_talking_is_not_listened_to_for_ever() {
    // All of it is there before the client comes to look at any.
    let limits = Limits { questions: 20, ..Limits::default() };
    for step in [roots as fn(i64) -> Step, |id| Step::Ping(id.into()), |id| Step::Withdraw(id.into())] {
        let server = Asking::new((0..100_000).map(step).chain([Step::Never]));
        let stop = called(&server, limits).await.unwrap_err();
        assert!(matches!(stop, Stop::TooManyQuestions(21 | 105)), "{stop}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ping_costs_no_round_and_one_with_an_endless_id_gets_no_answer() {
    let pings = (0..1000).flat_map(|id| [Step::Ping(id.into()), Step::Answers(1)]);
    let server = Asking::new(pings.chain([Step::Ping(long_id('p')), roots(-1), Step::Answers(1)]));
    assert!(called(&server, Limits { rounds: 2, ..Limits::default() }).await.is_ok());
    assert_eq!(server.answered().len(), 1001);
    assert!(server.answered().iter().all(Value::is_i64), "all but the one");
}
