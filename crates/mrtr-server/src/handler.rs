//! What a handler may be, and what it may give.

pub use crate::definition::completion::Completing;
pub use crate::definition::handler::{
    HandlerArguments, HandlerCall, HandlerFuture, HandlerResult, IntoHandler, ToolHandler,
};
pub use crate::definition::output::{IntoOutput, Output};
