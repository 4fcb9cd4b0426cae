//! neva: a tool asks in line and runs again on every round; the server seals the answers.

use neva::error::{Error, ErrorCode};
use neva::types::elicitation::ElicitRequestParams;
use neva::types::{Response, Schema, UntitledSingleSelectEnumSchema};
use neva::{App, Context, RequestStateStore};
use serde_json::{Map, Value};

use crate::{SECRET, closed, resolutions};
use mrtr_fixtures::work_item::{HOW, Original, Resolution, Resolved, WHICH, closed_as_duplicate};

/// Serves on the current thread's runtime.
pub(crate) async fn serve(port: u16) -> anyhow::Result<()> {
    let address = format!("127.0.0.1:{port}");
    let mut app = App::new()
        .without_greeting()
        .with_request_state_secret(SECRET)
        .with_request_state_store(NoStore)
        .with_options(|options| options.with_http(|http| http.bind(&address).with_endpoint("/mcp")));
    app.map_tool("close_work_item", close_work_item)
        .with_arg_names(["workItemId", "fields"])
        .with_description("Closes a work item");
    app.map_tool("update_work_item", update_work_item)
        .with_arg_names(["workItemId", "fields"])
        .with_description("Updates a work item");
    app.run().await;
    anyhow::bail!("neva has stopped")
}

async fn close_work_item(work_item: u64, fields: Value) -> String {
    closed(work_item, count(&fields))
}

async fn update_work_item(ctx: Context, work_item: u64, fields: Value) -> Result<String, Error> {
    let form = ElicitRequestParams::form(HOW).with_required("resolution", resolution());
    let Resolved { resolution } = ctx.elicit("resolution", form.into()).await?.content().ok_or_else(declined)?;
    if resolution != Resolution::Duplicate {
        return Ok(closed(work_item, count(&fields)));
    }
    let form = ElicitRequestParams::form(WHICH).with_required("duplicateOfId", Schema::integer());
    let Original { duplicate_of_id } = ctx.elicit("duplicate_of", form.into()).await?.content().ok_or_else(declined)?;
    ctx.once("link", link(work_item, duplicate_of_id)).await?;
    Ok(closed_as_duplicate(work_item, duplicate_of_id))
}

#[expect(clippy::unused_async, reason = "a real tracker is asked over the network")]
async fn link(_duplicate: u64, _original: u64) -> Result<(), Error> {
    Ok(())
}

pub(crate) fn resolution() -> Schema {
    Schema::SingleUntitledEnum(UntitledSingleSelectEnumSchema { r#enum: resolutions(), ..Default::default() })
}

pub(crate) fn count(fields: &Value) -> usize {
    fields.as_object().map_or(0, Map::len)
}

fn declined() -> Error {
    Error::new(ErrorCode::InvalidParams, "the user did not answer")
}

/// Remembers no reply. The bench sends the last round of a call over and over, and the default store would answer it
/// without running the tool.
struct NoStore;

impl RequestStateStore for NoStore {
    async fn get(&self, _tag: &str) -> Option<Response> {
        None
    }

    async fn put(&self, _tag: &str, _response: Response, _exp: u64) {}
}
