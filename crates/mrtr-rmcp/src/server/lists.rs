//! Lists that two handlers share: the flows come first, and what both have is a flow.

use rmcp::model::{
    CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, Prompt, Resource, ResourceTemplate, Tool,
};
use serde::de::DeserializeOwned;

/// Where a page of a shared list begins.
pub(super) enum Place {
    /// Among the flows.
    Ours(Option<String>),
    /// Among what the other handler has.
    Theirs(Option<String>),
}

impl Place {
    pub(super) fn of(request: Option<PaginatedRequestParams>) -> Self {
        match request.and_then(|request| request.cursor) {
            None => Self::Ours(None),
            Some(cursor) => match cursor.strip_prefix(THEIRS) {
                Some(cursor) => Self::Theirs(Some(cursor.to_owned())),
                // A cursor that no page gave is refused by our server.
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

    /// A page of our server's; whether there is another one after it.
    fn ours(mut self) -> (Self, bool) {
        let next = self.next();
        *next = next.take().map(|cursor| format!("{OURS}{cursor}"));
        let goes_on = next.is_some();
        (self, goes_on)
    }

    /// A page of the other handler's, without what is a flow.
    fn theirs(mut self, is_flow: impl Fn(&Self::Item) -> bool) -> Self {
        let next = self.next();
        *next = next.take().map(|cursor| format!("{THEIRS}{cursor}"));
        self.items().retain(|item| !is_flow(item));
        self
    }

    /// This page, and one that goes on where it ends. They may be kept as long as both may.
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

const OURS: &str = "flows:";
const THEIRS: &str = "beside:";
