//! Inputs beyond plain forms: a URL to visit, an application's own kind, and a model that calls tools.

use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{JsonObject, Method, NamespacedInput};
use mrtr_server::flow::SamplingTools;
use mrtr_server::{Builder, Failure, Flow, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn offer(builder: Builder) -> Builder {
    builder
        .tool(Tool::new("test_url_elicitation", url).description("Asks a person to visit a page"))
        .tool(Tool::new("test_namespaced_input", approval).description("Waits until somebody else has approved"))
        .tool(Tool::new("test_sampling_with_tools", weather).description("Asks a model that may call a tool"))
        .input_by_url::<Approval>(|pending, id| {
            let message = format!("{} must approve: {}", pending.approver, pending.action);
            (message, format!("https://example.com/approvals/{id}"))
        })
}

async fn url(flow: Flow) -> Result<&'static str, Failure> {
    let page = format!("https://example.com/connect?id={}", flow.interaction_id("connect"));
    flow.elicit_url("connect", "Please connect your account", page).await?;
    Ok("The person went to connect their account")
}

/// Approval by a person other than the caller.
struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    approver: String,
    action: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Decision {
    approved: bool,
}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Decision;
}

async fn approval(flow: Flow) -> Result<&'static str, Failure> {
    let pending = Pending { approver: "Ada".to_owned(), action: "deploy".to_owned() };
    // This approver has decided by the time the client comes back. A real one is looked up by the interaction's id.
    let decided = async || (flow.round() > 1).then_some(Decision { approved: true });
    let Decision { approved } = flow.ask::<Approval>("sign_off", pending).until(decided).await?;
    Ok(if approved { "deployed" } else { "not deployed" })
}

async fn weather(flow: Flow) -> Result<String, Failure> {
    let schema = InputSchema::parse(r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#)?;
    let tools = SamplingTools::new().tool(mrtr_schema::Tool::new("get_weather", schema), forecast);
    let question = CreateMessageParams::new([SamplingMessage::user("What is the weather in Paris?")], 100_u64);
    let answer = flow.sample_with_tools("weather", question, &tools).await?;
    Ok(answer.text().unwrap_or_default())
}

async fn forecast(arguments: JsonObject) -> Result<mrtr_server::flow::ToolOutput, Failure> {
    let city = arguments.get("city").ok_or(ToolError::new("Which city?"))?;
    Ok(format!("It is sunny in {}", city.as_text().unwrap_or_default()).into())
}
