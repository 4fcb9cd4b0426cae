//! `update_work_item`: three rounds, of which the last has an effect.

use mrtr::prelude::*;
use mrtr::serde_json::Map;

#[data]
#[serde(rename_all = "camelCase")]
pub(super) struct Update {
    /// The number of the work item
    work_item_id: u64,
    /// What else to set
    #[serde(default)]
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
    #[schemars(title = "Resolution")]
    resolution: Resolution,
}

#[data]
#[serde(rename_all = "camelCase")]
struct Original {
    #[schemars(title = "Original work item", range(min = 1))]
    duplicate_of_id: u64,
}

pub(super) async fn update_work_item(flow: Flow, update: Update) -> Result<String> {
    let id = update.work_item_id;
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution != Resolution::Duplicate {
        return Ok(format!("Bug #{id} resolved, {} fields set", update.fields.len()));
    }
    let Original { duplicate_of_id } = flow.elicit("duplicate_of", "Which work item is the original?").await?;
    flow.step("link", async { Ok::<_, Failure>(()) }).await?;
    Ok(format!("Bug #{id} resolved as duplicate of #{duplicate_of_id}"))
}
