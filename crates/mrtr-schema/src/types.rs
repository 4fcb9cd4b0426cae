//! The parts of messages: parameters, results, and the values within them.

pub(crate) mod caching;
pub mod capabilities;
pub mod completion;
pub mod content;
pub mod discovery;
pub mod elicitation;
pub mod error_object;
pub(crate) mod form;
pub mod implementation;
pub mod input;
pub mod meta;
pub mod namespaced;
pub mod notifications;
pub mod params;
pub mod prompts;
pub(crate) mod request_id;
pub(crate) mod request_state;
pub mod resources;
pub mod result;
pub mod roots;
pub mod sampling;
pub mod subscriptions;
pub mod tasks;
pub mod tools;
