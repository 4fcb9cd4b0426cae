//! A client of rmcp's with a person at it, who answers what is asked, in the order of a script.

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Person {
    capabilities: ClientCapabilities,
    /// The answers by the message that asks. A question without an entry is declined, and one with `null` never gets an
    /// answer.
    answers: Vec<(&'static str, Value)>,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    pub(crate) heard: Arc<watch::Sender<Vec<String>>>,
    /// The number of questions whose answer the server did not wait for.
    pub(crate) withdrawn: Arc<watch::Sender<u32>>,
}

impl Person {
    pub(crate) fn answering(answers: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let capabilities = json!({ "elicitation": { "form": {}, "url": {} },
            "extensions": { "io.modelcontextprotocol/tasks": {} } });
        Self {
            capabilities: serde_json::from_value(capabilities).expect("they are capabilities"),
            answers: answers.into_iter().collect(),
            asked: Arc::default(),
            heard: Arc::new(watch::Sender::new(Vec::new())),
            withdrawn: Arc::default(),
        }
    }

    /// A person who cannot be asked.
    pub(crate) fn without_forms() -> Self {
        Self { capabilities: ClientCapabilities::default(), ..Self::answering([]) }
    }

    pub(crate) fn without_tasks(mut self) -> Self {
        self.capabilities.extensions = None;
        self
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics with it").clone()
    }

    /// Waits until this many notifications were heard.
    pub(crate) async fn has_heard(&self, most: usize) -> Vec<String> {
        let mut heard = self.heard.subscribe();
        let heard = heard.wait_for(|heard| heard.len() >= most);
        tokio::time::timeout(super::sites::PATIENCE, heard).await.expect("it is heard").expect("it is told").clone()
    }

    fn hear(&self, what: String) {
        self.heard.send_modify(|heard| heard.push(what));
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.capabilities.clone(), Implementation::new("person", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (ElicitRequestParams::FormElicitationParams { message, .. }
        | ElicitRequestParams::UrlElicitationParams { message, .. }) = request
        else {
            panic!("there are two modes")
        };
        self.asked.lock().expect("no test panics with it").push(message.clone());
        match self.answers.iter().find(|(question, _)| *question == message) {
            Some((_, Value::Null)) => {
                context.ct.cancelled().await;
                self.withdrawn.send_modify(|count| *count += 1);
                Ok(ElicitResult::new(ElicitationAction::Cancel))
            }
            Some((_, answer)) => Ok(ElicitResult::new(ElicitationAction::Accept).with_content(answer.clone())),
            None => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }

    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(format!("progress {}", said.progress));
    }

    #[expect(deprecated, reason = "servers log all the same")]
    async fn on_logging_message(
        &self,
        said: rmcp::model::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hear(format!("log {}", said.data));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear("tools".to_owned());
    }
}

/// A call, as rmcp has it.
pub(crate) fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

/// The text of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.clone()));
    texts.collect::<Vec<_>>().join("\n")
}
