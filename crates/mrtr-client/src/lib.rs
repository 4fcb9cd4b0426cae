//! A client that calls MCP servers, answers what they ask, and can save a call and resume it.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod call;
mod client;
mod error;
mod events;
mod handlers;
mod limits;
mod pending;
mod raw;
#[cfg(feature = "terminal")]
pub mod terminal;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;

pub use call::{Action, Call, CallOutcome, Outgoing};
pub use client::{Builder, CancelOutcome, Client, Events, RoundOutcome, TraceContext};
pub use error::{AnswerError, CallError, CallErrorKind, Stop, TransportError, TransportFailure};
pub use events::{CallEvent, EventKind};
pub use handlers::{FormRequest, IntoAnswer, IntoElicitResult, QuestionContext, UnsafeUrl, UrlRequest};
pub use limits::Limits;
pub use pending::{PendingCall, PendingTask};
pub use transport::{
    CredentialsFingerprint, EraMemory, ObservedTransport, OneWayMessage, ServerMessage, ServerNotification,
    ServerRequest, SessionId, Transport, TransportRequest, TransportResponse, WireMessage,
};
