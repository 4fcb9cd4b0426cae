//! Everything for code that extends a server: extensions, middleware, clocks, shedders. A runner of its own takes its
//! parts from mrtr-flow.

// A server's builder takes a clock.
pub use mrtr_flow::{Clock, SystemClock};

pub use crate::definition::extension::{CallHold, Extension, ExtensionRequest, Host, OfferedCall, ToolCall};
pub use crate::definition::extension_reply::{ExtensionMessage, ExtensionReply};
pub use crate::definition::extension_reply::{ExtensionNotice, ExtensionNotices};
pub use crate::definition::flow_output::FlowOutput;
pub use crate::definition::middleware::{Middleware, RequestInfo};
pub use crate::definition::policy::{Decision, Operation, Policy, Standing};
pub use crate::support::lease_thread::{HeldLease, LeaseEnd, LeaseThread, RenewAll, Renewal};
pub use crate::support::shed::{Load, ShedAbove, ShedAfterQueueing, Shedder};
