//! A charge that is not made twice although the reply to it was lost.

use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use mrtr::Flow;
use mrtr::SqliteSingleUse;
use mrtr::prelude::{FormRequest, RoundOutcome, Tool, data, json};

use crate::clients::{Instance, Relay};
use crate::recording::Effects;
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "lost-reply",
    title: "A charge that is not made twice",
    premise: "The connection is cut when the money has gone and the reply has not come. The client cannot know, and \
              sends the same again.",
    cast: &["client", "shop"],
    shown: "The tool is single-use: its state counts once, and what its steps did is recorded before the reply is sent. \
            A retry gets the reply that was lost, and the money goes once.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
struct Confirmed {
    yes: bool,
}

async fn pay(flow: Flow) -> mrtr::Result<String> {
    let Confirmed { yes } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    if !yes {
        return Ok("Nothing was paid".into());
    }
    flow.step("charge", flow.state::<Effects>().act("charges 100 euros")).await?;
    Ok("Paid: 100 euros".into())
}

async fn play(stage: &Stage) -> Result<()> {
    let store = SqliteSingleUse::open(stage.file("single-use.sqlite"), SystemTime::now().into())?;
    let shop = stage.serve("shop", stage.server("shop").tool(Tool::new("pay", pay).single_use(store)))?;
    let relay = Relay::to(shop.address).await?;
    let shop = Instance::new("shop", relay.address());
    // The handler says that this client can be asked; here the answer is given by hand.
    let client = stage.client("client", &shop)?.on_elicit(async |form: FormRequest| form.decline()).build();

    let round = client.call_tool_once("pay", json!({})).await?;
    let RoundOutcome::Asked(mut call) = round else { bail!("nothing is asked: {round:?}") };
    call.accept("confirm", &json!({ "yes": true }))?;
    relay.cut_next_reply();
    let Err(lost) = client.resume(call).await else { bail!("the reply was not lost") };
    let charged_by_then = stage.recording().effects().len();
    let call = lost.into_pending().context("the call cannot be resumed")?;
    let result = client.resume(call).await?;

    stage.claim("the charge was made before the reply was lost", charged_by_then, 1);
    let calls = stage.recording().sent_by("client");
    let states: Vec<_> = calls.iter().filter_map(|call| call.json["params"]["requestState"].as_str()).collect();
    stage.claim("the same state was sent twice", states.len() == 2 && states[0] == states[1], true);
    stage.claim("100 euros were charged once", stage.recording().effects(), ["charges 100 euros"]);
    stage.claim("the caller got the reply that was lost", result.text(), "Paid: 100 euros");
    Ok(())
}
