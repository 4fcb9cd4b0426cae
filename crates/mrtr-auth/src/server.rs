//! The server side: from the head of a request to an identity.
//!
//! `check` is the door. A JWT goes through `token` (form, signature, times) with the keys of `cache`, and `claims` makes
//! an identity of it; an opaque token goes through `introspection`, or a table of one's own.

mod cache;
mod check;
mod claims;
mod dpop;
mod fetch;
mod introspection;
mod issuer;
mod keys;
mod refusal;
mod token;

pub use check::TokenCheck;
pub use claims::Claims;
pub use introspection::Introspection;
pub use issuer::Issuer;
pub use keys::{Algorithm, KeysError};
