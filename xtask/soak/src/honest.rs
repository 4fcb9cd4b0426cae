//! Honest clients: they send at set times, whatever became of the request before, and time each exchange from the
//! moment when it was to be sent.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep_until, timeout};

use crate::caller::Caller;
use crate::connection::{Http1, Http2, Opened, Response, data_of, next_chunk};
use crate::message::{Post, call, initialize, listen, request, retry, session_call};
use crate::samples::Samples;
use crate::server::CLOCK;

/// Starts these callers' connections, each of which acts once in a period. They end when the set is dropped.
pub(crate) fn start(
    callers: impl IntoIterator<Item = Caller>,
    server: SocketAddr,
    period: Duration,
    samples: &Samples,
) -> JoinSet<()> {
    let callers: Vec<_> = callers.into_iter().collect();
    let (count, began) = (u32::try_from(callers.len()).unwrap_or(u32::MAX), Instant::now());
    let mut crowd = JoinSet::new();
    for (number, caller) in (0_u32..).zip(callers) {
        let mut client = Client::new(caller, Role::of(number), server, samples.clone());
        let first = began + period * number / count;
        crowd.spawn(async move {
            for turn in 0_u32.. {
                let intended = first + period * turn;
                sleep_until(intended.into()).await;
                client.act(intended, turn).await;
            }
        });
    }
    crowd
}

/// The role of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Calls a tool that answers at once, and now and then one with a large result.
    Calls,
    /// Calls a tool that asks, and answers it.
    Answers,
    /// Calls in a session of the legacy era.
    Session,
    /// Calls a tool that runs as a task, and follows it.
    Tasks,
    /// Listens to a resource that changes each second, and calls beside it.
    Listens,
}

impl Role {
    fn of(number: u32) -> (Self, bool) {
        match number % 10 {
            0..=3 => (Self::Calls, false),
            4 => (Self::Answers, false),
            5 => (Self::Calls, true),
            6 => (Self::Answers, true),
            7 => (Self::Session, true),
            8 => (Self::Tasks, false),
            _ => (Self::Listens, true),
        }
    }
}

enum Connection {
    None,
    One(Http1),
    Two(Http2),
}

struct Client {
    caller: Caller,
    name: Arc<str>,
    role: Role,
    http2: bool,
    server: SocketAddr,
    samples: Samples,
    connection: Connection,
    session: Option<String>,
    task: Option<(String, Instant)>,
    subscription: Option<Subscription>,
}

/// A stream that is read in the background.
struct Subscription {
    reader: AbortHandle,
    /// True if it was told of a change since the last look.
    told: Arc<AtomicBool>,
    quiet_since: Instant,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Client {
    fn new(caller: Caller, (role, http2): (Role, bool), server: SocketAddr, samples: Samples) -> Self {
        let name = caller.name.as_str().into();
        let connection = Connection::None;
        Self { caller, name, role, http2, server, samples, connection, session: None, task: None, subscription: None }
    }

    async fn act(&mut self, intended: Instant, turn: u32) {
        match self.role {
            Role::Calls => {
                let tool = if turn % 10 == 9 { "large" } else { "plain" };
                self.modern(intended, &call(tool, &json!({ "bytes": 100_000 }))).await;
            }
            Role::Answers => {
                let asking = call("ask", &json!({}));
                if let Some(asked) = self.modern(intended, &asking).await {
                    self.modern(Instant::now(), &retry(asking, &asked)).await;
                }
            }
            Role::Session => self.speak_in_session(intended, turn).await,
            Role::Tasks => self.follow_task(intended).await,
            Role::Listens => {
                self.look_at_subscription().await;
                self.modern(intended, &call("plain", &json!({}))).await;
            }
        }
    }

    async fn modern(&mut self, intended: Instant, message: &Value) -> Option<Value> {
        let post = Post::modern(message).by(&self.caller);
        self.exchange(intended, &post).await.and_then(|response| response.message())
    }

    /// Sends a request and records the exchange. `None` if it was refused.
    async fn exchange(&mut self, intended: Instant, post: &Post) -> Option<Response> {
        let answered = match timeout(PATIENCE, self.send(post)).await {
            Ok(Ok(response)) => refusal(&response).map_or(Ok(response), Err),
            Ok(Err(error)) => Err(format!("no reply: {error}")),
            Err(_) => Err(format!("no reply in {PATIENCE:?}")),
        };
        if answered.is_err() {
            self.connection = Connection::None;
        }
        self.samples.add(intended, &self.name, answered.as_ref().err().cloned());
        answered.ok()
    }

    /// Sends a request. A connection that was closed while it was not in use is replaced once.
    async fn send(&mut self, post: &Post) -> io::Result<Response> {
        let sent = match &mut self.connection {
            Connection::None => return self.send_anew(post).await,
            Connection::One(connection) => connection.exchange(post).await,
            Connection::Two(connection) => connection.exchange(post).await,
        };
        match sent {
            Ok(response) => Ok(response),
            Err(_) => self.send_anew(post).await,
        }
    }

    async fn send_anew(&mut self, post: &Post) -> io::Result<Response> {
        self.subscription = None;
        if self.http2 {
            let connection = Http2::connect(&self.caller, self.server, WINDOW).await?;
            let response = connection.exchange(post).await?;
            self.connection = Connection::Two(connection);
            return Ok(response);
        }
        let mut connection = Http1::connect(&self.caller, self.server).await?;
        let response = connection.exchange(post).await?;
        self.connection = Connection::One(connection);
        Ok(response)
    }

    async fn speak_in_session(&mut self, intended: Instant, turn: u32) {
        let Some(session) = self.session.clone() else {
            let begin = Post::plain(&initialize(&json!({ "elicitation": {} }))).by(&self.caller);
            self.session = self.exchange(intended, &begin).await.and_then(|response| response.session);
            return;
        };
        if turn.is_multiple_of(2) {
            return self.be_asked_in_session(intended, &session, turn).await;
        }
        let message = session_call(u64::from(turn), "plain", &json!({}), None);
        let post = Post::in_session(&session, &message).by(&self.caller);
        if self.exchange(intended, &post).await.is_none() {
            self.session = None;
        }
    }

    /// Calls a tool that asks, reads the question from the stream, answers it beside, and reads the result.
    async fn be_asked_in_session(&mut self, intended: Instant, session: &str, turn: u32) {
        let Connection::Two(connection) = &self.connection else {
            self.session = None;
            return;
        };
        let call = session_call(u64::from(turn), "ask", &json!({}), None);
        let post = Post::in_session(session, &call).by(&self.caller);
        let conversation = converse(connection, &self.caller, session, &post);
        let refused = match timeout(PATIENCE, conversation).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("a session's call: {error}")),
            Err(_) => Some(format!("a session's call: no result in {PATIENCE:?}")),
        };
        if refused.is_some() {
            (self.session, self.connection) = (None, Connection::None);
        }
        self.samples.add(intended, &self.name, refused);
    }

    async fn follow_task(&mut self, intended: Instant) {
        let Some((id, created)) = self.task.clone() else {
            let created = self.modern(intended, &call("report", &json!({ "bytes": 1_000 }))).await;
            let id = created.and_then(|created| Some(created["result"]["taskId"].as_str()?.to_owned()));
            self.task = id.map(|id| (id, intended));
            return;
        };
        let Some(said) = self.modern(intended, &request("tasks/get", json!({ "taskId": id }))).await else { return };
        let status = said["result"]["status"].as_str().unwrap_or_default();
        let refused = match status {
            "completed" => None,
            "working" if created.elapsed() < TASK_PATIENCE => return,
            status => Some(format!("a task is {status} after {TASK_PATIENCE:?}")),
        };
        self.task = None;
        // A task takes as long as its polls, so only its outcome counts, not its time.
        if refused.is_some() {
            self.samples.add(Instant::now(), &self.name, refused);
        }
    }

    async fn look_at_subscription(&mut self) {
        let Connection::Two(connection) = &self.connection else { return };
        let now = Instant::now();
        if let Some(subscription) = &mut self.subscription {
            if subscription.told.swap(false, Ordering::Relaxed) {
                subscription.quiet_since = now;
            }
            let ended = subscription.reader.is_finished();
            if !ended && subscription.quiet_since.elapsed() < PATIENCE {
                return;
            }
            let reason = if ended { "a subscription ended" } else { "a subscription was not told of a change" };
            self.samples.add(now, &self.name, Some(reason.to_owned()));
            self.subscription = None;
        }
        let post = Post::modern(&listen(&json!({ "resourceSubscriptions": [CLOCK] }))).by(&self.caller);
        match timeout(PATIENCE, connection.open(&post)).await {
            Ok(Ok(Opened { status: 200, mut body, .. })) => {
                self.samples.add(now, &self.name, None);
                let told = Arc::new(AtomicBool::new(false));
                let seen = Arc::clone(&told);
                let reader = tokio::spawn(async move {
                    while let Ok(Some(_)) = next_chunk(&mut body).await {
                        seen.store(true, Ordering::Relaxed);
                    }
                });
                let reader = reader.abort_handle();
                self.subscription = Some(Subscription { reader, told, quiet_since: now });
            }
            other => self.samples.add(now, &self.name, Some(format!("no subscription: {}", described(other)))),
        }
    }
}

fn described<E>(opened: Result<Result<Opened, h2::Error>, E>) -> String {
    match opened {
        Ok(Ok(opened)) => opened.status.to_string(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no reply in {PATIENCE:?}"),
    }
}

/// Plays a session's call to its end.
async fn converse(connection: &Http2, caller: &Caller, session: &str, post: &Post) -> io::Result<()> {
    let Opened { status, mut body, .. } = connection.open(post).await.map_err(io::Error::other)?;
    if status != 200 {
        return Err(io::Error::other(status.to_string()));
    }
    let mut text = String::new();
    while let Some(chunk) = next_chunk(&mut body).await? {
        text.push_str(&String::from_utf8_lossy(&chunk));
        while let Some((line, rest)) = text.split_once('\n') {
            let message = data_of(line);
            text = rest.to_owned();
            let Some(message) = message else { continue };
            if message.get("method").is_none() {
                return message.get("error").map_or(Ok(()), |error| Err(io::Error::other(error.to_string())));
            }
            if message.get("id").is_some() {
                let result = json!({ "action": "accept", "content": { "name": "Ada" } });
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                connection.exchange(&Post::in_session(session, &answer).by(caller)).await?;
            }
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// The reason why a response is a refusal: a status, an error, or a tool's failure, none of which an honest request
/// deserves.
fn refusal(response: &Response) -> Option<String> {
    let message = response.message();
    if !matches!(response.status, 200 | 202) {
        let reason = message.map(|message| format!(" {}", message["error"]["message"]));
        return Some(format!("status {}{}", response.status, reason.unwrap_or_default()));
    }
    let Some(message) = message else { return (response.status == 200).then(|| "no message".to_owned()) };
    if let Some(error) = message.get("error") {
        return Some(format!("error {error}"));
    }
    (message["result"]["isError"] == true).then(|| format!("failed: {}", message["result"]["content"][0]["text"]))
}

/// The time that an honest client waits for a reply.
const PATIENCE: Duration = Duration::from_secs(10);
const TASK_PATIENCE: Duration = Duration::from_secs(20);
/// About the window that browsers have.
const WINDOW: u32 = 1 << 20;
