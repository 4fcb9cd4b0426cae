//! Whatever a server replies, a call ends within its limits, echoes the last state or none, and never reuses an id.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_client::{
    CallError, CallErrorKind, Client, Limits, ServerMessage, Stop, Transport, TransportError, TransportRequest,
    TransportResponse,
};
use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::{JsonObject, Revision};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::common::remove_ours;

/// The things that a server may do with a request.
#[derive(Debug, Clone)]
enum Move {
    Complete,
    Ask { keys: Vec<String>, state: Option<String> },
    AskUnknown(Option<String>),
    StateOnly(String),
    CreateTask(Option<u64>),
    Task(&'static str, Vec<String>),
    Acknowledge,
    Error(i64),
    OtherVersion(Vec<&'static str>),
    Busy,
    Unreachable,
    Garbage(String),
}

fn keys() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[ab]{1,2}", 1..4)
}

fn moves() -> impl Strategy<Value = Move> {
    let state = || proptest::option::of("[ -~]{0,8}");
    let status = proptest::sample::select(vec!["working", "input_required", "completed", "failed", "cancelled"]);
    let versions = proptest::sample::subsequence(vec!["draft-2026-02", "sep-2322", "2026-07-28", "v9"], 0..4);
    prop_oneof![
        2 => Just(Move::Complete),
        6 => (keys(), state()).prop_map(|(keys, state)| Move::Ask { keys, state }),
        1 => state().prop_map(Move::AskUnknown),
        6 => "[ -~]{0,8}".prop_map(Move::StateOnly),
        4 => proptest::option::of(any::<u32>().prop_map(u64::from)).prop_map(Move::CreateTask),
        8 => (status, keys()).prop_map(|(status, keys)| Move::Task(status, keys)),
        4 => Just(Move::Acknowledge),
        1 => any::<i32>().prop_map(|code| Move::Error(code.into())),
        2 => versions.prop_map(Move::OtherVersion),
        2 => Just(Move::Busy),
        1 => Just(Move::Unreachable),
        1 => ".{0,40}".prop_map(Move::Garbage),
    ]
}

/// A server that plays its moves over and over, and checks what it is sent.
#[derive(Debug, Clone)]
struct Player(Arc<Mutex<Played>>);

#[derive(Debug)]
struct Played {
    moves: Vec<Move>,
    requests: usize,
    ids: HashSet<String>,
    /// The state that a retry must carry, and what it may answer.
    carried: Option<String>,
    asked: Vec<String>,
    original: Option<Value>,
}

impl Player {
    fn new(moves: Vec<Move>) -> Self {
        let (ids, asked) = (HashSet::new(), Vec::new());
        Self(Arc::new(Mutex::new(Played { moves, requests: 0, ids, carried: None, asked, original: None })))
    }

    fn requests(&self) -> usize {
        self.0.lock().unwrap().requests
    }
}

impl Played {
    fn next(&mut self, request: &TransportRequest<'_>) -> Result<String, TransportError> {
        let message: Value = serde_json::from_str(request.message).unwrap();
        assert!(self.ids.insert(message["id"].to_string()), "an id was used twice");
        if request.method == "tools/call" {
            self.check_call(&message);
        }
        let next = self.moves[self.requests % self.moves.len()].clone();
        self.requests += 1;
        self.reply(next, request)
    }

    /// The call is the original one, with the last state or none, and with answers to what was asked last.
    fn check_call(&mut self, message: &Value) {
        let mut params = message["params"].clone();
        remove_ours(&mut params);
        let params = params.as_object_mut().unwrap();
        let state = params.remove("requestState").map(|state| state.as_str().unwrap().to_owned());
        let answers = params.remove("inputResponses");
        assert_eq!(state, self.carried, "exactly the last state, or none");
        let answered: Vec<_> = answers.iter().flat_map(|answers| answers.as_object().unwrap().keys()).collect();
        assert_eq!(answered, self.asked.iter().collect::<Vec<_>>(), "each question, and nothing else");
        assert_eq!(params.get("_meta"), Some(&json!({ "com.example/trace": "abc" })), "what the caller says of it");
        let original = self.original.get_or_insert_with(|| params.clone().into());
        assert_eq!(*original, Value::Object(params.clone()));
    }

    fn reply(&mut self, next: Move, request: &TransportRequest<'_>) -> Result<String, TransportError> {
        let revision = request.revision;
        let result = match next {
            Move::Busy => return Err(TransportError::busy(None)),
            Move::Unreachable => return Err(TransportError::new("gone")),
            Move::Garbage(text) => return Ok(text),
            Move::Error(code) => return Ok(error(request, code, &Value::Null)),
            Move::OtherVersion(versions) => {
                let data =
                    UnsupportedVersionData::new("v", versions.into_iter().map(str::to_owned).collect::<Vec<_>>());
                return Ok(error(request, -32022, &json!(data)));
            }
            Move::Complete => json!({ "content": [] }),
            Move::Acknowledge => json!({}),
            Move::StateOnly(state) => interim(revision, &[], Some(state)),
            Move::Ask { keys, state } => interim(revision, &keys, state),
            Move::AskUnknown(state) => {
                let mut interim = interim(revision, &["x".to_owned()], state);
                interim["inputRequests"]["x"] = json!({ "method": "com.example/unknown" });
                interim
            }
            Move::CreateTask(interval) => created(revision, interval),
            Move::Task(status, keys) => {
                let mut task = facts(revision, status);
                task["inputRequests"] = questions(&keys);
                task["result"] = json!({ "content": [] });
                task["error"] = json!({ "code": 1, "message": "failed" });
                task
            }
        };
        if request.method == "tools/call" {
            self.note(&result, revision);
        }
        Ok(json!({ "jsonrpc": "2.0", "id": request.id, "result": result }).to_string())
    }

    /// Notes what the next retry must carry, if this result asks for one.
    fn note(&mut self, result: &Value, revision: Revision) {
        let is_interim = match revision {
            Revision::Draft202602 => result.get("inputRequests").or(result.get("requestState")).is_some(),
            _ => result["resultType"] == "input_required",
        };
        if is_interim {
            self.carried = result["requestState"].as_str().map(str::to_owned);
            let asked = result["inputRequests"].as_object();
            self.asked = asked.into_iter().flat_map(|asked| asked.keys().cloned()).collect();
        }
    }
}

fn interim(revision: Revision, keys: &[String], state: Option<String>) -> Value {
    let mut interim = json!({});
    if revision != Revision::Draft202602 {
        interim["resultType"] = "input_required".into();
    }
    if !keys.is_empty() {
        interim["inputRequests"] = questions(keys);
    }
    if let Some(state) = state {
        interim["requestState"] = state.into();
    }
    interim
}

fn questions(keys: &[String]) -> Value {
    let form = json!({ "type": "object", "properties": {} });
    let question = json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": form } });
    keys.iter().map(|key| (key.clone(), question.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn facts(revision: Revision, status: &str) -> Value {
    let lifetime = if revision == Revision::V2026_07_28 { "ttlMs" } else { "ttl" };
    json!({ "taskId": "t", "status": status, "createdAt": "2026-08-01T12:00:00Z",
        "lastUpdatedAt": "2026-08-01T12:00:00Z", lifetime: null })
}

fn created(revision: Revision, interval: Option<u64>) -> Value {
    let mut task = facts(revision, "working");
    if revision == Revision::V2026_07_28 {
        task["resultType"] = "task".into();
        if let Some(interval) = interval {
            task["pollIntervalMs"] = interval.into();
        }
        return task;
    }
    json!({ "task": task })
}

fn error(request: &TransportRequest<'_>, code: i64, data: &Value) -> String {
    let error = json!({ "code": code, "message": "no", "data": data });
    json!({ "jsonrpc": "2.0", "id": request.id, "error": error }).to_string()
}

#[async_trait::async_trait]
impl Transport for Player {
    fn server(&self) -> &'static str {
        "a player"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        self.0.lock().unwrap().next(&request).map(TransportResponse::new)
    }
}

const LIMITS: Limits = Limits {
    rounds: 5,
    state_only_rounds: 3,
    polls: 7,
    backoff: Duration::from_millis(1),
    url_pause: Duration::from_millis(10),
    exchange: Duration::from_secs(1),
    probe: Duration::from_secs(1),
    gathering: None,
    questions: 16,
    state_bytes: 1000,
    reply_bytes: 10_000,
    poll_interval: Duration::from_secs(1),
    least_poll_interval: Duration::from_millis(20),
    event_bytes: 1000,
    cache_bytes: 1000,
    list_bytes: 1000,
};

/// Each round may be put off three times before it, and so may each poll; a poll may need a second request.
const MOST_REQUESTS: usize = (5 + 2 * 7 + 5 + 3) * (3 + 1);

fn run(moves: Vec<Move>, revision: Revision) -> (Player, Result<(), CallError>) {
    let player = Player::new(moves);
    let client = Client::builder(player.clone())
        .revision(revision)
        .limits(LIMITS)
        .on_elicit(|form| async move { form.accept(&json!({})) })
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let params = json!({ "name": "t", "arguments": { "a": 1 }, "_meta": { "com.example/trace": "abc" } });
    let call = client.prepare("tools/call", JsonObject::of(&params).unwrap());
    let result = runtime.block_on(client.resume(call));
    (player, result.map(drop))
}

proptest! {
    #[test]
    fn every_call_ends_within_its_limits(
        moves in proptest::collection::vec(moves(), 1..30),
        revision in proptest::sample::select(Revision::MODERN.to_vec()),
    ) {
        let (player, result) = run(moves, revision);
        prop_assert!(player.requests() <= MOST_REQUESTS, "{} requests", player.requests());
        if let Err(error) = result {
            if let Some(pending) = error.pending() {
                let saved = serde_json::to_string(pending).unwrap();
                prop_assert!(serde_json::from_str::<mrtr_client::PendingCall>(&saved).is_ok());
            }
            let stop = match &error.kind {
                CallErrorKind::Stopped { stop, .. } => Some(stop),
                _ => None,
            };
            let within = match stop {
                Some(Stop::TooManyRounds(rounds)) => *rounds == LIMITS.rounds,
                Some(Stop::TooManyStateOnlyRounds(times)) => *times == LIMITS.state_only_rounds,
                Some(Stop::TooManyPolls(looks)) => *looks == LIMITS.polls,
                _ => true,
            };
            prop_assert!(within, "{}", error);
        }
    }
}
