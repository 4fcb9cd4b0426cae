//! For those who add to a server: extensions, middleware, runners of their own, clocks, shedders.

pub use mrtr_flow::{
    Asked, Clock, DEFAULT_RUN_DEADLINE, Entries, Entry, EntryKind, Journal, JournalError, JournalSink,
    NotificationSink, Outcome, Progress, Question, RunContext, RunReport, SinkError, StopReason, StopSignal,
    SystemClock, check_answer, check_capabilities, run,
};

pub use crate::definition::extension::{CallHold, Extension, ExtensionRequest, Host, OfferedCall, ToolCall};
pub use crate::definition::extension_reply::{ExtensionMessage, ExtensionReply};
pub use crate::definition::extension_reply::{ExtensionNotice, ExtensionNotices};
pub use crate::definition::flow_output::FlowOutput;
pub use crate::definition::middleware::{Middleware, RequestInfo};
pub use crate::support::lease_thread::{HeldLease, LeaseEnd, LeaseThread, RenewAll, Renewal};
pub use crate::support::shed::{Load, ShedAbove, ShedAfterQueueing, Shedder};
