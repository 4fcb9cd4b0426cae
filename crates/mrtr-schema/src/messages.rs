//! Whole messages: methods, JSON-RPC around them, and the first look at one that comes in.

pub(crate) mod coded_error;
pub(crate) mod envelope;
pub(crate) mod jsonrpc;
pub(crate) mod methods;
