//! A server with tasks, its clients, and what happens outside of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::Clock;
use mrtr_schema::tasks::extension;
use mrtr_schema::{ClientCapabilities, JsonObject, Revision};
use mrtr_server::testing::{Client, everything};
use mrtr_server::{Caller, Failure, Flow, Server, TaskPolicy, Tool};
use mrtr_state::{Key, KeyRing, Sealer, Timestamp};
use mrtr_tasks::store::{MemoryTaskStore, TaskStore};
use mrtr_tasks::{TaskId, TaskOptions, Tasks, WaitsFor};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The older revisions, whose tasks are part of the protocol.
pub(crate) const OLDER: [Revision; 2] = [Revision::Draft202602, Revision::Sep2322];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// The things that happened outside, and a gate at which work may wait. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Outside(Arc<Happened>);

#[derive(Default)]
struct Happened {
    all: Mutex<Vec<String>>,
    more: Notify,
    gate: Notify,
}

impl Outside {
    pub(crate) fn note(&self, what: &str) {
        self.0.all.lock().unwrap().push(what.to_owned());
        self.0.more.notify_waiters();
    }

    /// Something that happens, as a step does it.
    #[expect(clippy::unused_async, reason = "work is a future")]
    pub(crate) async fn happen(&self, what: &str) -> Result<String, Failure> {
        self.note(what);
        Ok(what.to_owned())
    }

    pub(crate) async fn happen_after_gate(&self, what: &str) -> Result<String, Failure> {
        self.note("at the gate");
        self.0.gate.notified().await;
        self.happen(what).await
    }

    pub(crate) fn open_gate(&self) {
        self.0.gate.notify_one();
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.all.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|happened| *happened == what).count()
    }

    /// Waits until something has happened so often.
    pub(crate) async fn until(&self, what: &str, times: usize) {
        loop {
            let mut more = std::pin::pin!(self.0.more.notified());
            more.as_mut().enable();
            if self.count(what) >= times {
                return;
            }
            within(PATIENCE, more).await;
        }
    }
}

/// A tool whose calls run as tasks, if the client can have them.
pub(crate) fn tool<F, R>(outside: &Outside, handler: F) -> Tool
where
    F: Fn(Flow, Outside) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let outside = outside.clone();
    Tool::new("tool", move |flow: Flow| handler(flow, outside.clone())).tasks(TaskPolicy::IfPossible)
}

/// Asks for a name and greets.
pub(crate) fn greeting() -> Tool {
    tool(&Outside::default(), async |flow, _| {
        let Name { name } = flow.elicit("name", "Who are you?").await?;
        Ok(format!("Hello, {name}"))
    })
}

/// A clock that goes as tokio's does, which a test may stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokioClock(Instant);

impl TokioClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

#[async_trait]
impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_785_240_000_000) + self.0.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Tasks in memory, by tokio's clock.
pub(crate) fn memory() -> Arc<dyn TaskStore> {
    Arc::new(MemoryTaskStore::new(Arc::new(TokioClock::start())))
}

pub(crate) fn sealer() -> Sealer {
    Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "tests").unwrap()
}

/// A server with tasks.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) tasks: Tasks,
    pub(crate) store: Arc<dyn TaskStore>,
}

impl Site {
    pub(crate) fn of(tool: Tool) -> Self {
        Self::with(memory(), TaskOptions::default(), [tool])
    }

    pub(crate) fn with(store: Arc<dyn TaskStore>, options: TaskOptions, tools: impl IntoIterator<Item = Tool>) -> Self {
        Self::sealed_by(Some(sealer()), store, options, tools)
    }

    pub(crate) fn sealed_by(
        sealer: Option<Sealer>,
        store: Arc<dyn TaskStore>,
        options: TaskOptions,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Self {
        let tasks = Tasks::with_options(Arc::clone(&store), options);
        let mut builder = Server::builder("test", "1").clock(TokioClock::start()).extension(tasks.clone());
        if let Some(sealer) = sealer {
            builder = builder.sealer(sealer);
        }
        let server = tools.into_iter().fold(builder, mrtr_server::Builder::tool).build().unwrap();
        Self { server, tasks, store }
    }

    /// A client of the published revision that follows tasks.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.server).declaring(with_tasks(everything()))
    }

    /// A client of an older revision.
    pub(crate) fn older(&self, revision: Revision) -> Client {
        Client::new(&self.server).speaking(revision)
    }

    /// A client of this revision.
    pub(crate) fn speaking(&self, revision: Revision) -> Client {
        if revision == Revision::V2026_07_28 { self.client() } else { self.older(revision) }
    }

    /// Calls `tool` in the published revision: a task.
    pub(crate) async fn start(&self) -> Started {
        self.start_as(self.client(), Revision::V2026_07_28).await
    }

    /// Calls `tool` in this revision, as a task.
    pub(crate) async fn start_in(&self, revision: Revision) -> Started {
        self.start_as(self.speaking(revision), revision).await
    }

    pub(crate) async fn start_as(&self, client: Client, revision: Revision) -> Started {
        self.start_wishing(client, revision, json!({})).await
    }

    /// Calls `tool` with this as `task`, where the revision has that.
    pub(crate) async fn start_wishing(&self, client: Client, revision: Revision, task: Value) -> Started {
        let created = call(&client, revision, task).await;
        self.started(client, revision, &created)
    }

    /// The task that a reply is about.
    pub(crate) fn started(&self, client: Client, revision: Revision, created: &Value) -> Started {
        let handle = if revision == Revision::V2026_07_28 { &created["result"] } else { &created["result"]["task"] };
        let id = handle["taskId"].as_str().unwrap_or_else(|| panic!("no task: {created}")).to_owned();
        Started { client, revision, id, store: Arc::clone(&self.store), created: handle.clone() }
    }
}

/// Calls `tool`, as a task where the revision lets its client say so.
pub(crate) async fn call(client: &Client, revision: Revision, task: Value) -> Value {
    let mut params = Map::from_iter([("name".to_owned(), json!("tool")), ("arguments".to_owned(), json!({}))]);
    if revision != Revision::V2026_07_28 {
        params.insert("task".to_owned(), task);
    }
    client.begin("tools/call", params).await.response().clone()
}

/// These capabilities, and that the client follows tasks.
pub(crate) fn with_tasks(mut capabilities: ClientCapabilities) -> ClientCapabilities {
    capabilities.extensions.get_or_insert_default().insert(extension::NAME.to_owned(), JsonObject::default());
    capabilities
}

/// A task, as its client sees it.
#[derive(Clone)]
pub(crate) struct Started {
    pub(crate) client: Client,
    pub(crate) revision: Revision,
    pub(crate) id: String,
    pub(crate) store: Arc<dyn TaskStore>,
    /// The reply to the call.
    pub(crate) created: Value,
}

impl Started {
    /// The task as another client sees it.
    pub(crate) fn by(&self, client: &Client) -> Self {
        Self { client: client.clone(), ..self.clone() }
    }

    pub(crate) fn task_id(&self) -> TaskId {
        self.id.parse().unwrap()
    }

    /// Sends a request about it, and returns the whole response.
    pub(crate) async fn send(&self, method: &str, mut params: Value) -> Value {
        params["taskId"] = json!(self.id);
        self.client.request(method, params).await.response().clone()
    }

    /// The result of `tasks/get`.
    pub(crate) async fn get(&self) -> Value {
        let got = self.send("tasks/get", json!({})).await;
        assert!(got["result"].is_object(), "{got}");
        got["result"].clone()
    }

    pub(crate) async fn status(&self) -> String {
        self.get().await["status"].as_str().unwrap().to_owned()
    }

    /// The keys of its questions.
    pub(crate) async fn asked(&self) -> Vec<String> {
        keys(&self.requests().await)
    }

    /// Its questions, by their keys.
    pub(crate) async fn requests(&self) -> Value {
        if self.revision == Revision::V2026_07_28 {
            return self.get().await["inputRequests"].clone();
        }
        if self.status().await != "input_required" {
            return Value::Null;
        }
        self.result().await["result"]["inputRequests"].clone()
    }

    /// Sends answers, and returns the response.
    pub(crate) async fn deliver(&self, answers: Value) -> Value {
        let method = if self.revision == Revision::V2026_07_28 { "tasks/update" } else { "tasks/input_response" };
        self.send(method, json!({ "inputResponses": answers })).await
    }

    /// Fills in a form, which must be acknowledged.
    pub(crate) async fn accept(&self, key: &str, content: Value) {
        let said = self.deliver(json!({ key: { "action": "accept", "content": content } })).await;
        assert!(said["result"].is_object(), "{said}");
    }

    pub(crate) async fn cancel(&self) -> Value {
        self.send("tasks/cancel", json!({})).await
    }

    /// The whole response to `tasks/result`.
    pub(crate) async fn result(&self) -> Value {
        within(PATIENCE, self.send("tasks/result", json!({}))).await
    }

    /// Waits until it has this status, and returns what `tasks/get` says then.
    pub(crate) async fn until(&self, status: &str) -> Value {
        self.until_it(status, |task| task["status"] == status).await
    }

    /// Waits until `tasks/get` says this of it.
    pub(crate) async fn until_it(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let waiting = async {
            loop {
                let seen = self.store.cursor().await.unwrap();
                last = self.get().await;
                if is_so(&last) {
                    return last.clone();
                }
                self.store.changed(seen).await.unwrap();
            }
        };
        if let Ok(task) = tokio::time::timeout(PATIENCE, waiting).await {
            return task;
        }
        panic!("it never was {what}, but {last}")
    }

    /// Waits until it asks exactly these.
    pub(crate) async fn until_asked(&self, expected: &[&str]) -> Value {
        let mut last = Value::Null;
        let waiting = async {
            loop {
                let seen = self.store.cursor().await.unwrap();
                last = self.requests().await;
                if keys(&last) == expected {
                    return last.clone();
                }
                self.store.changed(seen).await.unwrap();
            }
        };
        if let Ok(requests) = tokio::time::timeout(PATIENCE, waiting).await {
            return requests;
        }
        panic!("it never asked {expected:?}, but {last}: {}", self.get().await)
    }

    /// Waits until it asks this, whatever else it asks.
    pub(crate) async fn until_it_asks_also(&self, key: &str) -> Value {
        let waiting = async {
            loop {
                let seen = self.store.cursor().await.unwrap();
                let requests = self.requests().await;
                if requests.get(key).is_some() {
                    return requests;
                }
                self.store.changed(seen).await.unwrap();
            }
        };
        within(PATIENCE, waiting).await
    }

    /// Waits until no run has it, and none is due.
    pub(crate) async fn at_rest(&self, site: &Site) {
        let waiting = async {
            loop {
                let seen = self.store.cursor().await.unwrap();
                let views = site.tasks.view(None, 1_000).await.unwrap();
                let view = views.iter().find(|view| view.id == self.task_id()).unwrap();
                if matches!(view.waits_for, WaitsFor::Answers(_) | WaitsFor::Nothing) {
                    return;
                }
                self.store.changed(seen).await.unwrap();
            }
        };
        within(PATIENCE, waiting).await;
    }

    /// Waits for its end, and returns the text of its result.
    pub(crate) async fn text(&self) -> String {
        let result = self.ended().await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}")).to_owned()
    }

    /// Waits for its result.
    pub(crate) async fn ended(&self) -> Value {
        let ended = |task: &Value| !["working", "input_required"].contains(&task["status"].as_str().unwrap());
        let task = self.until_it("over", ended).await;
        if self.revision == Revision::V2026_07_28 {
            task["result"].clone()
        } else {
            self.result().await["result"].clone()
        }
    }
}

/// The names of an object's members, in their order.
pub(crate) fn keys(object: &Value) -> Vec<String> {
    object.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default()
}

pub(crate) fn ann() -> Caller {
    Caller::new("https://id.example.com", "ann")
}

/// Turns a hang into a failure.
pub(crate) async fn within<T>(time: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(time, future).await.expect("it comes to an end")
}

/// A time that is long for a machine, and no time at all for a test whose clock stands.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);
