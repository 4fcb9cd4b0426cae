//! The server side: one endpoint as a plain service, a router for axum, and a server to run them.
//!
//! One request goes from the socket down: `serve` → `accept` → `connection` → `router` → `endpoint`. The module
//! `accounts` counts what it holds meanwhile for its caller. On HTTP/2 it runs in a task of `http2_streams`, and its
//! response goes out from there in pieces.

mod accept;
mod accounts;
mod authenticate;
mod body_buffer;
mod budget;
mod challenge;
mod config;
mod connection;
mod endpoint;
mod forwarded;
mod head;
mod heavy_requests;
mod http2_streams;
mod link;
mod metadata;
mod origin;
mod probes;
mod public_url;
mod refusals;
mod rejection;
mod request_body;
mod respond;
mod response_body;
mod router;
mod serve;
mod sessions;

pub use authenticate::{Authenticator, RequestHead};
pub use challenge::Challenge;
pub use endpoint::Endpoint;
pub use forwarded::ForwardedHeader;
pub use mrtr_server::Identity;
pub use public_url::{PublicUrl, PublicUrlError};
pub use response_body::ResponseBody;
pub use router::{PATH, router, router_at, router_for};
pub use serve::{Bound, Serve, serve};
