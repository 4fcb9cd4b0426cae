//! The answers of two handlers together: their capabilities, and lists in which the flows come first. An item that both
//! have is a flow.

use std::collections::HashMap;

use mrtr_schema::{Revision, Wire};
use mrtr_server::Server;
use rmcp::model::{
    CacheScope, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use serde::de::DeserializeOwned;

/// The place where a page of a shared list begins.
pub(super) enum Place {
    /// Among the flows, at this cursor of our server.
    Ours(Option<String>),
    /// Among the items of the other handler, at this cursor of that handler.
    Theirs(Option<String>),
}

impl Place {
    pub(super) fn of(request: Option<PaginatedRequestParams>) -> Self {
        match request.and_then(|request| request.cursor) {
            None => Self::Ours(None),
            Some(cursor) => match cursor.strip_prefix(THEIRS) {
                Some(cursor) => Self::Theirs(Some(cursor.to_owned())),
                // Our server refuses a cursor that no page gave.
                None => Self::Ours(Some(cursor.strip_prefix(OURS).unwrap_or(&cursor).to_owned())),
            },
        }
    }
}

/// A page of a list.
pub(super) trait Page: DeserializeOwned + Send {
    const METHOD: &'static str;
    type Item;

    fn items(&mut self) -> &mut Vec<Self::Item>;
    fn next(&mut self) -> &mut Option<String>;
    fn caching(&mut self) -> (&mut Option<u64>, &mut Option<CacheScope>);

    /// Marks the cursor of a page of our server's. Returns the page, and true if there is another one after it.
    fn ours(mut self) -> (Self, bool) {
        let next = self.next();
        *next = next.take().map(|cursor| format!("{OURS}{cursor}"));
        let goes_on = next.is_some();
        (self, goes_on)
    }

    /// Marks the cursor of a page of the other handler's, and removes items that are flows.
    fn theirs(mut self, is_flow: impl Fn(&Self::Item) -> bool) -> Self {
        let next = self.next();
        *next = next.take().map(|cursor| format!("{THEIRS}{cursor}"));
        self.items().retain(|item| !is_flow(item));
        self
    }

    /// Joins this page and the one after it. A client may keep the result as long as it may keep both.
    fn and(mut self, mut other: Self) -> Self {
        self.items().append(other.items());
        *self.next() = other.next().take();
        let ((ttl, scope), (other_ttl, other_scope)) = (self.caching(), other.caching());
        *ttl = (*ttl).min(*other_ttl);
        if *other_scope != Some(CacheScope::Public) {
            *scope = *other_scope;
        }
        self
    }
}

macro_rules! pages {
    ($($page:ident: $method:literal, $items:ident of $item:ident;)*) => {$(
        impl Page for $page {
            const METHOD: &'static str = $method;
            type Item = $item;

            fn items(&mut self) -> &mut Vec<$item> {
                &mut self.$items
            }

            fn next(&mut self) -> &mut Option<String> {
                &mut self.next_cursor
            }

            fn caching(&mut self) -> (&mut Option<u64>, &mut Option<CacheScope>) {
                (&mut self.ttl_ms, &mut self.cache_scope)
            }
        }
    )*};
}
pages! {
    ListToolsResult: "tools/list", tools of Tool;
    ListPromptsResult: "prompts/list", prompts of Prompt;
    ListResourcesResult: "resources/list", resources of Resource;
    ListResourceTemplatesResult: "resources/templates/list", resource_templates of ResourceTemplate;
}

/// The information that a server of flows gives about itself. It does not change while the server lives.
pub(super) struct Declared {
    info: Implementation,
    instructions: Option<String>,
    /// The capabilities for a client that discovers.
    pub(super) modern: ServerCapabilities,
    /// The capabilities for a client that initializes.
    pub(super) legacy: ServerCapabilities,
    /// The tools that rmcp's transport asks for by name, to compare headers with arguments.
    pub(super) tools: HashMap<String, Tool>,
}

impl Declared {
    pub(super) fn of(server: &Server) -> Self {
        let offers = server.offers();
        let tools = offers.tools().filter_map(|tool| Some((tool.name.clone(), converted(tool)?)));
        Self {
            info: converted(offers.info()).unwrap_or_default(),
            instructions: offers.instructions().map(str::to_owned),
            modern: converted(&offers.capabilities(Revision::default())).unwrap_or_default(),
            legacy: converted(&offers.capabilities(NEWEST_LEGACY)).unwrap_or_default(),
            tools: tools.collect(),
        }
    }

    /// The configuration for rmcp of a server that has these flows and nothing else.
    pub(super) fn config(&self) -> ServerConfig {
        let mut config = ServerConfig::new(self.modern.clone()).with_server_info(self.info.clone());
        config.instructions.clone_from(&self.instructions);
        config
    }
}

/// The revision whose capabilities a client gets that initializes. Older revisions have no others.
const NEWEST_LEGACY: Revision = Revision::LEGACY[Revision::LEGACY.len() - 1];

/// Unites the capabilities of both handlers. Where both have one, the flows' settings win.
pub(super) fn union(ours: &ServerCapabilities, mut theirs: ServerCapabilities) -> ServerCapabilities {
    if let Some(extensions) = &ours.extensions {
        theirs.extensions.get_or_insert_default().extend(extensions.clone());
    }
    if let Some(experimental) = &ours.experimental {
        theirs.experimental.get_or_insert_default().extend(experimental.clone());
    }
    theirs.logging = ours.logging.clone().or(theirs.logging);
    theirs.completions = ours.completions.clone().or(theirs.completions);
    theirs.prompts = ours.prompts.clone().or(theirs.prompts);
    theirs.tools = ours.tools.clone().or(theirs.tools);
    theirs.resources = ours.resources.clone().or(theirs.resources);
    theirs
}

/// Converts a value of ours, which must have the same form on the wire in every revision, to rmcp's type.
fn converted<F: Wire, T: DeserializeOwned>(ours: &F) -> Option<T> {
    let text = ours.to_json(Revision::default()).ok()?;
    serde_json::from_str(&text)
        .inspect_err(|error| tracing::error!(%error, "rmcp has no type for the server's description of itself"))
        .ok()
}

const OURS: &str = "flows:";
const THEIRS: &str = "beside:";
