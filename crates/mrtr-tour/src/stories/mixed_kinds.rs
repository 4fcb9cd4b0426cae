//! A server asks a user, a model and the client itself in one round.

use std::io;

use anyhow::Result;
use mrtr::Flow;
use mrtr::client::QuestionContext;
use mrtr::prelude::{FormRequest, Tool, data, json};
use mrtr::schema::content::{Role, TextContent};
use mrtr::schema::roots::Root;
use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage};

use crate::recording::{Effects, Message};
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "mixed-kinds",
    title: "Mixed kinds in one round",
    premise: "A tool wants a form filled in, a model asked, and the client's folders listed, all at once.",
    cast: &["client", "guide"],
    shown: "`flow.join` gathers questions of every kind into one reply. The client has them answered side by side, and \
            there is one round trip, not three.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
struct Login {
    name: String,
}

async fn plan(flow: Flow) -> mrtr::Result<String> {
    let question = CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64);
    let login = flow.elicit::<Login>("github_login", "Please provide your GitHub username");
    let (login, capital, roots) =
        flow.join((login, flow.sample("capital_of_france", question), flow.roots("folders"))).await?;
    let folder = roots.first().map_or("nowhere", |root| &root.uri);
    let plan = format!("a trip to {} for {} in {folder}", capital.text().unwrap_or_default(), login.name);
    flow.step("write", flow.state::<Effects>().act(format!("writes {plan}"))).await?;
    Ok(format!("Planned: {plan}"))
}

async fn play(stage: &Stage) -> Result<()> {
    let guide = stage.serve("guide", stage.server("guide").tool(Tool::new("plan_trip", plan)))?;
    let client = stage
        .client("client", &guide)?
        .on_elicit(async |form: FormRequest| form.accept(&json!({ "name": "octocat" })))
        .on_sample(async |_, _| {
            let said = SamplingContent::Text(TextContent::new("Paris"));
            Ok::<_, io::Error>(CreateMessageResult::new(Role::Assistant, said, "a-model"))
        })
        .on_roots(async |_: QuestionContext| Ok::<_, io::Error>(vec![Root::new("file:///home/octocat/trips")]))
        .build();
    let result = client.call_tool("plan_trip", json!({})).await?;

    let (calls, replies) = (stage.recording().sent_by("client"), stage.recording().sent_by("guide"));
    let keys = vec!["github_login", "capital_of_france", "folders"];
    stage.claim("all three were asked in one reply", replies.first().map(Message::asks), Some(keys.clone()));
    stage.claim("all three were answered in one retry, the second and last request", answers(&calls), (2, keys));
    stage.claim("the trip was written down once", stage.recording().effects().len(), 1);
    let expected = "Planned: a trip to Paris for octocat in file:///home/octocat/trips";
    stage.claim("the caller got what all three said", result.text(), expected);
    Ok(())
}

/// The number of requests, and the answers in the last one.
fn answers(calls: &[Message]) -> (usize, Vec<&str>) {
    (calls.len(), calls.last().map(Message::answers).unwrap_or_default())
}
