//! The catalog of a server: its lists, page by page, and what it says of itself.

use mrtr_flow::ProtocolError;
use mrtr_schema::capabilities::{ListChangedCapability, ResourcesCapability};
use mrtr_schema::discovery::{DiscoverResult, InitializeParams, InitializeResult};
use mrtr_schema::prompts::ListPromptsResult;
use mrtr_schema::resources::{ListResourceTemplatesResult, ListResourcesResult};
use mrtr_schema::result::AnyResult;
use mrtr_schema::tools::ListToolsResult;
use mrtr_schema::{ErrorObject, Feature, JsonObject, Revision, ServerCapabilities};

use crate::definition::parts::Parts;
use crate::definition::tool::PreparedTool;
use crate::error::invalid_params;
use crate::protocol::gate;
use crate::round::request::Request;

/// One page of each list, with where the next one begins and how long it may be kept.
macro_rules! lists {
    ($($name:ident: $result:ident, $key:ident, $($settings:ident).+;)*) => {$(
        pub(crate) async fn $name(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
            let entries = parts.$name.values().map(|one| Entry {
                definition: &one.definition,
                name: &one.definition.$key,
                scopes: &one.$($settings).+.scopes,
            });
            let (listed, next) = page(parts, request, entries).await?;
            let mut result = $result::new(listed);
            (result.next_cursor, result.caching) = (next, parts.lists.caching.clone());
            parts.results.write(&result, request.context.revision)
        }
    )*};
}
lists! {
    prompts: ListPromptsResult, name, settings;
    resources: ListResourcesResult, uri, reader.settings;
    templates: ListResourceTemplatesResult, uri_template, reader.settings;
}

/// An entry of a list, and what decides whether the caller sees it.
struct Entry<'a, T> {
    definition: &'a T,
    name: &'a str,
    scopes: &'a [String],
}

impl<'a> Entry<'a, mrtr_schema::Tool> {
    fn of(tool: &'a PreparedTool) -> Self {
        Self { definition: &tool.definition, name: tool.name(), scopes: &tool.settings.scopes }
    }
}

pub(crate) async fn tools(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let revision = request.context.revision;
    let has_tasks = revision.has(Feature::TasksExtension) || revision.has(Feature::CoreTasks);
    let (listed, next) = if has_tasks || !parts.tools.values().any(PreparedTool::is_always_task) {
        page(parts, request, parts.tools.values().map(Entry::of)).await?
    } else {
        // A tool that can only be called as a task is not offered where there are no tasks.
        let offered: Vec<_> = parts.tools.values().filter(|tool| !tool.is_always_task()).collect();
        page(parts, request, offered.into_iter().map(Entry::of)).await?
    };
    let mut result = ListToolsResult::new(listed);
    (result.next_cursor, result.caching) = (next, parts.lists.caching.clone());
    parts.results.write(&result, revision)
}

/// One page, in the order in which things were registered, and where the next one begins.
///
/// The lists of a server do not change while it lives, so a cursor is a place in them. One from another instance with
/// another list is still within bounds, or refused.
///
/// A page lacks what the policy hides from the caller, and then has that many entries fewer.
async fn page<'a, T: Clone + 'a>(
    parts: &Parts,
    request: &Request<'_>,
    all: impl ExactSizeIterator<Item = Entry<'a, T>>,
) -> Result<(Vec<T>, Option<String>), ErrorObject> {
    let cursor = request.params.text("cursor").map_err(invalid_params)?;
    let length = all.len();
    let start = match &cursor {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix(CURSOR)
            .and_then(|place| place.parse().ok())
            // A place has one spelling, and a page can end at it.
            .filter(|place| (1..length).contains(place) && cursor_at(*place) == *cursor)
            .ok_or_else(|| ProtocolError::invalid_params("`cursor` was not issued for this list").into_object())?,
    };
    let size = parts.lists.page_size.get();
    let end = start.saturating_add(size).min(length);
    let next = (end < length).then(|| cursor_at(end));
    let mut shown = Vec::with_capacity(end - start);
    for entry in all.skip(start).take(size) {
        if gate::is_shown(parts, request, entry.name, entry.scopes).await {
            shown.push(entry.definition.clone());
        }
    }
    Ok((shown, next))
}

fn cursor_at(place: usize) -> String {
    format!("{CURSOR}{place}")
}

const CURSOR: &str = "from-";

pub(crate) fn discover(parts: &Parts, revision: Revision) -> Result<String, ErrorObject> {
    let mut result = DiscoverResult::new([revision.to_string()], parts.capabilities(revision));
    result.instructions.clone_from(&parts.instructions);
    result.caching = parts.lists.caching.clone();
    parts.results.write(&result, revision)
}

/// The response to `initialize`, in a session or without one.
pub(crate) fn initialized(
    parts: &Parts,
    revision: Revision,
    capabilities: ServerCapabilities,
) -> Result<String, ErrorObject> {
    let mut result = InitializeResult::new(revision.as_str(), capabilities, parts.results.info.clone());
    result.instructions.clone_from(&parts.instructions);
    parts.results.write(&result, revision)
}

/// Answers `initialize`, which older revisions have in place of discovery. The transport remembers what the client says
/// of itself there.
pub(crate) fn initialize(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let revision = request.context.revision;
    let _: InitializeParams = request.params.clone().read(revision.lenient()).map_err(invalid_params)?;
    initialized(parts, revision, parts.capabilities(revision))
}

pub(crate) fn ping(parts: &Parts, revision: Revision) -> Result<String, ErrorObject> {
    parts.results.write(&AnyResult::new(), revision)
}

impl Parts {
    /// The server's capabilities in a session, in which it tells of changes and the client says what it wants logged.
    pub(crate) fn session_capabilities(&self, revision: Revision) -> ServerCapabilities {
        let mut capabilities = self.capabilities(revision);
        for lists in [&mut capabilities.tools, &mut capabilities.prompts].into_iter().flatten() {
            lists.list_changed = Some(true);
        }
        if let Some(resources) = &mut capabilities.resources {
            (resources.list_changed, resources.subscribe) = (Some(true), Some(true));
        }
        capabilities.logging = Some(JsonObject::default());
        capabilities
    }

    /// The server's capabilities: those that its parts give it, and nothing else.
    pub(crate) fn capabilities(&self, revision: Revision) -> ServerCapabilities {
        // Older revisions tell of changes and set log levels within a session, and there is none here.
        let changes = revision.has(Feature::Subscriptions);
        let lists = || {
            let mut capability = ListChangedCapability::new();
            capability.list_changed = changes.then_some(true);
            capability
        };
        let mut capabilities = ServerCapabilities::new();
        capabilities.tools = (!self.tools.is_empty()).then(lists);
        capabilities.prompts = (!self.prompts.is_empty()).then(lists);
        capabilities.resources = self.has_resources().then(|| {
            let mut capability = ResourcesCapability::new();
            capability.list_changed = changes.then_some(true);
            capability.subscribe = changes.then_some(true);
            capability
        });
        capabilities.completions = self.completes().then(JsonObject::default);
        capabilities.logging = revision.has(Feature::LogLevelPerRequest).then(JsonObject::default);
        for extension in &self.extensions {
            extension.declare(revision, &mut capabilities);
        }
        capabilities
    }
}
