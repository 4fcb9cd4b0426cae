//! MCP servers that ask in the middle of a call, and the clients that answer: one dependency for both.
//!
// Its programs are a server and a client.
#![cfg_attr(all(feature = "server", feature = "client", feature = "http"), doc = include_str!("../README.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod __data;
#[cfg(feature = "logging")]
mod logging;
pub mod prelude;

// What `#[data]` writes begins with `::mrtr`, in this crate's own examples as in a user's programs.
extern crate self as mrtr;

/// Makes the async functions of an implementation fit a trait of ours, such as `Middleware`, `Authenticator` or
/// `Transport`.
pub use async_trait::async_trait;
#[cfg(feature = "logging")]
pub use logging::init_logging;
pub use mrtr_macros::data;
pub use {mrtr_schema as schema, schemars, serde, serde_json};

#[cfg(feature = "client")]
pub use mrtr_client::{
    self as client, CallError, CallErrorKind, Client, FormRequest, PendingCall, RoundOutcome, UrlRequest,
};
#[cfg(feature = "server")]
pub use mrtr_flow as flow;
#[cfg(feature = "http")]
pub use mrtr_http as http;
#[cfg(all(feature = "http", feature = "client"))]
pub use mrtr_http::HttpTransport;
#[cfg(all(feature = "http", feature = "server"))]
pub use mrtr_http::{Endpoint, Serve, serve};
#[cfg(feature = "postgres")]
pub use mrtr_postgres::{self as postgres, PostgresStore};
#[cfg(feature = "server")]
pub use mrtr_server::{
    self as server, Caller, Failure, Flow, FlowError, Prompt, Resource, ResourceTemplate, Server, Structured, Tool,
    ToolError,
};
#[cfg(feature = "sqlite")]
pub use mrtr_sqlite::{self as sqlite, SqliteDatabase, SqliteSingleUse, SqliteTaskStore};
#[cfg(feature = "server")]
pub use mrtr_state::{self as state, Sealer};
#[cfg(feature = "stdio")]
pub use mrtr_stdio as stdio;
#[cfg(all(feature = "stdio", feature = "client"))]
pub use mrtr_stdio::StdioTransport;
#[cfg(feature = "tasks")]
pub use mrtr_tasks::{self as tasks, Tasks};

/// The result of handlers and of programs: any error becomes a [`Failure`] with `?`.
///
/// ```
/// use mrtr::{Failure, Flow, Result};
///
/// async fn read(_: Flow) -> Result<String> {
///     Ok(std::fs::read_to_string("/etc/hostname")?)
/// }
///
/// // As everywhere else, another error may be named.
/// fn parse(text: &str) -> Result<u8, std::num::ParseIntError> {
///     text.parse()
/// }
/// ```
#[cfg(feature = "server")]
pub type Result<T, E = Failure> = std::result::Result<T, E>;
