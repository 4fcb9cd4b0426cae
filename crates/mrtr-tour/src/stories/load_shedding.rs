//! A busy instance puts a call down with what it has done, and another one goes on from there.

use std::sync::Arc;

use anyhow::{Result, bail};
use mrtr::prelude::{RoundOutcome, Tool, json};
use mrtr::server::extend::ShedAbove;
use mrtr::{Flow, client, server};
use tokio::sync::Barrier;

use crate::recording::{Effects, Event};
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "load-shedding",
    title: "Load shedding between two instances",
    premise: "An instance is busy with another call. It puts this one down half-way: its reply asks for nothing, and \
              has what was done in its state.",
    cast: &["client", "busy", "idle"],
    shown: "Work that was done is not lost when an instance sheds load: it travels with the client to whichever \
            instance has room, without a store that they share.",
    play: |stage| Box::pin(play(stage)),
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

/// The other call: it takes its instance up, from when it meets the story until it meets it again.
async fn occupy(flow: Flow) -> mrtr::Result<String> {
    let meeting = flow.state::<Arc<Barrier>>();
    meeting.wait().await;
    meeting.wait().await;
    Ok("done".into())
}

async fn play(stage: &Stage) -> Result<()> {
    let meeting = Arc::new(Barrier::new(2));
    let server = |at| -> server::Builder {
        let server = stage.server(at).state(Arc::clone(&meeting)).shedder(ShedAbove(1));
        server.tool(Tool::new("index", index)).tool(Tool::new("occupy", occupy))
    };
    let (busy, idle) = (stage.serve("busy", server("busy"))?, stage.serve("idle", server("idle"))?);

    // The other call is another client's, and not drawn.
    let other = client::Client::builder(mrtr::HttpTransport::new(&busy.url)?).build();
    let occupying = other.call_tool("occupy", json!({}));
    let telling = async {
        meeting.wait().await;
        stage.recording().add(Event::Note { at: "busy", what: "has another call to do".into() });
        let balancer = stage.balancer("client", &busy)?;
        let client = balancer.client().build();
        let round = client.call_tool_once("index", json!({})).await?;
        let RoundOutcome::BackOff(call, pause) = round else { bail!("the call was not put down: {round:?}") };
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
