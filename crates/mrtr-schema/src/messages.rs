//! Whole messages: methods, JSON-RPC around them, and the first look at one that comes in.

pub mod coded_error;
pub(crate) mod envelope;
pub mod jsonrpc;
pub mod methods;
pub(crate) mod owned_params;
mod server_request;
