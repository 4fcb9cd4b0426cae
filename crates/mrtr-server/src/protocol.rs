//! A message in, a message out: admitted in the order of the protocol, and handed to its method.

pub(crate) mod admit;
pub(crate) mod catalog;
mod client_meta;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod era;
pub(crate) mod gate;
pub(crate) mod offers;
pub(crate) mod reply;
mod route;
mod subscription;
