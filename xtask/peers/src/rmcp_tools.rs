//! The tools of rmcp's server.

#![expect(deprecated, reason = "rmcp discourages sampling and roots, which the matrix has all the same")]

use std::time::Duration;

use rmcp::handler::server::tool::{InputResponses, RequestState};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CreateMessageRequest,
    CreateMessageRequestParams, CreateMessageResult, CreateTaskResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, InputRequest, InputRequiredResult, ListRootsRequest, ListRootsResult,
    SamplingMessage, SealOptions,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::closed;
use crate::conversation::{CAPITAL, CAPITAL_TOKENS, CONNECT, CONNECT_URL, ECHO, LOGIN, WHO};
use crate::rmcp_server::Server;
use crate::rmcp_server::{accepted, ask, form, text_field};
use crate::rmcp_tracker::{invalid, original_form, resolution_form, text};
use mrtr_fixtures::work_item::{HOW, Resolution, WHICH, closed_as_duplicate};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item_id: u64,
    fields: Map<String, Value>,
}

/// The answer that the server waits for, and the answers before it.
#[derive(Serialize, Deserialize)]
enum Awaiting {
    Resolution,
    Original { resolution: Resolution },
}

#[derive(Deserialize, JsonSchema)]
struct Deploy {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

#[tool_router(vis = "pub(crate)")]
impl Server {
    #[tool(description = "Greets a person")]
    async fn greet(&self, InputResponses(answers): InputResponses) -> Result<CallToolResponse, ErrorData> {
        let Some(answer) = answers.and_then(|mut answers| answers.remove("name")) else {
            return Ok(ask([("name", form(WHO, text_field("name")))], None).into());
        };
        let result: ElicitResult = serde_json::from_value(answer.clone()).map_err(invalid)?;
        match result.action {
            ElicitationAction::Decline => Ok(without_answer("declined")),
            ElicitationAction::Cancel => Ok(without_answer("cancelled")),
            _ => Ok(text(format!("Hello, {}", accepted::<String>(answer, "name")?))),
        }
    }

    #[tool(description = "Updates a work item")]
    async fn update_work_item(
        &self,
        Parameters(Update { work_item_id, fields }): Parameters<Update>,
        RequestState(state): RequestState,
        InputResponses(answers): InputResponses,
    ) -> Result<CallToolResponse, ErrorData> {
        let context = format!("tools/call:update_work_item:{work_item_id}");
        let Some(state) = state else {
            let state = self.seal(&Awaiting::Resolution, &context)?;
            return Ok(ask([("resolution", form(HOW, resolution_form()))], Some(state)).into());
        };
        let mut answers = answers.unwrap_or_default();
        match self.open(&state, &context)? {
            Awaiting::Resolution => {
                let answer = answers.remove("resolution").unwrap_or_default();
                let resolution = accepted(answer, "resolution")?;
                if resolution != Resolution::Duplicate {
                    return Ok(text(closed(work_item_id, fields.len())));
                }
                let state = self.seal(&Awaiting::Original { resolution }, &context)?;
                Ok(ask([("duplicate_of", form(WHICH, original_form()))], Some(state)).into())
            }
            Awaiting::Original { resolution: Resolution::Duplicate } => {
                let answer = answers.remove("duplicate_of").unwrap_or_default();
                let original = accepted(answer, "duplicateOfId")?;
                eprintln!("effect: link");
                Ok(text(closed_as_duplicate(work_item_id, original)))
            }
            Awaiting::Original { .. } => Err(invalid("only a duplicate has an original")),
        }
    }

    #[tool(description = "Asks a person, a model and a client at once")]
    async fn mixed(&self, InputResponses(answers): InputResponses) -> Result<CallToolResponse, ErrorData> {
        let Some(mut answers) = answers else {
            let sample =
                CreateMessageRequestParams::new(vec![SamplingMessage::user_text(CAPITAL)], CAPITAL_TOKENS.into());
            let questions = [
                ("login", form(LOGIN, text_field("name"))),
                ("capital", InputRequest::CreateMessage(CreateMessageRequest::new(sample))),
                ("roots", InputRequest::ListRoots(ListRootsRequest::default())),
            ];
            return Ok(ask(questions, None).into());
        };
        let mut answer = |key| answers.remove(key).unwrap_or_default();
        let login: String = accepted(answer("login"), "name")?;
        let capital: CreateMessageResult = serde_json::from_value(answer("capital")).map_err(invalid)?;
        let capital = capital.message.content.first().and_then(|content| content.as_text());
        let capital = capital.ok_or_else(|| invalid("the model says nothing"))?;
        let roots: ListRootsResult = serde_json::from_value(answer("roots")).map_err(invalid)?;
        let root = roots.roots.first().ok_or_else(|| invalid("there is no root"))?;
        Ok(text(format!("{login}, {}, {}", capital.text, root.uri)))
    }

    #[tool(description = "Sheds load: does half of it, and the rest when it is called again")]
    async fn shed(&self, RequestState(state): RequestState) -> Result<CallToolResponse, ErrorData> {
        let Some(state) = state else {
            return Ok(InputRequiredResult::from_request_state(self.seal(&50, SHED)?).into());
        };
        let percent: u8 = self.open(&state, SHED)?;
        Ok(text(format!("Carried on from {percent} percent")))
    }

    #[tool(description = "Connects an account")]
    async fn connect(&self, InputResponses(answers): InputResponses) -> Result<CallToolResponse, ErrorData> {
        let Some(answer) = answers.and_then(|mut answers| answers.remove("connect")) else {
            let visit = ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
                meta: None,
                message: CONNECT.to_owned(),
                url: CONNECT_URL.to_owned(),
                elicitation_id: "connect".to_owned(),
            });
            return Ok(ask([("connect", InputRequest::Elicitation(visit))], None).into());
        };
        let result: ElicitResult = serde_json::from_value(answer).map_err(invalid)?;
        match result.action {
            ElicitationAction::Accept => Ok(text("Connected".to_owned())),
            _ => Err(invalid("the person did not go there")),
        }
    }

    #[tool(description = "Deploys to a region")]
    async fn deploy(&self, Parameters(Deploy { region }): Parameters<Deploy>) -> String {
        format!("Deployed to {region}")
    }

    #[tool(description = "Echoes what a person says, in a task")]
    async fn echo_task(&self, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        if !context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks()) {
            let tasks = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(tasks));
        }
        let task = self.tasks.spawn(TaskOptions::new().with_poll_interval_ms(50), |task| Box::pin(echo(task)));
        Ok(CreateTaskResult::new(task).into())
    }

    fn seal<T: Serialize>(&self, value: &T, context: &str) -> Result<String, ErrorData> {
        let options = SealOptions::new().associated_data(context.as_bytes()).ttl(LIFETIME);
        self.codec.seal_json_with(value, &options).map_err(invalid)
    }

    fn open<T: DeserializeOwned>(&self, state: &str, context: &str) -> Result<T, ErrorData> {
        self.codec.open_json_with(state, context.as_bytes()).map_err(invalid)
    }
}

async fn echo(task: TaskContext) -> Result<CallToolResult, TaskExit> {
    let answer = task.request_input("echo_input", form(ECHO, text_field("text"))).await?;
    let text: String = accepted(answer, "text")?;
    Ok(CallToolResult::success(vec![ContentBlock::text(format!("Echo: {text}"))]))
}

fn without_answer(action: &str) -> CallToolResponse {
    eprintln!("effect: {action}");
    CallToolResult::error(vec![ContentBlock::text(format!("The person {action}"))]).into()
}

const SHED: &str = "tools/call:shed";
const LIFETIME: Duration = Duration::from_mins(5);
