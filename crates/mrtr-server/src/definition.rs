//! What a server is built of: tools, prompts, resources, and what others add.

pub(crate) mod completion;
pub(crate) mod contained;
pub(crate) mod extension;
pub(crate) mod extension_reply;
pub(crate) mod flow_output;
pub(crate) mod handler;
pub(crate) mod inventory;
pub(crate) mod middleware;
pub(crate) mod notices;
pub(crate) mod output;
pub(crate) mod parts;
pub(crate) mod prompt;
pub(crate) mod reservations;
pub(crate) mod resource;
pub(crate) mod settings;
pub(crate) mod shared;
mod text_members;
pub(crate) mod tool;
