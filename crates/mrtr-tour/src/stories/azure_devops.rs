//! A work item is closed in three rounds, as in the proposal: each question depends on the answers before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use mrtr::Flow;
use mrtr::prelude::{FormRequest, Tool, Value, data, json};
use mrtr::serde_json::Map;

use crate::recording::{Effects, Message};
use crate::stage::Stage;
use crate::stories::Story;

pub(super) const STORY: Story = Story {
    name: "azure-devops",
    title: "Azure DevOps in three rounds",
    premise: "A rule of the tracker wants to know how a bug was resolved; another one, of which bug it is a duplicate.",
    cast: &["client", "tracker"],
    shown: "The handler is straight-line code with an `if` in it. It runs again in each round, and what was answered \
            and done comes back in the state: any instance could have taken any round.",
    play: |stage| Box::pin(play(stage)),
};

#[data]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item_id: u64,
    fields: Map<String, Value>,
}

#[data]
#[derive(PartialEq)]
enum Resolution {
    Fixed,
    #[serde(rename = "Won't Fix")]
    WontFix,
    Duplicate,
    #[serde(rename = "By Design")]
    ByDesign,
}

#[data]
struct Resolved {
    resolution: Resolution,
}

#[data]
#[serde(rename_all = "camelCase")]
struct Original {
    duplicate_of_id: u64,
}

/// Counts the runs of the handler.
#[derive(Default)]
struct Runs(AtomicUsize);

async fn update_work_item(flow: Flow, Update { work_item_id: bug, fields }: Update) -> mrtr::Result<String> {
    flow.state::<Arc<Runs>>().0.fetch_add(1, Ordering::SeqCst);
    let effects = flow.state::<Effects>();
    flow.step("rules", effects.act(format!("reads the rules for #{bug}"))).await?;
    let question = format!("Resolving Bug #{bug} requires a resolution. How was this bug resolved?");
    let Resolved { resolution } = flow.elicit("resolution", question).await?;
    if resolution != Resolution::Duplicate {
        flow.step("resolve", effects.act(format!("sets {} fields of #{bug}", fields.len()))).await?;
        return Ok(format!("Bug #{bug} resolved"));
    }
    let question = "Since this is a duplicate, which work item is the original?";
    let Original { duplicate_of_id: original } = flow.elicit("duplicate_of", question).await?;
    flow.step("link", effects.act(format!("links #{bug} to #{original}"))).await?;
    Ok(format!("Bug #{bug} resolved as duplicate of Bug #{original}"))
}

async fn play(stage: &Stage) -> Result<()> {
    let runs = Arc::new(Runs::default());
    let server = stage.server("tracker").state(Arc::clone(&runs));
    let tracker = stage.serve("tracker", server.tool(Tool::new("update_work_item", update_work_item)))?;
    let answer = async |form: FormRequest| match form.context().key.as_str() {
        "resolution" => form.accept(&json!({ "resolution": "Duplicate" })),
        _ => form.accept(&json!({ "duplicateOfId": 4301 })),
    };
    let client = stage.client("client", &tracker)?.on_elicit(answer).build();
    let update = json!({ "workItemId": 4522, "fields": { "System.State": "Resolved" } });
    let result = client.call_tool("update_work_item", update).await?;

    let (calls, replies) = (stage.recording().sent_by("client"), stage.recording().sent_by("tracker"));
    stage.claim("three rounds, each with an id of its own", distinct_ids(&calls), 3);
    let asked: Vec<_> = replies.iter().map(|reply| reply.asks().join(", ")).collect();
    let expected = ["resolution", "duplicate_of", ""];
    stage.claim("one question a round, the second one because of the first answer", asked, expected);
    let done = (runs.0.load(Ordering::SeqCst), stage.recording().effects());
    let expected = (3, vec!["reads the rules for #4522".to_owned(), "links #4522 to #4301".to_owned()]);
    stage.claim("the handler ran three times, and did each thing once", done, expected);
    stage.claim("the caller heard of it", result.text(), "Bug #4522 resolved as duplicate of Bug #4301");
    Ok(())
}

fn distinct_ids(calls: &[Message]) -> usize {
    let mut ids: Vec<_> = calls.iter().map(|call| call.json["id"].to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}
