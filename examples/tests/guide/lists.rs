//! The lists of `use` lines of the pages, each in a module of its own: they compile.

#[expect(unused_imports, reason = "a reader's program uses them")]
mod guide {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Duration;

    use mrtr::client::testing::Script;
    use mrtr::prelude::*;
    use mrtr::server::flow::{Answered, Race2, Retry};
    use mrtr::server::testing::{self, Conversation, FixedClock};
    use mrtr::server::{InputRequired, Legacy, ProtocolError, TaskPolicy};
    use mrtr::tasks::store::{MemoryTaskStore, TaskStore};
    use mrtr::tasks::{TaskOptions, TaskView, WaitsFor};
}

#[expect(unused_imports, reason = "a reader's program uses them")]
mod servers {
    use std::collections::HashMap;
    use std::num::NonZeroUsize;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    use mrtr::async_trait;
    use mrtr::prelude::*;
    use mrtr::schema::content::{
        Annotations, AudioContent, EmbeddedResource, Fraction, ImageContent, ResourceContents, ResourceLink, Role,
    };
    use mrtr::schema::prompts::{GetPromptResult, PromptArgument, PromptMessage};
    use mrtr::schema::resources::ReadResourceResult;
    use mrtr::schema::roots::ListRootsRequest;
    use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
    use mrtr::schema::tools::{InputSchema, OutputSchema, ToolAnnotations};
    use mrtr::schema::{
        CacheScope, CachingHints, CallToolResult, ClientCapabilities, ContentBlock, ErrorCode, ErrorObject, Icon,
        LoggingLevel, Method, NamespacedInput, Tool as Definition,
    };
    use mrtr::serde_json::Map;
    use mrtr::server::extend::{Middleware, RequestInfo};
    use mrtr::server::flow::{SamplingTools, StopReason};
    use mrtr::server::handler::{Completing, IntoOutput, Output};
    use mrtr::server::transport::{HeaderClaim, LegacyReply, Received};
    use mrtr::server::{Caller, Context, InputRequired, Legacy, ProtocolError, SessionLimits, StatePolicy, testing};
    use mrtr::state::Lifetimes;
    use mrtr::tasks::TaskOptions;
}
