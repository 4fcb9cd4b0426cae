//! Handlers that ask and await, run over a journal: the engine of mrtr, without MCP's messages.
//!
#![doc = include_str!("../README.md")]

mod engine;
mod error;
pub mod flow;
#[doc(hidden)]
pub mod for_server;
mod identity;
mod support;

pub use engine::context::{DEFAULT_RUN_DEADLINE, NotificationSink, Progress, RunContext};
pub use engine::environment::Environment;
pub use engine::gate::{check_answer, check_capabilities};
pub use engine::journal::{Asked, Entries, Entry, EntryKind, Journal, JournalError, Pending};
pub use engine::{JournalSink, Outcome, Question, RunReport, SinkError, StopReason, StopSignal};
pub use error::{Failure, FailureKind, FlowError, ProtocolError, StepError, ToolError};
pub use flow::Flow;
pub use flow::run::run;
pub use identity::{Caller, Identity, IdentityKind};
pub use mrtr_state::Party;
pub use support::clock::{Clock, SystemClock};
