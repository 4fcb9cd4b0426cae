//! The stateless workflow: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod engine;
mod error;
mod flow;
mod protocol;
mod register;
mod round;
mod server;
mod support;
#[cfg(feature = "testing")]
pub mod testing;

pub use engine::context::{DEFAULT_RUN_DEADLINE, RunContext};
pub use engine::journal::{Asked, Journal};
pub use engine::{Entry, JournalSink, Outcome, Question, RunReport, SinkError};
pub use error::{BuildError, Failure, FlowError, ProtocolError, StepError, TemplateError, ToolError};
pub use flow::{
    AnswerMode, Answered, Ask, AskUntil, Branch, Flow, FormQuestion, FullAnswer, Join, JoinAll, Joinable,
    NamespacedQuestion, Optional, QuestionKind, Race, Race2, Race3, Race4, Racing, Required, Retry, RootsQuestion,
    SamplingQuestion, SamplingTools, Scope, Step, ToolLoop, ToolOutput, UrlAsk, UrlUntil, run,
};
pub use mrtr_state::Sealer;
pub use protocol::reply::{Reply, ReplyStream, Stage};
pub use register::completion::Completing;
pub use register::context::{Context, HeaderClaim, Headers};
pub use register::extension::{Extension, Host, ToolCall};
pub use register::flow_output::FlowOutput;
pub use register::handler::{IntoHandler, ToolHandler};
pub use register::middleware::{Middleware, RequestInfo};
pub use register::notices::{ExtensionNotice, ExtensionNotices};
pub use register::output::{InputRequired, IntoOutput, Output, Structured};
pub use register::prompt::Prompt;
pub use register::resource::{Resource, ResourceTemplate};
pub use register::settings::{Guard, StatePolicy};
pub use register::tool::Tool;
pub use server::{Builder, Server};
pub use support::caller::Caller;
pub use support::changes::Changes;
pub use support::clock::{Clock, SystemClock};
pub use support::permit::Permit;
pub use support::shed::{Load, ShedAbove, ShedAfterQueueing, Shedder};
