//! Lists, from all their pages.

use std::collections::HashSet;

use mrtr_schema::prompts::{ListPromptsResult, Prompt};
use mrtr_schema::resources::{ListResourceTemplatesResult, ListResourcesResult, Resource, ResourceTemplate};
use mrtr_schema::tools::ListToolsResult;
use mrtr_schema::{ReadError, Tool, Wire};

use super::Client;
use crate::raw::text_members;
use crate::{CallError, CallErrorKind, Stop};

/// One page of a list.
trait Page: Wire {
    const METHOD: &'static str;
    type Item;

    /// Splits the page into its items and the cursor of the next page.
    fn into_parts(self) -> (Vec<Self::Item>, Option<String>);
}

/// One line for each list: its name, its method, and the types of its pages and items.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident, $method:literal, $page:ident, $member:ident: $item:ident;)*) => {
        $(impl Page for $page {
            const METHOD: &'static str = $method;
            type Item = $item;

            fn into_parts(self) -> (Vec<$item>, Option<String>) {
                (self.$member, self.next_cursor)
            }
        })*

        impl Client {
            $($(#[$doc])*
            pub async fn $name(&self) -> Result<Vec<$item>, CallError> {
                self.all_pages::<$page>().await
            })*
        }
    };
}
lists! {
    /// All tools, from all pages. Pages are kept for as long as the server says.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
    /// let server = Script::new()
    ///     .result(json!({ "tools": [tool("a")], "nextCursor": "2", "ttlMs": 60000, "cacheScope": "public" }))
    ///     .result(json!({ "tools": [tool("b")], "ttlMs": 60000, "cacheScope": "public" }));
    /// let client = Client::builder(server.clone()).build();
    /// assert_eq!(client.list_tools().await?.len(), 2);
    /// assert_eq!(client.list_tools().await?.len(), 2);
    /// assert_eq!(server.sent().len(), 2, "the second time, nothing was sent");
    /// # Ok(()) }
    /// ```
    list_tools, "tools/list", ListToolsResult, tools: Tool;
    /// All prompts, from all pages; see [`list_tools`](Self::list_tools).
    list_prompts, "prompts/list", ListPromptsResult, prompts: Prompt;
    /// All resources, from all pages; see [`list_tools`](Self::list_tools).
    list_resources, "resources/list", ListResourcesResult, resources: Resource;
    /// All resource templates, from all pages; see [`list_tools`](Self::list_tools).
    list_resource_templates, "resources/templates/list", ListResourceTemplatesResult,
        resource_templates: ResourceTemplate;
}

impl Client {
    async fn all_pages<P: Page>(&self) -> Result<Vec<P::Item>, CallError> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        let mut bytes = 0;
        loop {
            let asked = text_members(cursor.iter().map(|cursor| ("cursor", cursor)));
            let pending = || Box::new(self.prepare(P::METHOD, asked.clone()));
            let (page, length) = self.cached_with_length::<P>(P::METHOD, asked.clone()).await?;
            let (items, next) = page.into_parts();
            // The text of the page, its cursor included, and the memory that each item takes, even with little in it.
            bytes += length + items.len() * size_of::<P::Item>();
            if bytes > self.0.limits.list_bytes {
                let stop = Stop::ListTooLong(self.0.limits.list_bytes);
                return Err(CallErrorKind::Stopped { stop }.of(pending()));
            }
            all.extend(items);
            let Some(next) = next else { return Ok(all) };
            if seen.len() == MAX_PAGES || !seen.insert(next.clone()) {
                let source = ReadError::refused("the list does not end").in_member("nextCursor");
                return Err(CallErrorKind::BadResult { source }.of(pending()));
            }
            cursor = Some(next);
        }
    }
}

/// More pages than any list has: a server that never stops is stopped.
const MAX_PAGES: usize = 1000;
