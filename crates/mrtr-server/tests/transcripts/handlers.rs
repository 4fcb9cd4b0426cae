//! The handlers that scripts name, written as an author would.

mod accounts;
mod approval;
mod capital;
mod index;
mod weather;
mod work_item;

use mrtr_schema::{CallToolResult, ContentBlock};
use mrtr_server::Tool;

/// A handler under the name that scripts call it by, as a tool under the name that the document calls it by.
struct Named(&'static str, fn() -> Tool);

const ALL: [Named; 9] = [
    Named("weather", weather::tool),
    Named("work item", work_item::tool),
    Named("capital", capital::tool),
    Named("capital, of a preferred model", capital::tool_with_preferences),
    Named("accounts, old version", accounts::old_tool),
    Named("accounts, new version", accounts::new_tool),
    Named("index, under load", index::tool_under_load),
    Named("index", index::tool),
    Named("approval", approval::tool),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|Named(name, _)| *name)
}

pub(crate) fn tool(name: &str) -> Tool {
    let Named(_, tool) = ALL.iter().find(|Named(known, _)| *known == name).unwrap_or_else(|| panic!("no `{name}`"));
    tool()
}

/// A text that says of itself that it is no error, as the documents' results do.
fn done(text: impl Into<String>) -> CallToolResult {
    let mut result = CallToolResult::new([ContentBlock::text(text)]);
    result.is_error = Some(false);
    result
}
