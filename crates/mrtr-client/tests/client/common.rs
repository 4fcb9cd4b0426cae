//! The parts that the tests share: a server in memory, a server that is a function, and replies to choose from.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use mrtr_client::testing::Script;
use mrtr_client::{
    Client, ServerMessage, ServerNotification, Transport, TransportError, TransportRequest, TransportResponse,
};
use mrtr_schema::{CallToolResult, ContentBlock, Envelope, Json, RequestId};
use mrtr_server::testing::everything;
use mrtr_server::transport::{HeaderClaim, Headers};
use mrtr_server::{Context, Failure, Flow, Reply, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// A server in the same process. Dropping an exchange drops what the server does for it.
#[derive(Debug, Clone)]
pub(crate) struct InMemory {
    server: Server,
    sent: Arc<Mutex<Vec<Value>>>,
}

impl InMemory {
    pub(crate) fn new(server: Server) -> Self {
        Self { server, sent: Arc::default() }
    }

    /// The messages that were sent, oldest first.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.sent.lock().unwrap().clone()
    }
}

#[async_trait]
impl Transport for InMemory {
    fn server(&self) -> &'static str {
        "in memory"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        notified: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        self.sent.lock().unwrap().push(serde_json::from_str(request.message).unwrap());
        let headers = Headers {
            version: HeaderClaim::Text(request.revision.as_str().into()),
            method: HeaderClaim::Text(request.method.into()),
            name: request.name.map_or(HeaderClaim::Missing, |name| HeaderClaim::Text(name.into())),
            params: Vec::new(),
        };
        let context = Context::new().revision(request.revision).capabilities(everything()).headers(headers);
        match Box::pin(self.server.handle(request.message.to_owned().into(), context)).await {
            Reply::Message { body, .. } => Ok(TransportResponse::new(body)),
            Reply::Stream(mut messages) => loop {
                let message = messages.next().await.ok_or_else(|| TransportError::new("it broke off"))?;
                match notification(&message) {
                    Some(notification) => notified(ServerMessage::Notification(notification)),
                    None => return Ok(TransportResponse::new(message)),
                }
            },
            _ => Err(TransportError::new("nothing was answered")),
        }
    }
}

fn notification(message: &str) -> Option<ServerNotification> {
    let Ok(Envelope::Notification { method, .. }) = Envelope::parse(message.as_bytes()) else { return None };
    let message: Value = serde_json::from_str(message).unwrap();
    Some(ServerNotification { method: method.into_owned(), params: Json::from(message["params"].clone()) })
}

/// A server that is a function of the request and its id.
pub(crate) struct Function<F>(pub(crate) F);

/// A server whose replies are all results.
pub(crate) fn results(
    result: impl Fn(&Value) -> Value + Send + Sync + 'static,
) -> Function<impl Fn(&Value, &RequestId) -> String + Send + Sync + 'static> {
    Function(move |request: &Value, id: &RequestId| {
        json!({ "jsonrpc": "2.0", "id": id, "result": result(request) }).to_string()
    })
}

impl<F> std::fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Function")
    }
}

#[async_trait]
impl<F: Fn(&Value, &RequestId) -> String + Send + Sync + 'static> Transport for Function<F> {
    fn server(&self) -> &'static str {
        "a function"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        Ok(TransportResponse::new((self.0)(&serde_json::from_str(request.message).unwrap(), request.id)))
    }
}

/// The messages that were sent to a script.
pub(crate) fn sent(script: &Script) -> Vec<Value> {
    script.sent().iter().map(|message| message.to().unwrap()).collect()
}

/// The method and the parameters of the messages that were sent to a script, without the metadata that the client adds.
pub(crate) fn calls(script: &Script) -> Vec<(String, Value)> {
    let call = |mut message: Value| {
        let mut params = message["params"].take();
        remove_ours(&mut params);
        (message["method"].as_str().unwrap().to_owned(), params)
    };
    sent(script).into_iter().map(call).collect()
}

/// Takes out of the metadata what every client says of itself. What the caller said stays, and the tests compare it.
pub(crate) fn remove_ours(params: &mut Value) {
    const OURS: [&str; 3] = ["protocolVersion", "clientInfo", "clientCapabilities"];
    let Some(params) = params.as_object_mut() else { return };
    let Some(meta) = params.get_mut("_meta").and_then(Value::as_object_mut) else { return };
    meta.retain(|key, _| !OURS.iter().any(|ours| *key == format!("io.modelcontextprotocol/{ours}")));
    if meta.is_empty() {
        params.remove("_meta");
    }
}

pub(crate) fn complete(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

/// An interim result that asks for roots under a key, with a state if there is one.
pub(crate) fn asks_roots(key: &str, state: Option<&str>) -> Value {
    let mut interim = json!({ "resultType": "input_required", "inputRequests": { key: { "method": "roots/list" } } });
    if let Some(state) = state {
        interim["requestState"] = state.into();
    }
    interim
}

/// An interim result that asks for a form under a key.
pub(crate) fn asks_form(key: &str, form: &Value) -> Value {
    let params = json!({ "message": "Please fill in", "requestedSchema": form });
    json!({ "resultType": "input_required", "requestState": "sealed",
        "inputRequests": { key: { "method": "elicitation/create", "params": params } } })
}

pub(crate) fn state_only(state: &str) -> Value {
    json!({ "resultType": "input_required", "requestState": state })
}

/// A client that answers every question for roots with none.
pub(crate) fn rooted(transport: impl Transport) -> Client {
    Client::builder(transport).on_roots(|_| async { Ok::<_, String>(Vec::new()) }).build()
}

pub(crate) fn text(result: &CallToolResult) -> String {
    let Some(ContentBlock::Text(content)) = result.content.first() else { panic!("not a text: {result:?}") };
    content.text.clone()
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Login {
    pub(crate) name: String,
}

async fn greet(flow: Flow) -> Result<String, Failure> {
    let login: Login = flow.elicit("login", "Who are you?").await?;
    Ok(format!("Hello, {}", login.name))
}

/// A server with a tool that asks for a name.
pub(crate) fn greeter() -> Server {
    Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap()
}

/// Runs this on a thread of its own, and fails if it takes so long that it must be endless or quadratic.
pub(crate) fn within_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    result.recv_timeout(Duration::from_mins(1)).expect("it takes far too long, or has panicked")
}
