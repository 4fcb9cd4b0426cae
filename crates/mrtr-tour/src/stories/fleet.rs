//! Three instances over one database: rounds on all of them, a task that moves, and a token that counts once.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use mrtr::Flow;
use mrtr::prelude::{Client, FormRequest, PendingCall, RoundOutcome, data, json};
use mrtr_postgres_cluster::Cluster;

use crate::clients::{Balancer, Instance};
use crate::processes::{Instances, Name};
use crate::recording::{Actor, Effects, Event};
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "fleet",
    title: "Three instances, one key, one PostgreSQL",
    premise: "Three processes serve the same tools over one database. A call's rounds come to all of them; a task's \
              instance is killed with -9 in the middle of a step; and one answer is sent to two of them.",
    cast: &["client", "one", "two", "three"],
    shown: "A round needs nothing but the key, which all instances have. A task and a token that counts once are rows in \
            a database that people already run and back up: whichever instance lives goes on, and what was done before \
            is not done again. https://github.com/mrtr-rs/mrtr/blob/main/docs/SCALING.md says how far that goes.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
struct Confirmed {
    #[allow(dead_code, reason = "here, every answer will do")]
    yes: bool,
}

/// A tool whose rounds need nothing but the key.
pub(crate) async fn survey(flow: Flow) -> mrtr::Result<String> {
    let Confirmed { .. } = flow.elicit("coast", "Shall the coast be surveyed?").await?;
    flow.step("coast", flow.state::<Effects>().act("surveys the coast")).await?;
    let Confirmed { .. } = flow.elicit("harbour", "And the harbour?").await?;
    flow.step("harbour", flow.state::<Effects>().act("surveys the harbour")).await?;
    Ok("surveyed".into())
}

/// A task whose second step never ends on the instance that did the first.
pub(crate) async fn import(flow: Flow) -> mrtr::Result<String> {
    let (Name(here), effects) = (flow.state::<Name>(), flow.state::<Effects>());
    let downloading = async {
        effects.act("downloads the charts").await?;
        Ok::<_, mrtr::Failure>(here.clone())
    };
    let downloaded = flow.step("download", downloading).await?;
    let importing = async {
        effects.act("imports the charts").await?;
        if *here == downloaded {
            std::future::pending::<()>().await;
        }
        Ok::<_, mrtr::Failure>(here.clone())
    };
    Ok(format!("imported by {}", flow.step("import", importing).idempotent().await?))
}

/// A tool for single use: each of its states is accepted once.
pub(crate) async fn pay(flow: Flow) -> mrtr::Result<String> {
    let Confirmed { .. } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    flow.step("charge", flow.state::<Effects>().act("charges 100 euros")).await?;
    Ok("paid".into())
}

async fn play(stage: &Stage) -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| Cluster::start(&["fsync=on"])).await?;
    let cluster = cluster.context("PostgreSQL is not installed")?;
    let instances = Instances::start(stage, &cluster.fresh_database()?).await?;
    let balancer = stage.balancer("client", instances.at("one")?)?;
    // The handler says that this client can be asked; here the answers are given by hand.
    let client = balancer.client().on_elicit(async |form: FormRequest| form.decline()).build();

    rounds(stage, &client, &balancer, &instances).await?;
    let left = task(stage, &client, &balancer, &instances).await?;
    token(stage, &client, &balancer, left).await
}

async fn rounds(stage: &Stage, client: &Client, balancer: &Balancer, instances: &Instances) -> Result<()> {
    let call = asked(client.call_tool_once("survey", json!({})).await?)?;
    balancer.point_to(instances.at("two")?)?;
    let call = asked(client.advance(answered(call, "coast")?).await?)?;
    balancer.point_to(instances.at("three")?)?;
    let result = client.resume(answered(call, "harbour")?).await?;
    stage.claim("three rounds on three instances came to one result", result.text(), "surveyed");
    let effects = stage.recording().effects();
    stage.claim("each step was done once", effects, ["surveys the coast", "surveys the harbour"]);
    Ok(())
}

/// Returns the two instances that are left.
async fn task<'a>(
    stage: &Stage,
    client: &Client,
    balancer: &Balancer,
    instances: &'a Instances,
) -> Result<[&'a Instance; 2]> {
    let RoundOutcome::Task(task, _) = client.call_tool_once("import", json!({})).await? else {
        bail!("the call is no task");
    };
    let first = does(stage, "imports the charts", 1).await;
    instances.kill(stage, first).await?;
    let left = instances.but(first)?;
    balancer.point_to(left[0])?;
    let result = client.resume(task).await?.text();
    let second = does(stage, "imports the charts", 2).await;
    stage.claim(
        "another instance went on with the task",
        (second != first, result),
        (true, format!("imported by {second}")),
    );
    let downloads = stage.recording().effects().iter().filter(|what| *what == "downloads the charts").count();
    stage.claim("what was recorded before the kill was not done again", downloads, 1);
    Ok(left)
}

async fn token(stage: &Stage, client: &Client, balancer: &Balancer, left: [&Instance; 2]) -> Result<()> {
    let call = answered(asked(client.call_tool_once("pay", json!({})).await?)?, "confirm")?;
    let mut replies = Vec::new();
    for instance in left {
        balancer.point_to(instance)?;
        replies.push(client.resume(call.clone()).await?.text());
    }
    stage.claim("both instances gave the same reply to one answer", replies, ["paid", "paid"]);
    let charges = stage.recording().effects().iter().filter(|what| *what == "charges 100 euros").count();
    stage.claim("it was charged once", charges, 1);
    Ok(())
}

/// Waits until instances have done this `often` times, and returns the one that did it the last of these times.
async fn does(stage: &Stage, what: &str, often: usize) -> Actor {
    loop {
        let events = stage.recording().events();
        let done = |event: &Event| matches!(event, Event::Effect { what: done, .. } if done == what);
        if let Some(Event::Effect { at, .. }) = events.iter().filter(|event| done(event)).nth(often - 1) {
            return at;
        }
        tokio::time::sleep(GLANCE).await;
    }
}

fn asked(round: RoundOutcome) -> Result<PendingCall> {
    match round {
        RoundOutcome::Asked(call) => Ok(call),
        other => bail!("nothing is asked: {other:?}"),
    }
}

fn answered(mut call: PendingCall, key: &str) -> Result<PendingCall> {
    call.accept(key, &json!({ "yes": true }))?;
    Ok(call)
}

const GLANCE: Duration = Duration::from_millis(10);
