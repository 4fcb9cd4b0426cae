//! What every layer may use, and what uses none of them.

pub(crate) mod by_name;
pub(crate) mod caller;
pub(crate) mod clock;
pub mod echo;
pub(crate) mod hex;
pub(crate) mod notify;
pub(crate) mod panics;
pub(crate) mod secrets;
pub(crate) mod short;
