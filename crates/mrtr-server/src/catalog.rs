//! What a server has: its lists, page by page, and what it says of itself.

use std::num::NonZeroUsize;

use indexmap::IndexMap;
use mrtr_schema::{
    DiscoverResult, ErrorObject, InitializeResult, JsonObject, ListChangedCapability, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ResourcesCapability, ResultMeta, Revision,
    ServerCapabilities, Wire,
};

use crate::dispatch::{Request, invalid_params};
use crate::server::Inner;
use crate::{ProtocolError, Server};

pub(crate) fn tools(server: &Server, request: &Request<'_>) -> Result<String, ErrorObject> {
    let (tools, next) = page(server, request, server.0.tools.values().map(|tool| &tool.definition))?;
    let mut result = ListToolsResult::new(tools);
    (result.next_cursor, result.caching) = (next, server.0.lists.caching.clone());
    server.write(&result, false, request.context.revision)
}

pub(crate) fn prompts(server: &Server, request: &Request<'_>) -> Result<String, ErrorObject> {
    let (prompts, next) = page(server, request, server.0.prompts.values().map(|prompt| &prompt.definition))?;
    let mut result = ListPromptsResult::new(prompts);
    (result.next_cursor, result.caching) = (next, server.0.lists.caching.clone());
    server.write(&result, false, request.context.revision)
}

pub(crate) fn resources(server: &Server, request: &Request<'_>) -> Result<String, ErrorObject> {
    let (resources, next) = page(server, request, server.0.resources.values().map(|resource| &resource.definition))?;
    let mut result = ListResourcesResult::new(resources);
    (result.next_cursor, result.caching) = (next, server.0.lists.caching.clone());
    server.write(&result, false, request.context.revision)
}

pub(crate) fn templates(server: &Server, request: &Request<'_>) -> Result<String, ErrorObject> {
    let (templates, next) = page(server, request, server.0.templates.values().map(|template| &template.definition))?;
    let mut result = ListResourceTemplatesResult::new(templates);
    (result.next_cursor, result.caching) = (next, server.0.lists.caching.clone());
    server.write(&result, false, request.context.revision)
}

/// How lists are given out.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    pub(crate) page_size: NonZeroUsize,
    pub(crate) caching: mrtr_schema::CachingHints,
}

/// One page, in the order in which things were registered, and where the next one begins.
///
/// The lists of a server do not change while it lives, so a cursor is a place in them. One from another instance with
/// another list is still within bounds, or refused.
fn page<'a, T: Clone + 'a>(
    server: &Server,
    request: &Request<'_>,
    all: impl ExactSizeIterator<Item = &'a T>,
) -> Result<(Vec<T>, Option<String>), ErrorObject> {
    let cursor = request.params.text("cursor").map_err(invalid_params)?;
    let length = all.len();
    let start = match &cursor {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix(CURSOR)
            .and_then(|place| place.parse().ok())
            .filter(|place| *place < length)
            .ok_or_else(|| ProtocolError::invalid_params("`cursor` is not one of this list's").into_object())?,
    };
    let size = server.0.lists.page_size.get();
    let end = start.saturating_add(size).min(length);
    let next = (end < length).then(|| format!("{CURSOR}{end}"));
    Ok((all.skip(start).take(size).cloned().collect(), next))
}

const CURSOR: &str = "from-";

pub(crate) fn discover(server: &Server, revision: Revision) -> Result<String, ErrorObject> {
    let mut result = DiscoverResult::new([revision.to_string()], server.0.capabilities(revision));
    result.instructions.clone_from(&server.0.instructions);
    result.caching = server.0.lists.caching.clone();
    server.write(&result, false, revision)
}

/// What older revisions have for it.
pub(crate) fn initialize(server: &Server, revision: Revision) -> Result<String, ErrorObject> {
    let capabilities = server.0.capabilities(revision);
    let mut result = InitializeResult::new(revision.as_str(), capabilities, server.0.info.clone());
    result.instructions.clone_from(&server.0.instructions);
    server.write(&result, false, revision)
}

impl Inner {
    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    pub(crate) fn completes(&self) -> bool {
        self.prompts.values().any(|prompt| !prompt.completers.is_empty())
            || self.templates.values().any(|template| !template.completers.is_empty())
    }

    /// What the server can do: what it has, and nothing else.
    fn capabilities(&self, revision: Revision) -> ServerCapabilities {
        let changes = revision == Revision::Published;
        let lists = || {
            let mut capability = ListChangedCapability::new();
            capability.list_changed = changes.then_some(true);
            capability
        };
        let mut capabilities = ServerCapabilities::new();
        capabilities.tools = Some(lists());
        capabilities.prompts = (!self.prompts.is_empty()).then(lists);
        capabilities.resources = self.has_resources().then(|| {
            let mut capability = ResourcesCapability::new();
            capability.list_changed = changes.then_some(true);
            capability.subscribe = changes.then_some(true);
            capability
        });
        capabilities.completions = self.completes().then(JsonObject::default);
        capabilities.logging = changes.then(JsonObject::default);
        let extensions: IndexMap<_, _> = self
            .extensions
            .iter()
            .filter_map(|extension| Some((extension.name().to_owned(), extension.capability(revision)?)))
            .collect();
        capabilities.extensions = (!extensions.is_empty()).then_some(extensions);
        capabilities
    }
}

impl Server {
    /// Writes a result in a revision, and says in its metadata whose it is.
    pub(crate) fn write<T: Wire>(&self, result: &T, has_meta: bool, revision: Revision) -> Result<String, ErrorObject> {
        let written = result.to_json(revision).map_err(|error| {
            tracing::error!(%error, "a result cannot be written in this revision");
            crate::dispatch::internal_error()
        })?;
        if has_meta { self.identify(&written, revision) } else { Ok(self.sign(written, revision)) }
    }

    /// Takes over a result that an extension wrote.
    pub(crate) fn adopt(&self, result: &mrtr_schema::Json, revision: Revision) -> Result<String, ErrorObject> {
        self.identify(result.as_str(), revision)
    }

    /// Adds the server's name to a result that has no metadata: at its end, as text.
    fn sign(&self, mut written: String, revision: Revision) -> String {
        if revision == Revision::Published && written.pop() == Some('}') {
            if !written.ends_with('{') {
                written.push(',');
            }
            written.push_str(&self.0.signature);
            written.push('}');
        }
        written
    }

    /// Adds the server's name to whatever metadata a result has.
    fn identify(&self, written: &str, revision: Revision) -> Result<String, ErrorObject> {
        if revision != Revision::Published {
            return Ok(written.to_owned());
        }
        let unreadable = |_| crate::dispatch::internal_error();
        let mut result: IndexMap<String, Box<serde_json::value::RawValue>> =
            serde_json::from_str(written).map_err(unreadable)?;
        let meta = result.get("_meta").map(|meta| ResultMeta::read(meta, revision.lenient()));
        let mut meta = meta.and_then(Result::ok).unwrap_or_default();
        meta.server_info.get_or_insert_with(|| self.0.info.clone());
        result.insert("_meta".to_owned(), serde_json::value::to_raw_value(&meta).map_err(unreadable)?);
        serde_json::to_string(&result).map_err(unreadable)
    }
}
