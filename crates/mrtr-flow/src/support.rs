//! What every layer may use, and what uses none of them.

pub(crate) mod by_name;
pub(crate) mod clock;
pub mod echo;
