//! A client of the legacy era, in memory.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use mrtr_server::transport::{HeaderClaim, LegacyReply, ListenError, Received, SessionEvent, SessionStream};
use mrtr_server::{Caller, Context, Server};
use serde_json::{Value, json};

/// A client with a session.
pub(crate) struct Legacy {
    pub(crate) server: Server,
    pub(crate) caller: Option<Caller>,
    pub(crate) session: String,
    /// The server's answer to `initialize`.
    pub(crate) opened: Value,
    ids: AtomicI64,
}

/// A client that can be asked everything.
pub(crate) fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {}, "context": {} }, "roots": {} })
}

/// Sends one message, with these claims of a transport.
pub(crate) async fn send(
    server: &Server,
    caller: Option<&Caller>,
    session: Option<&str>,
    version: HeaderClaim<'_>,
    message: &Value,
) -> LegacyReply {
    let context = Context::new().caller(caller.cloned());
    match Box::pin(server.receive(message.to_string().into(), context)).await {
        Received::Reply(reply) => LegacyReply::Modern(reply),
        Received::Legacy(message) => message.answer(session, &version).await,
    }
}

pub(crate) fn initialize(version: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": "editor", "version": "1.0.0" });
    let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

impl Legacy {
    /// Begins a session as a client that can be asked everything.
    pub(crate) async fn open(server: &Server, version: &str) -> Self {
        Self::declaring(server, version, &everything()).await
    }

    pub(crate) async fn declaring(server: &Server, version: &str, capabilities: &Value) -> Self {
        Self::calling_as(server, version, capabilities, None).await.expect("a session")
    }

    pub(crate) async fn calling_as(
        server: &Server,
        version: &str,
        capabilities: &Value,
        caller: Option<Caller>,
    ) -> Option<Self> {
        let message = initialize(version, capabilities);
        let reply = send(server, caller.as_ref(), None, HeaderClaim::Missing, &message).await;
        let LegacyReply::Opened { body, session } = reply else { return None };
        let opened = serde_json::from_str::<Value>(&body).unwrap()["result"].clone();
        let (session, server) = (session.as_str().to_owned(), server.clone());
        Some(Self { server, caller, session, opened, ids: AtomicI64::new(1) })
    }

    pub(crate) async fn send(&self, message: &Value) -> LegacyReply {
        send(&self.server, self.caller.as_ref(), Some(&self.session), HeaderClaim::Missing, message).await
    }

    /// A request that is answered by one message.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        match self.send(&message).await {
            LegacyReply::Message { body, .. } => serde_json::from_str(&body).unwrap(),
            reply => panic!("no message, but {reply:?}"),
        }
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> OpenCall {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub(crate) async fn begin(&self, method: &str, params: Value) -> OpenCall {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut call = OpenCall { id, events: None, single: None, last_event: None, ended: false };
        match within("a reply", self.send(&message)).await {
            LegacyReply::Message { body, .. } => call.single = Some(serde_json::from_str(&body).unwrap()),
            LegacyReply::Events(events) => call.events = Some(events),
            LegacyReply::Accepted => call.ended = true,
            reply => panic!("no reply to a call: {reply:?}"),
        }
        call
    }

    /// Answers a question with a result.
    pub(crate) async fn answer(&self, question: &Value, result: Value) {
        self.respond(&question["id"], "result", result).await;
    }

    /// Fills in a form.
    pub(crate) async fn accept(&self, question: &Value, content: Value) {
        self.answer(question, json!({ "action": "accept", "content": content })).await;
    }

    /// Answers a question with an error.
    pub(crate) async fn fail(&self, question: &Value, code: i64, message: &str) {
        self.respond(&question["id"], "error", json!({ "code": code, "message": message })).await;
    }

    pub(crate) async fn respond(&self, id: &Value, member: &str, value: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message[member] = value;
        assert!(matches!(self.send(&message).await, LegacyReply::Accepted));
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        assert!(matches!(self.send(&message).await, LegacyReply::Accepted));
    }

    pub(crate) async fn cancel(&self, request: i64) {
        self.notify("notifications/cancelled", json!({ "requestId": request })).await;
    }

    pub(crate) fn listen(&self, last_event: Option<&str>) -> Result<SessionStream, ListenError> {
        let context = Context::new().caller(self.caller.clone());
        self.server.sessions().listen(&self.session, &context, &HeaderClaim::Missing, last_event)
    }

    /// Resumes the stream of a call after the last event that came.
    pub(crate) fn resume(&self, call: &mut OpenCall) {
        call.events = Some(self.listen(call.last_event.as_deref()).unwrap());
    }

    pub(crate) fn end(&self) -> bool {
        self.server.sessions().end(&self.session, &Context::new().caller(self.caller.clone()))
    }
}

/// A call that was sent.
pub(crate) struct OpenCall {
    pub(crate) id: i64,
    events: Option<SessionStream>,
    single: Option<Value>,
    pub(crate) last_event: Option<String>,
    ended: bool,
}

impl OpenCall {
    /// The next event, whatever it is.
    pub(crate) async fn event(&mut self) -> Option<SessionEvent> {
        let event = within("an event", self.events.as_mut()?.next()).await?;
        self.last_event = Some(event.id.clone());
        Some(event)
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        if let Some(single) = self.single.take() {
            return Some(single);
        }
        loop {
            let event = self.event().await?;
            if let Some(message) = event.message {
                return Some(serde_json::from_str(&message).unwrap());
            }
        }
    }

    /// The next question.
    pub(crate) async fn question(&mut self) -> Value {
        let message = self.next().await.expect("a question");
        assert!(message["id"].is_i64() && message["method"].is_string(), "no question: {message}");
        message
    }

    /// Returns true if it came as one message.
    pub(crate) fn is_single(&self) -> bool {
        self.single.is_some()
    }

    /// Loses the connection.
    pub(crate) fn disconnect(&mut self) {
        self.events = None;
    }

    /// The response, and nothing before it.
    pub(crate) async fn response(&mut self) -> Value {
        let message = self.next().await.expect("a response");
        assert_eq!(message["id"], self.id, "no response: {message}");
        assert!(message.get("method").is_none(), "no response: {message}");
        assert_eq!(self.next().await, None, "nothing comes after the response");
        message
    }

    /// The text of the result.
    pub(crate) async fn text(&mut self) -> String {
        let response = self.response().await;
        text(&response)
    }

    /// The text of the result, which is an error.
    pub(crate) async fn error_text(&mut self) -> String {
        let response = self.response().await;
        assert_eq!(response["result"]["isError"], true, "{response}");
        text(&response)
    }
}

pub(crate) fn text(response: &Value) -> String {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {response}")).to_owned()
}

/// Waits for something that comes at once, or fails: a test must not hang.
pub(crate) async fn within<F: Future>(what: &str, waiting: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("this never came: {what}"))
}

/// Lets every other task run until it waits for something: there is one thread, and each turn goes to all tasks.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Waits until a condition holds, or fails.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    within(what, waiting).await;
}
