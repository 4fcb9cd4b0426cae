//! The tracker of the proposal: resolving a bug asks how, and, if it is a duplicate, of which one.

use anyhow::Result;
use mrtr_server::{Flow, Server, Tool};
use mrtr_state::Sealer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item_id: u64,
    #[allow(dead_code, reason = "applied by a real tracker")]
    fields: Map<String, Value>,
}
#[derive(Deserialize, JsonSchema, PartialEq)]
enum Resolution {
    Fixed,
    #[serde(rename = "Won't Fix")]
    WontFix,
    Duplicate,
    #[serde(rename = "By Design")]
    ByDesign,
}
#[derive(Deserialize, JsonSchema)]
struct Resolved {
    resolution: Resolution,
}
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Original {
    duplicate_of_id: u64,
}

async fn update_work_item(flow: Flow, args: Update) -> Result<String> {
    let tracker = flow.state::<Tracker>();
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution != Resolution::Duplicate {
        return Ok(format!("Bug #{} resolved", args.work_item_id));
    }
    let dup: Original = flow.elicit("duplicate_of", "Which work item is the original?").await?;
    flow.step("link", tracker.link(args.work_item_id, dup.duplicate_of_id)).await?;
    Ok(format!("Bug #{} resolved as duplicate of #{}", args.work_item_id, dup.duplicate_of_id))
}
