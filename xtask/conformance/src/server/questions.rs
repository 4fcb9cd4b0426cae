//! Tools that ask before they finish: one input of each standard kind, several at once, and one after another.

use std::convert::Infallible;

use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{JsonObject, Method, NamespacedInput};
use mrtr_server::extend::ShedAbove;
use mrtr_server::extend::{Clock, SystemClock};
use mrtr_server::flow::SamplingTools;
use mrtr_server::{Builder, Failure, Flow, StatePolicy, Tool, ToolError};
use mrtr_state::MemorySingleUse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn offer(builder: Builder) -> Builder {
    let tool = |name: &str| format!("test_input_required_result_{name}");
    // The flow has nothing to carry, so a client may also answer before it is asked.
    let elicitation = Tool::new(tool("elicitation"), elicitation).state_policy(StatePolicy::WhenNeeded);
    builder
        .tool(elicitation.description("Asks a person"))
        .tool(Tool::new(tool("sampling"), sampling).description("Asks a model"))
        .tool(Tool::new(tool("list_roots"), list_roots).description("Asks for roots"))
        .tool(Tool::new(tool("request_state"), confirmed).description("Asks, and has a state carried"))
        .tool(Tool::new(tool("tampered_state"), confirmed).description("Asks, and has a state carried"))
        .tool(Tool::new(tool("multiple_inputs"), multiple_inputs).description("Asks three things at once"))
        .tool(Tool::new(tool("multi_round"), multi_round).description("Asks one thing after another"))
        .tool(Tool::new(tool("capabilities"), capabilities).description("Asks what the client can be asked"))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UserName {
    pub(crate) name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

async fn elicitation(flow: Flow) -> Result<String, Failure> {
    let user: UserName = flow.elicit("user_name", "What is your name?").await?;
    Ok(format!("Hello, {}!", user.name))
}

async fn sampling(flow: Flow) -> Result<String, Failure> {
    let answer = flow.sample("capital_question", capital_of_france()).await?;
    Ok(answer.text().unwrap_or_default())
}

pub(crate) fn capital_of_france() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64)
}

async fn list_roots(flow: Flow) -> Result<String, Failure> {
    let roots = flow.roots("client_roots").await?;
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("{} roots: {}", uris.len(), uris.join(", ")))
}

/// Asks for a confirmation. The tool whose states can be redeemed once runs this too.
pub(crate) async fn confirmed(flow: Flow) -> Result<&'static str, Failure> {
    let Confirmation { ok } = flow.elicit("confirm", "Please confirm").await?;
    // The state of a request counts its rounds: the first request has no state.
    let came_with_state = flow.round() > 1;
    Ok(match (ok, came_with_state) {
        (true, true) => "state-ok",
        (true, false) => "confirmed, but no state came",
        (false, _) => "not confirmed",
    })
}

async fn multiple_inputs(flow: Flow) -> Result<String, Failure> {
    let greeting = CreateMessageParams::new([SamplingMessage::user("Generate a greeting")], 50_u64);
    let (user, greeting, roots) = flow
        .join((
            flow.elicit::<UserName>("user_name", "What is your name?"),
            flow.sample("greeting", greeting),
            flow.roots("client_roots"),
        ))
        .await?;
    Ok(format!("{} {}, you have {} roots", greeting.text().unwrap_or_default(), user.name, roots.len()))
}

async fn multi_round(flow: Flow) -> Result<String, Failure> {
    let user: UserName = flow.elicit("step1", "Step 1: What is your name?").await?;
    let favorite: Color = flow.elicit("step2", "Step 2: What is your favorite color?").await?;
    Ok(format!("{} likes {}", user.name, favorite.color))
}

async fn capabilities(flow: Flow) -> Result<String, Failure> {
    let user = flow.elicit::<UserName>("user_name", "What is your name?").optional();
    let capital = flow.sample("capital_question", capital_of_france()).optional();
    let (user, capital) = flow.join((user, capital)).await?;
    let user = user.map_or("somebody".to_owned(), |user| user.name);
    let capital = capital.and_then(|answer| answer.text()).unwrap_or("nothing".to_owned());
    Ok(format!("{user} answered, and the model said {capital}"))
}

pub(crate) fn offer_inputs(builder: Builder) -> Builder {
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
    // This approver has decided by the time the client comes back. A real server looks the decision up by the
    // interaction's id.
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

pub(crate) fn offer_states(builder: Builder) -> Builder {
    let store = MemorySingleUse::new(SystemClock::default().now());
    let single_use = Tool::new("test_single_use", confirmed).single_use(store);
    builder
        .tool(single_use.description("Asks, and has a state carried that can be redeemed once"))
        .tool(Tool::new("test_state_only", state_only).description("Has a state carried twice, and asks nothing"))
        // More than zero rounds run whenever one does, so each yield point interrupts its flow.
        .shedder(ShedAbove(0))
}

async fn state_only(flow: Flow) -> Result<&'static str, Infallible> {
    let before = flow.resumed_from().unwrap_or(0);
    for page in before + 1..=2 {
        flow.yield_point(&page).await;
    }
    Ok("done after two rounds that only carried a state")
}
