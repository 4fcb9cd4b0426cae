//! Calls in sessions of the legacy era, against a server in memory that does anything at any time: what it may have begun
//! is never sent again.

use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_client::{
    CallError, CallErrorKind, Client, EraMemory, Limits, OneWayMessage, ServerMessage, ServerNotification,
    ServerRequest, SessionId, Transport, TransportError, TransportFailure, TransportRequest, TransportResponse,
};
use mrtr_schema::roots::Root;
use mrtr_schema::{CallToolResult, Era, Json, Revision};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The fate of a call that is sent.
#[derive(Debug, Clone)]
enum Sent {
    /// The server has not begun with it.
    Refused(Refused),
    /// It begins, says this, and ends so.
    Begun(Vec<Said>, End),
}

/// The failures of a request that has not run.
#[derive(Debug, Clone, Copy)]
enum Refused {
    SessionEnded,
    Status(u16),
    Busy,
    BusyError,
    Unreachable,
    Unsent,
}

/// A message of a server while a call goes on.
#[derive(Debug, Clone, Copy)]
enum Said {
    Ping,
    Roots,
    /// A question that its handler never answers.
    Form,
    Withdraw,
    Progress,
    /// It gives the client time.
    Wait,
}

/// The ends of a call that has begun.
#[derive(Debug, Clone, Copy)]
enum End {
    Result,
    Error,
    BusyError,
    OtherVersion,
    Reset,
    Status(u16),
    /// The server has said something, and then has forgotten all about the session.
    SessionEnded,
    Busy,
    Never,
}

/// The fate of a message that has no response.
#[derive(Debug, Clone, Copy)]
enum OneWay {
    Taken,
    SessionEnded,
    Status(u16),
    Reset,
    Unreachable,
    Unauthorized,
    Never,
    /// It is refused after two seconds.
    RefusedLate,
}

#[derive(Debug, Clone)]
struct Plan {
    is_forced: bool,
    /// True if the server says that it is modern when it is asked.
    is_modern: bool,
    calls: Vec<Sent>,
    one_way: Vec<OneWay>,
}

#[derive(Clone)]
struct Hostile(Arc<Inner>);

struct Inner {
    era: EraMemory,
    is_modern: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Sent>,
    one_way: VecDeque<OneWay>,
    sessions: u32,
    asked: i64,
    /// The number of answers that were sent to it.
    one_way_sent: u32,
    /// The number of times that the call was sent, and since the server has begun with it.
    sent: u32,
    begun: u32,
    sent_after: u32,
    /// The end of the call that has begun, and whether it has begun in a session.
    last: Option<End>,
    is_in_session: bool,
}

impl fmt::Debug for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hostile")
    }
}

impl Hostile {
    fn new(plan: &Plan) -> Self {
        let state = State {
            calls: plan.calls.iter().cloned().collect(),
            one_way: plan.one_way.iter().copied().collect(),
            ..State::default()
        };
        let era = EraMemory::of_origin();
        era.remember(Era::Legacy);
        Self(Arc::new(Inner { era, is_modern: plan.is_modern, state: Mutex::new(state) }))
    }

    async fn call(
        &self,
        request: &TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let next = {
            let mut state = self.0.state.lock().unwrap();
            state.sent += 1;
            if state.begun > 0 {
                state.sent_after += 1;
            }
            let next = state.calls.pop_front().unwrap_or(Sent::Begun(Vec::new(), End::Result));
            if let Sent::Begun(_, end) = &next {
                state.begun += 1;
                state.last = Some(*end);
                state.is_in_session = request.session.is_some();
            }
            next
        };
        match next {
            Sent::Refused(refused) => refuse(refused, request),
            Sent::Begun(said, end) => {
                for said in &said {
                    self.say(*said, on_message).await;
                }
                let has_said = said.iter().any(|said| !matches!(said, Said::Wait));
                self.end(end, has_said, request, on_message).await
            }
        }
    }

    async fn say(&self, said: Said, on_message: &mut (dyn FnMut(ServerMessage) + Send)) {
        let asked = {
            let mut state = self.0.state.lock().unwrap();
            // The server withdraws what it asked last.
            state.asked += i64::from(matches!(said, Said::Ping | Said::Roots | Said::Form));
            state.asked
        };
        let ask = |method: &str, params: Value| {
            ServerMessage::Request(ServerRequest { id: asked.into(), method: method.into(), params: params.into() })
        };
        let form = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
        match said {
            Said::Ping => on_message(ask("ping", json!({}))),
            Said::Roots => on_message(ask("roots/list", json!({}))),
            Said::Form => on_message(ask("elicitation/create", form)),
            Said::Withdraw => on_message(notification("notifications/cancelled", json!({ "requestId": asked }))),
            Said::Progress => {
                on_message(notification("notifications/progress", json!({ "progressToken": 1, "progress": 1 })));
            }
            Said::Wait => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }

    async fn end(
        &self,
        end: End,
        has_said: bool,
        request: &TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        // No transport says that a call has not run after it has: it has heard something first.
        if !has_said
            && matches!(end, End::SessionEnded | End::Status(400..500) | End::Busy | End::BusyError | End::OtherVersion)
        {
            self.say(Said::Progress, on_message).await;
        }
        match end {
            End::Result => Ok(reply(request, json!({ "result": { "content": [] } }))),
            End::Error => Ok(reply(request, json!({ "error": { "code": -32000, "message": "no" } }))),
            End::BusyError => refuse(Refused::BusyError, request),
            End::OtherVersion => {
                let data = json!({ "requested": "v", "supported": ["sep-2322"] });
                Ok(reply(request, json!({ "error": { "code": -32022, "message": "no", "data": data } })))
            }
            End::Reset => Err(TransportError::new("connection reset")),
            End::Status(status) => Err(TransportError::new("no message").with_status(status)),
            End::SessionEnded => refuse(Refused::SessionEnded, request),
            End::Busy => refuse(Refused::Busy, request),
            End::Never => pending().await,
        }
    }
}

fn notification(method: &str, params: Value) -> ServerMessage {
    ServerMessage::Notification(ServerNotification { method: method.into(), params: Json::from(params) })
}

fn reply(request: &TransportRequest<'_>, mut members: Value) -> TransportResponse {
    (members["jsonrpc"], members["id"]) = (json!("2.0"), json!(request.id));
    TransportResponse::new(members.to_string()).status(200)
}

fn refuse(refused: Refused, request: &TransportRequest<'_>) -> Result<TransportResponse, TransportError> {
    Err(match refused {
        Refused::SessionEnded => TransportError::of(TransportFailure::SessionEnded, "gone").with_status(404),
        Refused::Status(status) => TransportError::new("no message").with_status(status),
        Refused::Busy => TransportError::busy(None),
        Refused::BusyError => {
            let error = json!({ "code": mrtr_schema::ErrorCode::BUSY.as_i64(), "message": "later" });
            return Ok(reply(request, json!({ "error": error })).retry_after(Duration::from_secs(1)));
        }
        Refused::Unreachable => TransportError::of(TransportFailure::Unreachable, "connection refused"),
        Refused::Unsent => TransportError::new("there is no token").unsent(),
    })
}

#[async_trait]
impl Transport for Hostile {
    fn server(&self) -> &'static str {
        "hostile"
    }

    fn era(&self) -> Option<&EraMemory> {
        Some(&self.0.era)
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        match request.method {
            "initialize" => {
                let number = {
                    let mut state = self.0.state.lock().unwrap();
                    state.sessions += 1;
                    state.sessions
                };
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                    "serverInfo": { "name": "s", "version": "1" } });
                Ok(reply(&request, json!({ "result": result })).session(SessionId::new(format!("s-{number}"))))
            }
            "server/discover" if self.0.is_modern => {
                let result = json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
                    "ttlMs": 0, "cacheScope": "private" });
                Ok(reply(&request, json!({ "result": result })))
            }
            "server/discover" => Err(TransportError::new("no session").with_status(400)),
            _ => self.call(&request, on_message).await,
        }
    }

    async fn send(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        if message.message.contains("notifications/initialized") {
            return Ok(());
        }
        let next = {
            let mut state = self.0.state.lock().unwrap();
            state.one_way_sent += 1;
            state.one_way.pop_front().unwrap_or(OneWay::Taken)
        };
        match next {
            OneWay::Taken => Ok(()),
            OneWay::SessionEnded => {
                Err(TransportError::of(TransportFailure::SessionEnded, "it does not know it").with_status(404))
            }
            OneWay::Status(status) => Err(TransportError::new("no message").with_status(status)),
            OneWay::Reset => Err(TransportError::new("connection reset")),
            OneWay::Unreachable => Err(TransportError::of(TransportFailure::Unreachable, "connection refused")),
            OneWay::Unauthorized => {
                Err(TransportError::of(TransportFailure::Unauthorized, "who is it").with_status(401))
            }
            OneWay::Never => pending().await,
            OneWay::RefusedLate => {
                tokio::time::sleep(Duration::from_secs(2)).await;
                Err(TransportError::new("no message").with_status(400))
            }
        }
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let status = || proptest::sample::select(vec![400_u16, 404, 405, 408, 422, 429, 500, 502, 503]);
    let refused = prop_oneof![
        Just(Refused::SessionEnded),
        proptest::sample::select(vec![400_u16, 404, 405, 422]).prop_map(Refused::Status),
        Just(Refused::Busy),
        Just(Refused::BusyError),
        Just(Refused::Unreachable),
        Just(Refused::Unsent),
    ];
    let said = prop_oneof![
        3 => Just(Said::Ping),
        2 => Just(Said::Roots),
        1 => Just(Said::Form),
        1 => Just(Said::Withdraw),
        1 => Just(Said::Progress),
        4 => Just(Said::Wait),
    ];
    let end = prop_oneof![
        Just(End::Result),
        Just(End::Error),
        Just(End::BusyError),
        Just(End::OtherVersion),
        Just(End::Reset),
        status().prop_map(End::Status),
        Just(End::SessionEnded),
        Just(End::Busy),
        Just(End::Never),
    ];
    let sent = prop_oneof![
        1 => refused.prop_map(Sent::Refused),
        2 => (proptest::collection::vec(said, 0..6), end).prop_map(|(said, end)| Sent::Begun(said, end)),
    ];
    let one_way = prop_oneof![
        2 => Just(OneWay::Taken),
        2 => Just(OneWay::SessionEnded),
        2 => status().prop_map(OneWay::Status),
        1 => Just(OneWay::Reset),
        1 => Just(OneWay::Unreachable),
        1 => Just(OneWay::Unauthorized),
        1 => Just(OneWay::Never),
    ];
    let (calls, one_way) = (proptest::collection::vec(sent, 1..4), proptest::collection::vec(one_way, 0..6));
    (any::<bool>(), any::<bool>(), calls, one_way).prop_map(|(is_forced, is_modern, calls, one_way)| Plan {
        is_forced,
        is_modern,
        calls,
        one_way,
    })
}

/// A client of this server. It answers questions for roots at once, and forms never.
fn client(server: &Hostile, is_forced: bool) -> Client {
    let limits = Limits { gathering: Some(Duration::from_mins(1)), ..Limits::default() };
    let builder = Client::builder(server.clone())
        .limits(limits)
        .on_roots(|_| async { Ok::<_, String>(vec![Root::new("file:///src")]) })
        .on_elicit(|_| pending::<mrtr_schema::elicitation::ElicitResult>());
    if is_forced { builder.revision(Revision::V2025_11_25).build() } else { builder.build() }
}

/// Tells when it is dropped.
struct Dropped(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_is_stopped_and_not_answered() {
    let plan = Plan {
        is_forced: true,
        is_modern: false,
        calls: vec![Sent::Begun(vec![Said::Form, Said::Wait, Said::Withdraw, Said::Wait, Said::Wait], End::Result)],
        one_way: Vec::new(),
    };
    let server = Hostile::new(&plan);
    let (dropped, mut is_dropped) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::builder(server.clone()).revision(Revision::V2025_11_25).on_elicit(move |form| {
        let dropped = Dropped(dropped.clone());
        async move {
            // The server withdraws the question after a second, and the call goes on for two more.
            tokio::time::sleep(Duration::from_millis(1500)).await;
            drop(dropped);
            form.decline()
        }
    });
    let begun = tokio::time::Instant::now();
    let client = client.build();
    let stopped = async {
        is_dropped.recv().await;
        begun.elapsed()
    };
    let (result, stopped) = tokio::join!(client.call_tool("t", json!({})), stopped);
    result.unwrap();
    assert!((1000..1400).contains(&stopped.as_millis()), "at once: {stopped:?}");
    assert_eq!(server.0.state.lock().unwrap().one_way_sent, 0, "nothing was answered");
}

/// Calls a server that says this and ends so, and treats the answer to its question in this way.
async fn call_losing(answer: OneWay, said: Vec<Said>, end: End) -> Result<CallToolResult, CallError> {
    let plan = Plan { is_forced: true, is_modern: false, calls: vec![Sent::Begun(said, end)], one_way: vec![answer] };
    let server = Hostile::new(&plan);
    let called = client(&server, true).call_tool("pay", json!({})).await;
    assert_eq!(server.0.state.lock().unwrap().sent, 1, "{answer:?}");
    called
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_server_did_not_take_ends_the_call_at_once() {
    for refused in [OneWay::SessionEnded, OneWay::Status(400), OneWay::Unreachable, OneWay::Unauthorized] {
        let begun = tokio::time::Instant::now();
        let error = call_losing(refused, vec![Said::Roots, Said::Wait], End::Never).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(1), "{refused:?}: {error} after {:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_may_have_arrived_ends_nothing() {
    for lost in [OneWay::Reset, OneWay::Status(408), OneWay::Status(502)] {
        let called = call_losing(lost, vec![Said::Roots, Said::Wait, Said::Wait], End::Result).await;
        called.unwrap_or_else(|error| panic!("{lost:?}: {error}"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_question_that_was_withdrawn_ends_nothing() {
    let said = vec![Said::Roots, Said::Wait, Said::Withdraw, Said::Wait, Said::Wait];
    call_losing(OneWay::RefusedLate, said, End::Result).await.expect("nobody waits for the answer");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_interrupted_in_a_session_is_not_sent_again() {
    let calls = vec![Sent::Begun(vec![Said::Wait], End::Never)];
    let plan = Plan { is_forced: true, is_modern: false, calls, one_way: Vec::new() };
    let server = Hostile::new(&plan);
    let client = client(&server, true);
    let call = client.prepare_tool("pay", json!({})).unwrap();
    let stop = tokio::time::sleep(Duration::from_secs(1));
    let error = client.resume_until::<Json>(call, stop).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Interrupted), "{error}");
    let again = client.resume(error.into_pending().unwrap()).await.unwrap_err();
    assert!(matches!(again.kind, CallErrorKind::HeldByServer), "{again}");
    assert_eq!(server.0.state.lock().unwrap().sent, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

    #[test]
    fn a_call_that_has_begun_is_sent_at_most_once(plan in plans()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let server = Hostile::new(&plan);
        let client = client(&server, plan.is_forced);
        let called = runtime.block_on(async {
            // All time there is: each wait of a client has an end.
            tokio::time::timeout(Duration::from_hours(24), client.call_tool("pay", json!({}))).await
        });
        let called = called.expect("a call ends, whatever its server does");
        let state = server.0.state.lock().unwrap();
        prop_assert!(state.sent_after == 0 && state.begun <= 1, "sent {} times, {called:?}", state.sent);
        let is_known = matches!(state.last, None | Some(End::Result | End::Error | End::BusyError | End::OtherVersion));
        match &called {
            Err(error @ CallError { kind: CallErrorKind::InDoubt { .. }, .. }) => {
                prop_assert!(state.is_in_session && error.to_string().contains("may have had effects"), "{error}");
            }
            // A call of the modern era can be picked up, and its caller decides.
            Err(error @ CallError { kind: CallErrorKind::Transport { .. }, .. }) => prop_assert!(!state.is_in_session, "{error}"),
            Ok(_) => prop_assert!(is_known),
            Err(_) => {}
        }
        drop(state);
        // In a session, there is nothing that a caller could pick up.
        if let Err(error @ CallError { kind: CallErrorKind::InDoubt { .. }, .. }) = called {
            prop_assert!(error.pending().is_none(), "{error}");
            prop_assert_eq!(server.0.state.lock().unwrap().sent_after, 0);
        }
    }
}
