//! The smallest picture and a very short silence, as base64.

use mrtr_schema::content::{EmbeddedResource, ImageContent, ResourceContents, TextResourceContents};

/// A PNG of one red pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// A WAV of a millisecond.
pub(crate) const SILENCE: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(crate) fn picture() -> ImageContent {
    ImageContent::new(PIXEL, "image/png")
}

/// A resource of text, as part of a result.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> EmbeddedResource {
    let mut contents = TextResourceContents::new(uri, text);
    contents.mime_type = Some(mime_type.to_owned());
    EmbeddedResource::new(ResourceContents::Text(contents))
}
