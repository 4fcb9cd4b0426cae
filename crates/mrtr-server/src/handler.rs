//! The types of handlers, of their arguments and of their outputs.

pub use crate::definition::completion::Completing;
pub use crate::definition::handler::{
    HandlerArguments, HandlerCall, HandlerFuture, HandlerResult, IntoHandler, ToolHandler,
};
pub use crate::definition::output::{IntoOutput, Output, StructuredValue};
