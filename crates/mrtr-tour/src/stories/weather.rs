//! A tool that needs a login asks for it in the middle of its call; and the same handler, for clients of both eras.

use anyhow::Result;
use mrtr::prelude::{FormRequest, Tool, Value, data, json};
use mrtr::{Flow, server};

use crate::clients::LegacyClient;
use crate::recording::{Actor, Effects};
use crate::stage::Stage;
use crate::stories::Story;

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

/// Starts to build a server with the tool `get_weather`.
pub(super) fn server(stage: &Stage, at: Actor) -> server::Builder {
    stage.server(at).tool(Tool::new("get_weather", get_weather).description("Tells the weather to who has logged in"))
}

/// The user's input to the form.
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

pub(super) const IN_TWO_ERAS: Story = Story {
    name: "two-eras",
    title: "The same handler for a client of 2025",
    premise: "The tool of the first story, at one address, called by a client that opens a session and is asked with a \
              request, and by one that retries.",
    cast: &["2025", "2026", "weather"],
    shown: "The handler was written once and knows nothing of eras. For a client of 2025 the question goes out on the \
            stream of its call, and the session is all that the server keeps.",
    play: |stage| Box::pin(play_in_two_eras(stage)),
};

async fn play_in_two_eras(stage: &Stage) -> Result<()> {
    let weather = stage.serve("weather", server(stage, "weather"))?;
    let place = json!({ "location": "New York" });

    let legacy = LegacyClient::open("2025", &weather, stage.recording().clone()).await?;
    let old = legacy.call_tool("get_weather", &place, |_| login()).await?;
    legacy.close().await?;

    let client = stage.client("2026", &weather)?;
    let client = client.on_elicit(async |form: FormRequest| form.accept(&login())).build();
    let new = client.call_tool("get_weather", place).await?;

    let count = |who| stage.recording().sent_by(who).iter().filter(|sent| sent.says.starts_with("tools/call")).count();
    stage.claim("the client of 2025 called once, and was asked by a request", count("2025"), 1);
    stage.claim("the client of 2026 called twice, and was asked by a reply", count("2026"), 2);
    stage.claim("both got the same result", old, new.text());
    stage.claim("the weather was looked up once for each", stage.recording().effects().len(), 2);
    Ok(())
}
