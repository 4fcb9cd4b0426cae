//! The names that a program takes in with one line: `use mrtr::prelude::*;`.
//!
//! ```
//! use mrtr::prelude::*;
//!
//! #[data]
//! struct Name { name: String }
//!
//! async fn greet(flow: Flow) -> Result<String> {
//!     let Name { name } = flow.elicit("name", "Who are you?").await?;
//!     Ok(format!("Hello, {name}"))
//! }
//!
//! let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
//! # Ok::<(), Failure>(())
//! ```

pub use serde_json::{Value, json};

#[cfg(all(feature = "http", feature = "client"))]
pub use crate::HttpTransport;
#[cfg(feature = "tasks")]
pub use crate::Tasks;
pub use crate::data;
#[cfg(feature = "server")]
pub use crate::server::flow::FlowChanges;
#[cfg(feature = "client")]
pub use crate::{CallError, CallErrorKind, Client, FormRequest, PendingCall, RoundOutcome, UrlRequest};
#[cfg(all(feature = "http", feature = "server"))]
pub use crate::{Endpoint, Serve};
#[cfg(feature = "server")]
pub use crate::{
    Failure, Flow, FlowError, Prompt, Resource, ResourceTemplate, Result, Sealer, Server, Structured, Tool, ToolError,
};
#[cfg(feature = "sqlite")]
pub use crate::{SqliteDatabase, SqliteTaskStore};
