//! The methods of the protocol, one by one.

use mrtr_schema::{
    CallToolResult, CompleteParams, CompleteResult, DiscoverResult, GetPromptResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, Tool, Wire,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Client, Round};
use crate::{CallError, PendingCall, PendingTask};

/// More pages than any list has: a server that never stops is stopped.
const MOST_PAGES: usize = 1000;

impl Client {
    /// Calls a tool, and answers what it asks, until it is done.
    pub async fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, CallError> {
        let pending = self.prepare_tool(name, arguments)?;
        self.to_the_end(pending).await
    }

    /// Calls a tool for one round, and hands out what it asks.
    pub async fn call_tool_once(&self, name: &str, arguments: impl Serialize) -> Result<Round, CallError> {
        let pending = self.prepare_tool(name, arguments)?;
        self.advance(pending).await
    }

    /// Gets a prompt, and answers what it asks, until it is there.
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<GetPromptResult, CallError> {
        let pending = self.prepare_named("prompts/get", name, arguments)?;
        self.to_the_end(pending).await
    }

    /// Gets a prompt for one round, and hands out what it asks.
    pub async fn get_prompt_once(&self, name: &str, arguments: impl Serialize) -> Result<Round, CallError> {
        let pending = self.prepare_named("prompts/get", name, arguments)?;
        self.advance(pending).await
    }

    /// Reads a resource, and answers what it asks, until it is there.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        let params = params(json!({ "uri": uri }));
        self.cached("resources/read", params).await
    }

    /// Reads a resource for one round, and hands out what it asks.
    pub async fn read_resource_once(&self, uri: &str) -> Result<Round, CallError> {
        self.advance(self.prepare("resources/read", params(json!({ "uri": uri })))).await
    }

    /// A call of a tool, not sent yet: for [`advance`](Self::advance).
    pub fn prepare_tool(&self, name: &str, arguments: impl Serialize) -> Result<PendingCall, CallError> {
        self.prepare_named("tools/call", name, arguments)
    }

    fn prepare_named(&self, method: &str, name: &str, arguments: impl Serialize) -> Result<PendingCall, CallError> {
        let arguments = JsonObject::of(&arguments).map_err(CallError::BadParams)?;
        let name = serde_json::to_string(name).expect("a name is JSON");
        let text = format!(r#"{{"name":{name},"arguments":{}}}"#, arguments.as_str());
        let params = JsonObject::parse(&text).map_err(CallError::BadParams)?;
        Ok(self.prepare(method, params))
    }

    async fn to_the_end<R: Wire>(&self, pending: PendingCall) -> Result<R, CallError> {
        let revision = pending.revision;
        let (result, _) = self.drive(pending).await?;
        R::read(result.as_raw(), revision.lenient()).map_err(CallError::BadResult)
    }

    /// What the server said of itself.
    pub async fn discover(&self) -> Result<DiscoverResult, CallError> {
        self.cached("server/discover", JsonObject::default()).await
    }

    /// What somebody may be about to type.
    pub async fn complete(&self, params: &CompleteParams) -> Result<CompleteResult, CallError> {
        let text = params.to_json(self.0.revision).or_else(|_| serde_json::to_string(params));
        let text = text.map_err(|error| CallError::BadParams(mrtr_schema::ReadError::refused(error.to_string())))?;
        let params = JsonObject::parse(&text).map_err(CallError::BadParams)?;
        self.to_the_end(self.prepare("completion/complete", params)).await
    }

    /// Cancels a task.
    pub async fn cancel_task(&self, task: &PendingTask) -> Result<(), CallError> {
        let pending = self.prepare("tasks/cancel", params(json!({ "taskId": task.id() })));
        self.drive(pending).await.map(drop)
    }

    /// Forgets every result that was kept: after the server said that something changed.
    pub fn forget_kept(&self) {
        self.0.cache.forget();
    }

    /// A result that was kept, or a new one, which is kept if the server says so.
    async fn cached<R: Wire>(&self, method: &str, params: JsonObject) -> Result<R, CallError> {
        let key = format!("{method} {}", params.as_str());
        let read = |result: &mrtr_schema::Json| {
            R::read(result.as_raw(), self.0.revision.lenient()).map_err(CallError::BadResult)
        };
        if let Some(kept) = self.0.cache.get(&key) {
            return read(&kept);
        }
        let (result, may_be_kept) = self.drive(self.prepare(method, params)).await?;
        let typed = read(&result)?;
        if may_be_kept {
            self.0.cache.keep(key, &result);
        }
        Ok(typed)
    }
}

fn params(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members.into(),
        _ => JsonObject::default(),
    }
}

/// All pages of a list.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident, $method:literal, $result:ident, $member:ident: $item:ident;)*) => {
        impl Client {
            $($(#[$doc])*
            pub async fn $name(&self) -> Result<Vec<$item>, CallError> {
                let mut all = Vec::new();
                let mut cursor: Option<String> = None;
                for _ in 0..MOST_PAGES {
                    let mut members = Map::new();
                    members.extend(cursor.take().map(|cursor| ("cursor".to_owned(), cursor.into())));
                    let page: $result = self.cached($method, members.into()).await?;
                    all.extend(page.$member);
                    match page.next_cursor {
                        Some(next) => cursor = Some(next),
                        None => break,
                    }
                }
                Ok(all)
            })*
        }
    };
}
lists! {
    /// All tools, from all pages.
    list_tools, "tools/list", ListToolsResult, tools: Tool;
    /// All prompts, from all pages.
    list_prompts, "prompts/list", ListPromptsResult, prompts: Prompt;
    /// All resources, from all pages.
    list_resources, "resources/list", ListResourcesResult, resources: Resource;
    /// All resource templates, from all pages.
    list_resource_templates, "resources/templates/list", ListResourceTemplatesResult,
        resource_templates: ResourceTemplate;
}
