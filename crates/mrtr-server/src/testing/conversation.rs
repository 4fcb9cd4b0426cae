//! One call and its retries.

use std::sync::Arc;

use mrtr_flow::{Journal, RunContext};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{
    CallToolResult, ContentBlock, ErrorObject, InputRequest, InputRequiredResult, InputResponse, Json, MethodResult,
    RawMembers, RequestState, Wire, WireObject,
};
use mrtr_state::Binding;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Client;

/// A call, the last reply to it, and the answers that the next retry will bring.
///
/// ```
/// use mrtr_schema::prompts::GetPromptResult;
/// use mrtr_server::testing::Client;
/// use mrtr_server::{Failure, Flow, Prompt, Server};
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Topic { topic: String }
///
/// async fn explain(flow: Flow) -> Result<String, Failure> {
///     let Topic { topic } = flow.elicit("topic", "What shall be explained?").await?;
///     Ok(format!("Please explain {topic}"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("teacher", "1.0.0").prompt(Prompt::new("explain", explain)).build().unwrap();
/// let asked = Client::new(&server).get_prompt("explain", json!({})).await;
/// asked.expect_asked(&["topic"]);
/// let got = asked.accept("topic", json!({ "topic": "gravity" })).send().await;
/// assert_eq!(got.expect_result::<GetPromptResult>().messages.len(), 1);
/// # }
/// ```
///
/// The caller of a call that failed gets a reference, and a test gets the reason:
///
/// ```
/// # use mrtr_server::testing::Client;
/// # use mrtr_server::{Failure, Flow, Server, Tool};
/// # use serde_json::json;
/// async fn parse(_: Flow) -> Result<String, Failure> {
///     Ok("seven".parse::<u8>()?.to_string())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("parser", "1.0.0").tool(Tool::new("parse", parse)).build().unwrap();
/// let failed = Client::new(&server).call_tool("parse", json!({})).await;
/// assert!(failed.expect_tool_error().starts_with("The tool failed (reference "));
/// assert_eq!(failed.cause().as_deref(), Some("invalid digit found in string"));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Conversation {
    client: Client,
    method: String,
    params: Map<String, Value>,
    answers: Map<String, Value>,
    response: Value,
    notifications: Vec<Value>,
    sent: u64,
}

impl Conversation {
    pub(super) async fn begin(client: Client, method: String, params: Map<String, Value>) -> Self {
        let (answers, response, notifications) = (Map::new(), Value::Null, Vec::new());
        let mut begun = Self { client, method, params, answers, response, notifications, sent: 0 };
        begun.exchange().await;
        begun
    }

    async fn exchange(&mut self) {
        self.sent += 1;
        self.notifications = self.client.send(self.sent, &self.method, self.params.clone()).await;
        self.response = self.notifications.pop().expect("a request is answered");
    }

    /// Fills in a form in the next retry.
    #[must_use]
    pub fn accept(self, key: &str, content: impl Serialize) -> Self {
        let content = Json::of(&content).and_then(|content| mrtr_schema::JsonObject::from_raw(content.as_raw()));
        let result = ElicitResult::accept(content.expect("a form is an object"));
        self.answer(key, &result)
    }

    /// Agrees to visit a URL in the next retry.
    #[must_use]
    pub fn consent(self, key: &str) -> Self {
        self.answer(key, &ElicitResult::new(mrtr_schema::elicitation::ElicitAction::Accept))
    }

    /// Says no in the next retry.
    #[must_use]
    pub fn decline(self, key: &str) -> Self {
        self.answer(key, &ElicitResult::decline())
    }

    /// Says in the next retry that the person went away.
    #[must_use]
    pub fn cancel(self, key: &str) -> Self {
        self.answer(key, &ElicitResult::cancel())
    }

    /// Adds this answer to the next retry.
    #[must_use]
    pub fn answer<T: Wire>(self, key: &str, answer: &T) -> Self {
        let answer = InputResponse::of(answer, self.client.context.caller.revision).expect("an answer is an object");
        self.answer_raw(key, serde_json::to_value(&answer).expect("an answer is JSON"))
    }

    /// Adds this value as an answer to the next retry, whatever it is.
    #[must_use]
    pub fn answer_raw(mut self, key: &str, answer: Value) -> Self {
        self.answers.insert(key.to_owned(), answer);
        self
    }

    /// Retries, with the answers and the state of the last reply.
    pub async fn send(mut self) -> Self {
        let state = self.state().map(str::to_owned);
        self.send_with_state(state.as_deref()).await;
        self
    }

    /// Retries with another state, or none: as a client that forgets, or a hostile one.
    #[must_use = "this is the conversation after the retry"]
    pub async fn send_carrying(mut self, state: Option<&str>) -> Self {
        self.send_with_state(state).await;
        self
    }

    async fn send_with_state(&mut self, state: Option<&str>) {
        self.params.remove("inputResponses");
        self.params.remove("requestState");
        let answers = std::mem::take(&mut self.answers);
        if !answers.is_empty() {
            self.params.insert("inputResponses".to_owned(), answers.into());
        }
        if let Some(state) = state {
            self.params.insert("requestState".to_owned(), state.into());
        }
        self.exchange().await;
    }

    /// Sends the next retries to another server.
    #[must_use]
    pub fn at(mut self, server: &crate::server::Server) -> Self {
        self.client = self.client.at(server);
        self
    }

    /// Sends the next retries as another client.
    #[must_use]
    pub fn as_client(mut self, client: &Client) -> Self {
        self.client = client.clone();
        self
    }

    /// Changes the parameters of the next retry.
    #[must_use]
    pub fn with_params(mut self, change: impl FnOnce(&mut Map<String, Value>)) -> Self {
        change(&mut self.params);
        self
    }

    /// The whole response.
    pub fn response(&self) -> &Value {
        &self.response
    }

    /// The notifications that the server sent before its last response.
    pub fn notifications(&self) -> &[Value] {
        &self.notifications
    }

    /// The state that the last reply carries.
    pub fn state(&self) -> Option<&str> {
        self.response.get("result")?.get("requestState")?.as_str()
    }

    /// The interim result, if it is one.
    pub fn interim(&self) -> Option<InputRequiredResult> {
        match self.reply::<CallToolResult>()? {
            MethodResult::InputRequired(interim) => Some(interim),
            _ => None,
        }
    }

    /// The complete result, if it is one.
    pub fn result(&self) -> Option<CallToolResult> {
        self.result_as()
    }

    /// The complete result of any method, if it is one.
    pub fn result_as<R: WireObject>(&self) -> Option<R> {
        match self.reply()? {
            MethodResult::Complete(result) => Some(result),
            _ => None,
        }
    }

    fn reply<R: WireObject>(&self) -> Option<MethodResult<R>> {
        let result = self.response.get("result")?.to_string();
        MethodResult::from_json(&result, self.client.context.caller.revision.strict()).ok()
    }

    /// The error, if it is one.
    pub fn error(&self) -> Option<ErrorObject> {
        let error = self.response.get("error")?.to_string();
        ErrorObject::from_json(&error, self.client.context.caller.revision.strict()).ok()
    }

    /// The keys of the questions.
    pub fn asked(&self) -> Vec<String> {
        let interim = self.interim();
        interim.iter().flat_map(InputRequiredResult::input_requests).map(|(key, _)| key.to_owned()).collect()
    }

    /// Returns the question that the last reply asks under a key.
    pub fn question(&self, key: &str) -> Option<InputRequest> {
        let interim = self.interim()?;
        interim.input_requests().find(|(asked, _)| *asked == key).map(|(_, request)| request.clone())
    }

    /// The URL that a question sends the user to, if it is one by URL.
    ///
    /// ```
    /// # use mrtr_server::testing::Client;
    /// # use mrtr_server::{Failure, Flow, Server, Tool};
    /// # use serde_json::json;
    /// async fn connect(flow: Flow) -> Result<String, Failure> {
    ///     let url = format!("https://example.com/connect?id={}", flow.interaction_id("connect"));
    ///     flow.elicit_url("connect", "Please connect your account", url).await?;
    ///     Ok("connected".into())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = Server::builder("accounts", "1.0.0").tool(Tool::new("connect", connect)).build().unwrap();
    /// let call = Client::new(&server).call_tool("connect", json!({})).await;
    /// let id = call.interaction_id("connect").unwrap();
    /// assert_eq!(call.url("connect"), Some(format!("https://example.com/connect?id={id}")));
    /// # }
    /// ```
    pub fn url(&self, key: &str) -> Option<String> {
        let request = serde_json::to_value(self.question(key)?).ok()?;
        request["params"]["url"].as_str().map(str::to_owned)
    }

    /// The id that [`Flow::interaction_id`](crate::Flow::interaction_id) gives for a name in this flow, if the last
    /// reply carries a state. A name in a scope is another one, which this does not find.
    pub fn interaction_id(&self, name: &str) -> Option<String> {
        let revision = self.client.context.caller.revision;
        let state = RequestState::new(self.state()?);
        let params = serde_json::to_string(&self.params).ok()?;
        let params = RawMembers::parse(&params).ok()?;
        let binding = Binding::new(revision, &self.method, &params).ok()?;
        let binding = self.client.context.caller.identity.bind(binding);
        let shared = &self.client.server.parts().shared;
        let opened = shared.sealer.open::<Journal>(&state, &binding, shared.clock.now()).ok()?;
        let capabilities = Arc::new(self.client.capabilities.clone());
        let context = RunContext::new(Arc::clone(&shared.environment), revision, opened.progress(), capabilities);
        Some(context.interaction_id("", name))
    }

    /// The reason why the call failed, if its caller got a reference: the log has it under that reference.
    pub fn cause(&self) -> Option<String> {
        self.client.server.parts().shared.causes.named_in(&self.response.to_string())
    }

    /// Describes the last reply, and the cause of a failure, for a test that expected another reply.
    fn seen(&self) -> String {
        match self.cause() {
            Some(cause) => format!("the reply was {}\nbecause {cause}", self.response),
            None => format!("the reply was {}", self.response),
        }
    }

    /// Asserts that exactly these questions are asked, in this order.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_asked(&self, keys: &[&str]) {
        assert_eq!(self.asked(), keys, "{}", self.seen());
    }

    /// Asserts that the call is done and did not fail, and returns its text.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_text(&self) -> String {
        let result = self.result().unwrap_or_else(|| panic!("{}", self.seen()));
        assert_ne!(result.is_error, Some(true), "{}", self.seen());
        text(&result)
    }

    /// Asserts that the request is done, and returns its result.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_result<R: WireObject>(&self) -> R {
        self.result_as().unwrap_or_else(|| panic!("{}", self.seen()))
    }

    /// Asserts that the tool failed, and returns its text.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_tool_error(&self) -> String {
        let result = self.result().unwrap_or_else(|| panic!("{}", self.seen()));
        assert_eq!(result.is_error, Some(true), "{}", self.seen());
        text(&result)
    }

    /// Asserts that the reply is an error, and returns it.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_error(&self) -> ErrorObject {
        self.error().unwrap_or_else(|| panic!("{}", self.seen()))
    }
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
