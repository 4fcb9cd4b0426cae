//! The weather of a place, for those who say who they are.

use mrtr_schema::CallToolResult;
use mrtr_server::{Flow, FlowError, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::done;

pub(crate) fn tool() -> Tool {
    Tool::new("get_weather", get_weather)
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    location: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Login {
    pub(crate) name: String,
}

async fn get_weather(flow: Flow, Place { location }: Place) -> Result<CallToolResult, FlowError> {
    let _: Login = flow.elicit("github_login", "Please provide your GitHub username").await?;
    Ok(done(format!("Current weather in {location}:\nTemperature: 72°F\nConditions: Partly cloudy")))
}
