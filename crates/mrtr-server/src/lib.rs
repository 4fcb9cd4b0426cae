//! The stateless workflow: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod by_name;
mod catalog;
mod changes;
mod clock;
mod completion;
mod context;
mod declared;
mod dispatch;
mod echo;
mod extension;
mod failure;
mod flow;
mod flows;
mod gate;
mod handler;
mod inputs;
mod journal;
mod lazy_flow;
mod metrics;
mod middleware;
mod notify;
mod output;
mod permit;
mod product;
mod prompt;
mod reply;
mod resource;
mod round;
mod run;
mod run_context;
mod secrets;
mod server;
mod shed;
mod subscription;
pub mod testing;
mod tool;
mod write;

pub use changes::Changes;
pub use clock::{Clock, SystemClock};
pub use completion::Completing;
pub use context::{Caller, Context, HeaderClaim, Headers};
pub use extension::{Extension, Host, ToolCall};
pub use failure::{Failure, FlowError, ProtocolError, StepError, ToolError};
pub use flow::{
    AnswerMode, Answered, Ask, AskUntil, Branch, Flow, FormQuestion, FullAnswer, Join, JoinAll, Joinable,
    NamespacedQuestion, Optional, QuestionKind, Race, Race2, Race3, Race4, Racing, Required, Retry, RootsQuestion,
    SamplingQuestion, SamplingTools, Scope, Step, ToolLoop, ToolOutput, UrlAsk, UrlUntil,
};
pub use handler::{IntoHandler, ToolHandler};
pub use journal::{Asked, Journal};
pub use middleware::{Middleware, RequestInfo};
pub use mrtr_state::Sealer;
pub use output::{InputRequired, IntoOutput, Output, Structured};
pub use permit::Permit;
pub use product::FlowOutput;
pub use prompt::Prompt;
pub use reply::{Reply, ReplyStream, Stage};
pub use resource::{Resource, ResourceTemplate, TemplateError};
pub use run::{Entry, JournalSink, Outcome, Question, RunReport, SinkError, run};
pub use run_context::{DEFAULT_RUN_DEADLINE, RunContext};
pub use server::{BuildError, Builder, Server};
pub use shed::{Load, ShedAbove, ShedAfterQueueing, Shedder};
pub use subscription::{ExtensionNotice, ExtensionNotices};
pub use tool::{Guard, StatePolicy, Tool};
