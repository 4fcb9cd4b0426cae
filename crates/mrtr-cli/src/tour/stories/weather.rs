//! A tool that needs a login asks for it in the middle of its call.

use anyhow::Result;
use mrtr::prelude::{FormRequest, Tool, Value, data, json};
use mrtr::{Flow, server};

use crate::tour::effects::Effects;
use crate::tour::recording::Actor;
use crate::tour::stage::Stage;
use crate::tour::stories::Story;

pub(super) const STORY: Story = Story {
    name: "weather",
    title: "Weather with a login",
    premise: "A tool needs the user's login. It asks in its reply, and forgets the call.",
    cast: &["client", "weather"],
    shown: "The server kept nothing while the user was thinking: no session, no connection, no row. All that it needs \
            came back with the retry, sealed so that the client can neither read nor change it.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
pub(super) struct Place {
    location: String,
}

#[data]
struct Login {
    name: String,
}

/// The handler, straight from top to bottom: the question is in its middle.
pub(super) async fn get_weather(flow: Flow, Place { location }: Place) -> mrtr::Result<String> {
    let effects = flow.state::<Effects>();
    let Login { name } = flow.elicit("github_login", "Please provide your GitHub username").await?;
    flow.step("look_up", effects.act(format!("looks up the weather in {location} for {name}"))).await?;
    Ok(format!("Current weather in {location}: 72°F, partly cloudy"))
}

/// A server with this tool.
pub(super) fn server(stage: &Stage, at: Actor) -> server::Builder {
    stage.server(at).tool(Tool::new("get_weather", get_weather).description("Tells the weather to who has logged in"))
}

/// What the user types into the form.
pub(super) fn login() -> Value {
    json!({ "name": "octocat" })
}

async fn play(stage: &Stage) -> Result<()> {
    let weather = stage.serve("weather", server(stage, "weather"))?;
    let client = stage.client("client", &weather)?.on_elicit(async |form: FormRequest| form.accept(&login())).build();
    let result = client.call_tool("get_weather", json!({ "location": "New York" })).await?;

    stage.claim("the user was asked once, for one thing", asked(stage), vec!["github_login"]);
    stage.claim("the weather was looked up once", stage.recording().effects().len(), 1);
    stage.claim("the caller got the weather", result.text(), "Current weather in New York: 72°F, partly cloudy");
    Ok(())
}

fn asked(stage: &Stage) -> Vec<String> {
    let replies = stage.recording().sent_by("weather");
    replies.iter().flat_map(|reply| reply.asks().into_iter().map(str::to_owned)).collect()
}
