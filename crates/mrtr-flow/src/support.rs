//! Helpers that every layer may use, and that use none of them.

pub(crate) mod by_name;
pub(crate) mod clock;
pub mod echo;
