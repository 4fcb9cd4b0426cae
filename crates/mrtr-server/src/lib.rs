//! The stateless workflow: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod clock;
mod context;
mod dispatch;
mod extension;
mod failure;
mod flow;
mod gate;
mod journal;
mod output;
mod reply;
mod round;
mod run;
mod run_context;
mod server;
pub mod testing;
mod tool;

pub use clock::{Clock, SystemClock};
pub use context::{Caller, Context, Headers};
pub use extension::{Extension, Host, ToolCall};
pub use failure::{Failure, FlowError, ProtocolError, StepError, ToolError};
pub use flow::{
    Answered, Ask, ByAction, Flow, FormQuestion, Join, Joinable, Mode, NamespacedQuestion, Optionally, QuestionKind,
    Required, Retry, RootsQuestion, SamplingQuestion, SamplingTools, Scope, Step, ToolLoop, ToolOutput, UrlAsk,
    UrlUntil,
};
pub use journal::Journal;
pub use output::{InputRequired, IntoOutput, Output, Structured};
pub use reply::Reply;
pub use run::{Entry, JournalSink, Outcome, Question, Ran, SinkError, run};
pub use run_context::RunContext;
pub use server::{BuildError, Builder, Server};
pub use tool::{Guard, IntoToolHandler, StatePolicy, Tool, ToolHandler};
