//! The events of calls, for a user interface.

use std::time::Duration;

use mrtr_schema::Json;
use mrtr_schema::notifications::{LoggingMessageParams, ProgressParams};

/// Something that happened during a call.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, EventKind};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
/// let client = Client::builder(Script::new().result(json!({ "resultType": "complete", "content": [] }))).build();
/// let mut events = client.events();
/// client.call_tool("report", json!({})).await?;
/// let event = events.next().await.unwrap();
/// assert_eq!((event.call, event.name.as_deref()), (1, Some("report")));
/// assert!(matches!(event.kind, EventKind::Round(1)));
/// assert!(matches!(events.next().await.unwrap().kind, EventKind::Done));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallEvent {
    /// The number of the call, which no other call of this client has.
    pub call: u64,
    /// The method of the call.
    pub method: String,
    /// The tool or prompt by name, or the resource by URI.
    pub name: Option<String>,
    /// The event itself.
    pub kind: EventKind,
}

/// The kinds of event. Keys, ids, progress and logs are the server's words, as they came: show them as
/// [`Printable`](mrtr_schema::Printable).
///
/// ```
/// use mrtr_client::EventKind;
/// use mrtr_schema::Printable;
///
/// fn show(event: &EventKind) -> String {
///     match event {
///         EventKind::Asked(keys) => format!("waiting for {}", Printable::line(&keys.join(", "))),
///         EventKind::Progress(progress) => Printable::line(progress.message.as_deref().unwrap_or_default()).to_string(),
///         EventKind::Done => "done".to_owned(),
///         _ => String::new(),
///     }
/// }
/// assert_eq!(show(&EventKind::Asked(vec!["login".to_owned()])), "waiting for login");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EventKind {
    /// A round begins, counted from 1. A retry that brings nothing new belongs to the round before it.
    Round(u32),
    /// The server asks for these, by their keys.
    Asked(Vec<String>),
    /// The question with this key was answered.
    Answered(String),
    /// The client pauses for this long. If the server is busy, or asks for a retry and for nothing else, the client
    /// sends the call again after that. If the server asks for a URL that was just shown, the client shows it again.
    BackOff(Duration),
    /// The call has become a task with this id.
    Task(String),
    /// The server says how far it has come.
    Progress(ProgressParams),
    /// The server logged this.
    Log(LoggingMessageParams),
    /// The server sent another notification.
    Other {
        /// The method of the notification.
        method: String,
        /// The parameters of the notification.
        params: Json,
    },
    /// The call is over, one way or the other.
    Done,
    /// The caller dropped the call.
    Abandoned,
}
