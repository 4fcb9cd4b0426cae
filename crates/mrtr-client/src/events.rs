//! What happens during calls, for whoever shows it.

use mrtr_schema::{Json, LoggingMessageParams, ProgressParams};

/// Something that happened during a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallEvent {
    /// Which call: a number that no other call of this client has.
    pub call: u64,
    /// Its method.
    pub method: String,
    /// The tool or prompt by name, or the resource by URI.
    pub name: Option<String>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EventKind {
    /// A request is being sent; counted from 1.
    Round(u32),
    /// The server asks for these.
    Asked(Vec<String>),
    /// This was answered.
    Answered(String),
    /// The server put the call off, and it will be sent again after this many milliseconds.
    PutOff(u64),
    /// The call has become a task with this id.
    Task(String),
    /// The server says how far it has come.
    Progress(ProgressParams),
    /// The server logged this.
    Log(LoggingMessageParams),
    /// The server says something else.
    Other {
        /// The method of the notification.
        method: String,
        /// Its parameters.
        params: Json,
    },
    /// The call is over.
    Done,
}
