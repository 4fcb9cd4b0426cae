//! A work item that is resolved by the rules of Azure DevOps.

use std::convert::Infallible;

use mrtr_schema::CallToolResult;
use mrtr_server::{Flow, FlowError, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::done;

pub(crate) fn tool() -> Tool {
    Tool::new("update_work_item", update_work_item)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item_id: u64,
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
    /// Resolution type for this bug
    resolution: Resolution,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Original {
    /// Work item ID of the original bug
    duplicate_of_id: f64,
}

async fn update_work_item(flow: Flow, update: Update) -> Result<CallToolResult, FlowError> {
    let Update { work_item_id: bug, fields } = update;
    let state = fields.get("System.State").and_then(Value::as_str).unwrap_or("unchanged");
    if state != "Resolved" {
        return Ok(done(format!("State of Bug #{bug} is {state}.")));
    }
    let question = format!("Resolving Bug #{bug} requires a resolution. How was this bug resolved?");
    let Resolved { resolution } = flow.elicit("resolution", question).await?;
    if resolution != Resolution::Duplicate {
        return Ok(done(format!("Bug #{bug} resolved. State set to Resolved.")));
    }
    let question = "Since this is a duplicate, which work item is the original?";
    let Original { duplicate_of_id: original } = flow.elicit("duplicate_of", question).await?;
    let link = async { Ok::<_, Infallible>(()) }; // where a real tool would call the tracker
    flow.step("link", link).await?;
    let text = format!("Bug #{bug} resolved as Duplicate of Bug #{original}.");
    Ok(done(format!("{text} State set to Resolved and duplicate link created.")))
}
