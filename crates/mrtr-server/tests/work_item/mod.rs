//! The work item of the proposal: resolving a bug asks how, and, if it is a duplicate, of which one.

#![allow(missing_docs, reason = "in forms and schemas doc comments are titles, and the proposal's messages have none")]
#![allow(dead_code, unreachable_pub, reason = "no test needs all of it, and mrtr-fixtures exports it")]

use mrtr_server::{Failure, Flow};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

// The arguments of `update_work_item`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    pub work_item_id: u64,
    #[serde(default)]
    pub fields: Map<String, Value>,
}

// How a bug may be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(clippy::exhaustive_enums, reason = "the tracker of the proposal has these")]
pub enum Resolution {
    Fixed,
    #[serde(rename = "Won't Fix")]
    WontFix,
    Duplicate,
    #[serde(rename = "By Design")]
    ByDesign,
}

// The answer to the first question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Resolved {
    pub resolution: Resolution,
}

// The answer to the second question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Original {
    pub duplicate_of_id: u64,
}

/// The first question of `update_work_item`.
pub const HOW: &str = "How was this bug resolved?";
/// The second question, about a duplicate.
pub const WHICH: &str = "Which work item is the original?";

/// Resolves a bug: the handler of `update_work_item`. It links a duplicate with its original in one step, by calling
/// `link` with both numbers.
pub async fn resolve<'a, L, T, E>(
    flow: &'a Flow,
    update: &Update,
    link: impl FnOnce(u64, u64) -> L,
) -> Result<String, Failure>
where
    L: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send,
    E: Into<Failure> + Send,
{
    let bug = update.work_item_id;
    let Resolved { resolution } = flow.elicit("resolution", HOW).await?;
    if resolution != Resolution::Duplicate {
        return Ok(closed(update));
    }
    let Original { duplicate_of_id } = flow.elicit("duplicate_of", WHICH).await?;
    flow.step("link", link(bug, duplicate_of_id)).await?;
    Ok(closed_as_duplicate(bug, duplicate_of_id))
}

/// The reply of the tool for a bug that is no duplicate.
pub fn closed(update: &Update) -> String {
    format!("Bug #{} resolved, {} fields set", update.work_item_id, update.fields.len())
}

/// The reply of the tool for a bug that is a duplicate.
pub fn closed_as_duplicate(bug: u64, original: u64) -> String {
    format!("Bug #{bug} resolved as duplicate of #{original}")
}
