//! The client: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod answer;
mod call;
mod client;
mod error;
mod events;
mod handlers;
mod limits;
mod pending;
mod raw;
pub mod testing;
mod transport;

pub use answer::AnswerError;
pub use call::{Action, Call, CallOutcome, Outgoing, Stop};
pub use client::{Builder, Client, RoundOutcome, TraceContext};
pub use error::CallError;
pub use events::{CallEvent, EventKind};
pub use handlers::{Field, FormRequest, IntoElicitResult, QuestionContext, UrlRequest};
pub use limits::Limits;
pub use pending::{PendingCall, PendingTask};
pub use transport::{
    CredentialsFingerprint, ServerNotification, Transport, TransportError, TransportFailure, TransportRequest,
    TransportResponse,
};
