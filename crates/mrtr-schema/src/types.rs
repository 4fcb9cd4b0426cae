//! What messages are made of: parameters, results, and the values within them.

pub(crate) mod caching;
pub(crate) mod capabilities;
pub(crate) mod completion;
pub(crate) mod content;
pub(crate) mod discovery;
pub(crate) mod elicitation;
pub(crate) mod error_object;
pub(crate) mod form;
pub(crate) mod implementation;
pub(crate) mod input;
pub(crate) mod meta;
pub(crate) mod namespaced;
pub(crate) mod notifications;
pub(crate) mod params;
pub(crate) mod prompts;
pub(crate) mod request_id;
pub(crate) mod request_state;
pub(crate) mod resources;
pub(crate) mod result;
pub(crate) mod roots;
pub(crate) mod sampling;
pub(crate) mod subscriptions;
pub mod tasks;
pub(crate) mod tools;
