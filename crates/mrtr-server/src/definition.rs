//! The parts that a server is built of: tools, prompts, resources, and what extensions add.

pub(crate) mod completion;
pub(crate) mod extension;
pub(crate) mod extension_reply;
pub(crate) mod flow_output;
pub(crate) mod handler;
pub(crate) mod middleware;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod parts;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod settings;
mod text_members;
pub(crate) mod tool;
