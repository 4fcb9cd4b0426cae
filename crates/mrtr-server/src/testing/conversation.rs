//! One call and its retries.

use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{
    CallToolResult, ContentBlock, ErrorObject, InputRequest, InputRequiredResult, InputResponse, Json, MethodResult,
    Wire, WireObject,
};
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

    /// The next retry fills in a form.
    #[must_use]
    pub fn accept(self, key: &str, content: impl Serialize) -> Self {
        let content = Json::of(&content).and_then(|content| mrtr_schema::JsonObject::from_raw(content.as_raw()));
        let result = ElicitResult::accept(content.expect("a form is an object"));
        self.answer(key, &result)
    }

    /// The next retry agrees to visit a URL.
    #[must_use]
    pub fn consent(self, key: &str) -> Self {
        self.answer(key, &ElicitResult::new(mrtr_schema::elicitation::ElicitAction::Accept))
    }

    /// The next retry says no.
    #[must_use]
    pub fn decline(self, key: &str) -> Self {
        self.answer(key, &ElicitResult::decline())
    }

    /// The next retry says that the person went away.
    #[must_use]
    pub fn cancel(self, key: &str) -> Self {
        self.answer(key, &ElicitResult::cancel())
    }

    /// The next retry brings this answer.
    #[must_use]
    pub fn answer<T: Wire>(self, key: &str, answer: &T) -> Self {
        let answer = InputResponse::of(answer, self.client.context.revision).expect("an answer is an object");
        self.answer_raw(key, serde_json::to_value(&answer).expect("an answer is JSON"))
    }

    /// The next retry brings this, whatever it is.
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

    /// Goes on with another server: the next retry lands there.
    #[must_use]
    pub fn at(mut self, server: &crate::server::Server) -> Self {
        self.client = self.client.at(server);
        self
    }

    /// Goes on as another client.
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

    /// What the server said before its last response.
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
        MethodResult::from_json(&result, self.client.context.revision.strict()).ok()
    }

    /// The error, if it is one.
    pub fn error(&self) -> Option<ErrorObject> {
        let error = self.response.get("error")?.to_string();
        ErrorObject::from_json(&error, self.client.context.revision.strict()).ok()
    }

    /// The keys of what is asked.
    pub fn asked(&self) -> Vec<String> {
        let interim = self.interim();
        interim.iter().flat_map(InputRequiredResult::input_requests).map(|(key, _)| key.to_owned()).collect()
    }

    /// What is asked under a key.
    pub fn question(&self, key: &str) -> Option<InputRequest> {
        let interim = self.interim()?;
        interim.input_requests().find(|(asked, _)| *asked == key).map(|(_, request)| request.clone())
    }

    /// Makes sure that exactly these are asked, in this order.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_asked(&self, keys: &[&str]) {
        assert_eq!(self.asked(), keys, "the reply was {}", self.response);
    }

    /// Makes sure that the call is done and did not fail, and gives its text.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_text(&self) -> String {
        let result = self.result().unwrap_or_else(|| panic!("the reply was {}", self.response));
        assert_ne!(result.is_error, Some(true), "the reply was {}", self.response);
        text(&result)
    }

    /// Makes sure that the request is done, and gives its result.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_result<R: WireObject>(&self) -> R {
        self.result_as().unwrap_or_else(|| panic!("the reply was {}", self.response))
    }

    /// Makes sure that the tool failed, and gives its text.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_tool_error(&self) -> String {
        let result = self.result().unwrap_or_else(|| panic!("the reply was {}", self.response));
        assert_eq!(result.is_error, Some(true), "the reply was {}", self.response);
        text(&result)
    }

    /// Makes sure that the reply is an error, and gives it.
    ///
    /// # Panics
    ///
    /// If the last reply is another.
    #[track_caller]
    pub fn expect_error(&self) -> ErrorObject {
        self.error().unwrap_or_else(|| panic!("the reply was {}", self.response))
    }
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
