//! The limit on a server's questions in one call of a session: as many as a modern one may ask, however it spreads
//! them.

use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_client::{
    CallError, CallErrorKind, Client, EraMemory, EventKind, Limits, OneWayMessage, ServerMessage, ServerNotification,
    ServerRequest, SessionId, Stop, Transport, TransportError, TransportRequest, TransportResponse,
};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{RequestId, Revision};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// A step of a server in the middle of a call.
#[derive(Debug, Clone)]
enum Step {
    /// Asks for roots, under this id and with parameters of this length.
    Roots(RequestId, usize),
    /// Asks a question that is never answered.
    Form(i64),
    Ping(RequestId),
    Withdraw(RequestId),
    /// Waits until it has this many more answers.
    Answers(u32),
    /// Lets the client look at what was said.
    Pause,
    /// Waits for ever.
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
    takes_answers: bool,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking")
    }
}

impl Asking {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with(steps, true)
    }

    /// A server that hears answers, and never says that it has taken them.
    fn taking_no_answers(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with(steps, false)
    }

    fn with(steps: impl IntoIterator<Item = Step>, takes_answers: bool) -> Self {
        Self(Arc::new(Inner {
            era: EraMemory::of_origin(),
            steps: Mutex::new(steps.into_iter().collect()),
            answers: Semaphore::new(0),
            answered: Mutex::default(),
            asked: AtomicUsize::new(0),
            takes_answers,
        }))
    }

    /// The number of questions that it has got to.
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
            Step::Pause => yield_now().await,
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
            if !self.0.takes_answers {
                pending::<()>().await;
            }
        }
        Ok(())
    }
}

fn client(server: &Asking, limits: Limits) -> Client {
    Client::builder(server.clone())
        .revision(Revision::V2025_11_25)
        .limits(limits)
        .on_roots(|_| async { Ok::<_, String>(Vec::new()) })
        .on_elicit(|_| pending::<ElicitResult>())
        .build()
}

/// Makes a call, which ends, and returns how.
async fn called(server: &Asking, limits: Limits) -> Result<(), Stop> {
    let client = client(server, limits);
    let call = tokio::time::timeout(Duration::from_mins(5), client.call_tool("t", json!({})));
    match call.await.expect("the call ends") {
        Ok(_) => Ok(()),
        Err(CallError { kind: CallErrorKind::Stopped { stop, .. }, .. }) => Err(stop),
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

#[tokio::test(start_paused = true)]
async fn answers_that_a_server_does_not_take_count_among_its_questions() {
    let limits = Limits { questions: 4, ..Limits::default() };
    let answered = || (1..=3).map(roots).chain([Step::Answers(3)]);
    let server = Asking::taking_no_answers(answered().chain([Step::Form(4), Step::Pause]));
    assert!(called(&server, limits).await.is_ok(), "three on their way, and one that is open");
    let server = Asking::taking_no_answers(answered().chain([Step::Form(4), Step::Form(5), Step::Never]));
    let stop = called(&server, limits).await.unwrap_err();
    assert!(matches!(stop, Stop::TooManyQuestions(5)), "{stop}");
}

#[tokio::test(start_paused = true)]
async fn each_question_of_a_call_has_a_key_of_its_own() {
    let server = Asking::new([roots(1), roots(2), Step::Answers(2), roots(3), Step::Answers(1)]);
    let (client, mut keys) = (client(&server, Limits::default()), Vec::new());
    let mut events = client.events();
    client.call_tool("t", json!({})).await.unwrap();
    drop(client);
    while let Some(event) = events.next().await {
        if let EventKind::Asked(asked) = event.kind {
            keys.extend(asked);
        }
    }
    assert_eq!(keys, ["question-1", "question-2", "question-3"]);
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
async fn a_question_counts_as_its_parameters_its_method_and_its_id() {
    for (id, id_bytes) in [(RequestId::from("abc"), 3), (RequestId::from(1), 8)] {
        // A response has the same limit, and is shorter.
        let bytes = r#"{"x":""}"#.len() + 1000 + "roots/list".len() + id_bytes;
        let ask = async |reply_bytes| {
            let server = Asking::new([Step::Roots(id.clone(), 1000), Step::Answers(1)]);
            called(&server, Limits { reply_bytes, ..Limits::default() }).await
        };
        assert!(ask(bytes).await.is_ok(), "{id:?}");
        let stop = ask(bytes - 1).await.unwrap_err();
        assert!(matches!(stop, Stop::ReplyTooLong(counted) if counted == bytes), "{id:?}: {stop}");
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_messages_may_wait_as_there_may_be_questions_and_withdrawals_and_64_more() {
    let wait = async |count| {
        let server = Asking::new((0..count).map(|id| Step::Withdraw(id.into())).chain([Step::Pause]));
        called(&server, Limits { questions: 20, ..Limits::default() }).await
    };
    assert!(wait(104).await.is_ok());
    assert!(matches!(wait(105).await, Err(Stop::TooManyQuestions(105))));
}

#[tokio::test(start_paused = true)]
async fn what_was_looked_at_does_not_count_among_what_waits() {
    // Each id has one byte. A response has the same limit, and is shorter.
    let limits = Limits { reply_bytes: 500, ..Limits::default() };
    let withdraw = |count| (0..count).map(|_| Step::Withdraw("a".into())).chain((0..count).map(|_| Step::Pause));
    let server = Asking::new((0..2).flat_map(|_| withdraw(500)));
    assert!(called(&server, limits).await.is_ok());
    let stop = called(&Asking::new(withdraw(501)), limits).await.unwrap_err();
    assert!(matches!(stop, Stop::ReplyTooLong(501)), "{stop}");
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
