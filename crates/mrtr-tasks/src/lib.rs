//! Tasks for MCP servers: calls that outlive their client and survive a restart of their server.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
#[cfg(feature = "contract")]
pub mod contract;
mod count;
mod create;
mod extension;
mod hub;
mod id;
mod methods;
mod operator;
mod options;
mod owner;
pub mod record;
mod run;
pub mod store;
mod tasks;
mod vault;
mod wire;

pub use id::{NoTaskId, TaskId};
pub use operator::{TaskView, WaitsFor};
pub use options::TaskOptions;
pub use owner::{Account, Owner};
pub use record::{End, TaskRecord};
pub use store::{MemoryTaskStore, TaskStore};
pub use tasks::Tasks;
