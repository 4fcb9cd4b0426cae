//! Tools that ask nothing: text, pictures, sound, resources, an error, progress.

use std::convert::Infallible;
use std::time::Duration;

use mrtr_schema::ContentBlock;
use mrtr_schema::content::{AudioContent, EmbeddedResource, ImageContent};
use mrtr_server::{Builder, Flow, Tool, ToolError};

use crate::samples::{SILENCE, embedded, picture};

pub(crate) fn offer(builder: Builder) -> Builder {
    builder
        .tool(Tool::new("test_simple_text", simple_text).description("Gives text"))
        .tool(Tool::new("test_image_content", image).description("Gives a picture"))
        .tool(Tool::new("test_audio_content", audio).description("Gives a sound"))
        .tool(Tool::new("test_embedded_resource", resource).description("Gives a resource"))
        .tool(Tool::new("test_multiple_content_types", mixed).description("Gives text, a picture and a resource"))
        .tool(Tool::new("test_error_handling", error).description("Fails"))
        .tool(Tool::new("test_tool_with_progress", progress).description("Tells how far it has come"))
}

async fn simple_text(_: Flow) -> Result<&'static str, Infallible> {
    Ok("This is a simple text response for testing.")
}

async fn image(_: Flow) -> Result<ImageContent, Infallible> {
    Ok(picture())
}

async fn audio(_: Flow) -> Result<AudioContent, Infallible> {
    Ok(AudioContent::new(SILENCE, "audio/wav"))
}

async fn resource(_: Flow) -> Result<EmbeddedResource, Infallible> {
    Ok(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))
}

async fn mixed(_: Flow) -> Result<Vec<ContentBlock>, Infallible> {
    let data = r#"{"test":"data","value":123}"#;
    Ok(vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::Image(picture()),
        ContentBlock::Resource(embedded("test://mixed-content-resource", "application/json", data)),
    ])
}

async fn error(_: Flow) -> Result<String, ToolError> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}

async fn progress(flow: Flow) -> Result<&'static str, Infallible> {
    for done in [0, 50, 100] {
        flow.progress(done, Some(100), "").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok("All of it is done")
}
