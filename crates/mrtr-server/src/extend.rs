//! For those who add to a server: extensions, middleware, runners of their own, clocks, shedders.

pub use crate::engine::answer::check_answer;
pub use crate::engine::context::{DEFAULT_RUN_DEADLINE, RunContext};
pub use crate::engine::gate::check_capabilities;
pub use crate::engine::journal::{Asked, Entries, Entry, EntryKind, Journal, JournalError};
pub use crate::engine::{JournalSink, Outcome, Question, RunReport, SinkError, StopReason, StopSignal};
pub use crate::flow::run::run;
pub use crate::register::extension::{CallHold, Extension, ExtensionRequest, Host, OfferedCall, ToolCall};
pub use crate::register::extension_reply::{ExtensionMessage, ExtensionReply};
pub use crate::register::flow_output::FlowOutput;
pub use crate::register::middleware::{Middleware, RequestInfo};
pub use crate::register::notices::{ExtensionNotice, ExtensionNotices};
pub use crate::support::clock::{Clock, SystemClock};
pub use crate::support::lease_thread::{HeldLease, LeaseEnd, LeaseThread, RenewAll, Renewal};
pub use crate::support::notify::NotificationSink;
pub use crate::support::shed::{Load, ShedAbove, ShedAfterQueueing, Shedder};
