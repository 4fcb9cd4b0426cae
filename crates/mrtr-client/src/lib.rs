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
pub use call::{Action, Call, Outcome, Outgoing, Stop};
pub use client::{Builder, Client, Round, TraceContext};
pub use error::CallError;
pub use events::{CallEvent, EventKind};
pub use handlers::{Asking, Field, FormRequest, IntoElicitResult, UrlRequest};
pub use limits::Limits;
pub use pending::{PendingCall, PendingTask};
pub use transport::{CredentialsMark, Exchange, Notified, Replied, Transport, TransportError, TransportFailure};
