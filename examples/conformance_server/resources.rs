//! Resources: text, bytes, a template, and one that asks.

use std::convert::Infallible;

use mrtr_schema::content::{BlobResourceContents, ResourceContents};
use mrtr_server::{Builder, Failure, Flow, Resource, ResourceTemplate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::input_required::UserName;
use crate::samples::PIXEL;

pub(crate) fn offer(builder: Builder) -> Builder {
    builder
        .resource(Resource::new("test://static-text", "static text", text).mime_type("text/plain"))
        .resource(Resource::new("test://static-binary", "static picture", bytes).mime_type("image/png"))
        .resource(Resource::new("test://input-required", "greeting", greeting).mime_type("text/plain"))
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data", "data", data).mime_type("application/json"),
        )
}

async fn text(_: Flow) -> Result<&'static str, Infallible> {
    Ok("This is the content of the static text resource.")
}

async fn bytes(_: Flow) -> Result<ResourceContents, Infallible> {
    // Without a URI it is that of the resource.
    Ok(ResourceContents::Blob(BlobResourceContents::new("", PIXEL)))
}

async fn greeting(flow: Flow) -> Result<String, Failure> {
    let user: UserName = flow.elicit("user_name", "What is your name?").await?;
    Ok(format!("Hello, {}!", user.name))
}

#[derive(Deserialize, JsonSchema)]
struct Data {
    id: String,
}

async fn data(_: Flow, Data { id }: Data) -> Result<String, Infallible> {
    let text = format!("Data for ID: {id}");
    Ok(json!({ "id": id, "templateTest": true, "data": text }).to_string())
}
