//! One run of a handler over a journal: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod engine;
mod error;
pub mod flow;
#[doc(hidden)]
pub mod for_server;
mod support;

pub use engine::answer::check_answer;
pub use engine::context::{DEFAULT_RUN_DEADLINE, RunContext};
pub use engine::environment::Environment;
pub use engine::gate::check_capabilities;
pub use engine::journal::{Asked, Entries, Entry, EntryKind, Journal, JournalError, Pending};
pub use engine::{JournalSink, Outcome, Question, RunReport, SinkError, StopReason, StopSignal};
pub use error::{Failure, FailureKind, FlowError, ProtocolError, StepError, ToolError};
pub use flow::Flow;
pub use flow::run::run;
pub use support::caller::Caller;
pub use support::clock::{Clock, SystemClock};
pub use support::notify::{NotificationSink, Progress};
