//! The server side: one endpoint as a plain service, a router for axum, and a server to run them.
//!
//! From the socket down: `serve` → `accept` → `connection` → `mounts` → `endpoint`, which is the way of one request. What
//! it holds meanwhile is its caller's in `accounts`. On HTTP/2 it runs in the `stream_executor`, and its response goes out
//! in `pieces`.

mod accept;
mod accounts;
mod authenticate;
mod body_buffer;
mod budget;
mod charges;
mod config;
mod connection;
mod depth;
mod endpoint;
mod forwarded;
mod head;
mod heavy_requests;

mod link;
mod mirrored_headers;
mod mounts;
mod origin;
mod pages;
mod peer;
mod pieces;
mod reader;
mod rejection;
mod request_body;
mod respond;
mod response_body;
mod router;
mod serve;
mod sessions;
mod status;
mod stream_executor;
mod timeout_stream;
mod timeouts;
mod waiting_connections;
mod withdrawal;

pub use authenticate::{Authenticator, Challenge, Identity};
pub use endpoint::Endpoint;
pub use forwarded::ForwardedHeader;
pub use response_body::ResponseBody;
pub use router::{PATH, router, router_at, router_for};
pub use serve::{Bound, Serve, serve};
