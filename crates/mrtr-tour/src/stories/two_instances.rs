//! Two instances of a server, of which one continues a call of the other: a new version, and one with less to do.

use std::sync::Arc;

use anyhow::{Result, bail};
use mrtr::prelude::{FormRequest, PendingCall, RoundOutcome, Tool, data, json};
use mrtr::server::extend::ShedAbove;
use mrtr::{Flow, client, server};
use tokio::sync::Barrier;

use crate::recording::{Effects, Event};
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const ROLLING_UPGRADE: Story = Story {
    name: "rolling-upgrade",
    title: "A rolling upgrade between two versions",
    premise: "Version 1 asks for two logins. While the user types, it is replaced by version 2, which wants another one \
              in the place of one of them.",
    cast: &["client", "v1", "v2"],
    shown: "Answers are known by name, not by number: what the user had told version 1 counts at version 2, and nothing \
            is asked twice. No call has to be drained before a deployment.",
    play: |stage| Box::pin(play_rolling_upgrade(stage)),
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

async fn play_rolling_upgrade(stage: &Stage) -> Result<()> {
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

/// Answers the open questions, as a user does.
fn answered(round: RoundOutcome) -> Result<PendingCall> {
    let RoundOutcome::Asked(mut call) = round else { bail!("nothing is asked: {round:?}") };
    let asked: Vec<_> = call.unanswered().map(str::to_owned).collect();
    for key in asked {
        call.accept(&key, &json!({ "name": format!("ada-at-{}", key.trim_end_matches("_login")) }))?;
    }
    Ok(call)
}

pub(super) const LOAD_SHEDDING: Story = Story {
    name: "load-shedding",
    title: "Load shedding between two instances",
    premise: "An instance is busy with another call. It defers this one half-way: its reply asks for nothing, and \
              carries the work that was done in its state.",
    cast: &["client", "busy", "idle"],
    shown: "Work that was done is not lost when an instance sheds load: it travels with the client to whichever \
            instance has room, without a store that they share.",
    play: |stage| Box::pin(play_load_shedding(stage)),
};

async fn index(flow: Flow) -> mrtr::Result<String> {
    let effects = flow.state::<Effects>();
    let from = flow.resumed_from().unwrap_or(1);
    for first in (from..10).step_by(3) {
        effects.act(format!("reads files {first} to {}", first + 2)).await?;
        flow.yield_point(&(first + 3)).await;
    }
    Ok("9 files are indexed".into())
}

/// Handles the other call, which keeps its instance busy from its first meeting with the story to its second.
async fn occupy(flow: Flow) -> mrtr::Result<String> {
    let meeting = flow.state::<Arc<Barrier>>();
    meeting.wait().await;
    meeting.wait().await;
    Ok("done".into())
}

async fn play_load_shedding(stage: &Stage) -> Result<()> {
    let meeting = Arc::new(Barrier::new(2));
    let server = |at| -> server::Builder {
        let server = stage.server(at).state(Arc::clone(&meeting)).shedder(ShedAbove(1));
        server.tool(Tool::new("index", index)).tool(Tool::new("occupy", occupy))
    };
    let (busy, idle) = (stage.serve("busy", server("busy"))?, stage.serve("idle", server("idle"))?);

    // The other call comes from another client, and is not drawn.
    let other = client::Client::builder(mrtr::HttpTransport::new(&busy.url)?).build();
    let occupying = other.call_tool("occupy", json!({}));
    let telling = async {
        meeting.wait().await;
        stage.recording().add(Event::Note { at: "busy", what: "has another call to do".into() });
        let balancer = stage.balancer("client", &busy)?;
        let client = balancer.client().build();
        let round = client.call_tool_once("index", json!({})).await?;
        let RoundOutcome::BackOff(call, pause) = round else { bail!("the call was not deferred: {round:?}") };
        tokio::time::sleep(pause).await;
        balancer.point_to(&idle)?;
        let result = client.resume(call).await?;
        meeting.wait().await;
        Ok(result)
    };
    let (occupied, result) = tokio::join!(occupying, telling);
    let result = result?;

    let shed = stage.recording().sent_by("busy");
    let carried = shed.iter().map(|reply| (reply.asks().len(), reply.state_bytes.is_some())).collect::<Vec<_>>();
    stage.claim("the busy instance replied with a state, and asked for nothing", carried, [(0, true)]);
    let read = stage.recording().effects();
    let expected = ["reads files 1 to 3", "reads files 4 to 6", "reads files 7 to 9"];
    stage.claim("each file was read once", read, expected);
    stage.claim("the caller got the whole index", result.text(), "9 files are indexed");
    stage.claim("the other call was not disturbed", occupied?.text(), "done");
    Ok(())
}
