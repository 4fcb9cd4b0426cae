//! A call that the old version began is finished by the new one, which asks only what is missing.

use anyhow::{Result, bail};
use mrtr::Flow;
use mrtr::prelude::{FormRequest, PendingCall, RoundOutcome, Tool, data, json};

use crate::recording::Effects;
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "rolling-upgrade",
    title: "A rolling upgrade between two versions",
    premise: "Version 1 asks for two logins. While the user types, it is replaced by version 2, which wants another one \
              in the place of one of them.",
    cast: &["client", "v1", "v2"],
    shown: "Answers are known by name, not by number: what the user had told version 1 counts at version 2, and nothing \
            is asked twice. No call has to be drained before a deployment.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
struct Login {
    name: String,
}

async fn link_v1(flow: Flow) -> mrtr::Result<String> {
    let github = flow.elicit::<Login>("github_login", "Your name at GitHub?");
    let google = flow.elicit::<Login>("google_login", "Your name at Google?");
    let (github, google) = flow.join((github, google)).await?;
    link(&flow, github, google).await
}

async fn link_v2(flow: Flow) -> mrtr::Result<String> {
    let github = flow.elicit::<Login>("github_login", "Your name at GitHub?");
    let microsoft = flow.elicit::<Login>("microsoft_login", "Your name at Microsoft?");
    let (github, microsoft) = flow.join((github, microsoft)).await?;
    link(&flow, github, microsoft).await
}

async fn link(flow: &Flow, one: Login, other: Login) -> mrtr::Result<String> {
    let linked = format!("{} and {}", one.name, other.name);
    flow.step("link", flow.state::<Effects>().act(format!("links {linked}"))).await?;
    Ok(format!("{linked} are linked"))
}

async fn play(stage: &Stage) -> Result<()> {
    let v1 = stage.serve("v1", stage.server("v1").tool(Tool::new("link_accounts", link_v1).version("1")))?;
    let v2 = stage.serve("v2", stage.server("v2").tool(Tool::new("link_accounts", link_v2).version("2")))?;
    let balancer = stage.balancer("client", &v1)?;
    // The handler says that this client can be asked; here the answers are given by hand.
    let client = balancer.client().on_elicit(async |form: FormRequest| form.decline()).build();

    let call = answered(client.call_tool_once("link_accounts", json!({})).await?)?;
    stage.stop(&v1, "version 1 is replaced").await?;
    balancer.point_to(&v2)?;
    let call = answered(client.advance(call).await?)?;
    let result = client.resume(call).await?;

    let asked = |at| stage.recording().sent_by(at).iter().map(|reply| reply.asks().join(", ")).collect::<Vec<_>>();
    stage.claim("version 1 asked for both logins", asked("v1"), ["github_login, google_login"]);
    stage.claim("version 2 asked for the missing one alone", asked("v2"), ["microsoft_login", ""]);
    stage.claim("the accounts were linked once", stage.recording().effects().len(), 1);
    let expected = "ada-at-github and ada-at-microsoft are linked";
    stage.claim("the answer given to version 1 was used by version 2", result.text(), expected);
    Ok(())
}

/// Answers what is asked, as a user does.
fn answered(round: RoundOutcome) -> Result<PendingCall> {
    let RoundOutcome::Asked(mut call) = round else { bail!("nothing is asked: {round:?}") };
    let asked: Vec<_> = call.unanswered().map(str::to_owned).collect();
    for key in asked {
        call.accept(&key, &json!({ "name": format!("ada-at-{}", key.trim_end_matches("_login")) }))?;
    }
    Ok(call)
}
