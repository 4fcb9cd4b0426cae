//! MCP servers whose handlers ask and await, without sockets: one request in, one reply out.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod definition;
mod error;
pub mod extend;
pub mod flow;
pub mod handler;
mod protocol;
mod round;
mod server;
mod session;
mod support;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

pub use definition::output::{InputRequired, Structured};
pub use definition::prompt::Prompt;
pub use definition::resource::{Resource, ResourceTemplate};
pub use definition::settings::{Guard, StatePolicy, TaskPolicy};
pub use definition::tool::Tool;
pub use error::{BuildError, TemplateError};
pub use mrtr_flow::{
    Caller, Failure, Flow, FlowError, Identity, IdentityKind, Party, ProtocolError, StepError, ToolError,
};
pub use mrtr_state::Sealer;
pub use protocol::context::Context;
pub use protocol::reply::Reply;
pub use server::{Builder, Server};
pub use session::{Legacy, SessionLimits};
