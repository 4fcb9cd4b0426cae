//! Tasks: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

#[cfg(feature = "contract")]
pub mod contract;
mod id;
mod owner;
pub mod record;
pub mod store;

pub use id::{NoTaskId, TaskId};
pub use owner::Owner;
pub use record::{End, TaskRecord};
#[cfg(feature = "sqlite")]
pub use store::SqliteTaskStore;
pub use store::{MemoryTaskStore, TaskStore};
