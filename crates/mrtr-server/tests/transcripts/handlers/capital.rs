//! A person and a model, asked in one round.

use mrtr_schema::CallToolResult;
use mrtr_schema::sampling::{CreateMessageParams, ModelHint, ModelPreferences, SamplingContent, SamplingMessage};
use mrtr_server::{Flow, FlowError, Tool};

use super::done;
use super::weather::Login;

pub(crate) fn tool() -> Tool {
    Tool::new("name_capital", |flow| name_capital(flow, None))
}

pub(crate) fn tool_with_preferences() -> Tool {
    Tool::new("name_capital", |flow| name_capital(flow, Some(preferences())))
}

async fn name_capital(flow: Flow, preferences: Option<ModelPreferences>) -> Result<CallToolResult, FlowError> {
    let mut question = CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64);
    question.system_prompt = Some("You are a helpful assistant.".to_owned());
    question.model_preferences = preferences;
    let login = flow.elicit::<Login>("github_login", "Please provide your GitHub username");
    let (login, capital) = flow.join((login, flow.sample("capital_of_france", question))).await?;
    let said = capital.content.iter().find_map(|content| match content {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    Ok(done(format!("For {}: {}", login.name, said.unwrap_or("the model said nothing"))))
}

fn preferences() -> ModelPreferences {
    let mut hint = ModelHint::new();
    hint.name = Some("claude-3-sonnet".to_owned());
    let mut preferences = ModelPreferences::new();
    preferences.hints = Some(vec![hint]);
    preferences.intelligence_priority = Some(0.8.try_into().unwrap());
    preferences.speed_priority = Some(0.5.try_into().unwrap());
    preferences
}
