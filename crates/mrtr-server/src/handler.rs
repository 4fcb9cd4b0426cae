//! What a handler may be, and what it may give.

pub use crate::register::completion::Completing;
pub use crate::register::handler::{
    HandlerArguments, HandlerCall, HandlerFuture, HandlerResult, IntoHandler, ToolHandler,
};
pub use crate::register::output::{IntoOutput, Output};
