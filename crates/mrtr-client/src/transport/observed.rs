//! A transport that shows what goes over it: for people who want to see the wire.

use std::fmt;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use mrtr_schema::Revision;

use super::{
    CredentialsFingerprint, EraMemory, OneWayMessage, ServerMessage, ServerNotification, ServerRequest, SessionId,
    Transport, TransportError, TransportRequest, TransportResponse,
};

/// A transport that shows its messages to an observer as they go out and come in.
///
/// The messages have answers and states in them, as they are: show them on a terminal, and not in a log.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, ObservedTransport, WireMessage};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let note = Arc::clone(&seen);
/// let server = Script::new().result(json!({ "resultType": "complete", "content": [] }));
/// let transport = ObservedTransport::new(server, move |message: WireMessage<'_>| {
///     note.lock().unwrap().push(match message {
///         WireMessage::Request(text) => text.contains("tools/call"),
///         WireMessage::Response(text) => text.contains("complete"),
///         _ => false,
///     });
/// });
/// Client::builder(transport).build().call_tool("report", json!({})).await?;
/// assert_eq!(*seen.lock().unwrap(), [true, true]);
/// # Ok(()) }
/// ```
pub struct ObservedTransport<T, F> {
    transport: T,
    observer: F,
}

/// A message, as its observer sees it.
///
/// ```
/// use mrtr_client::WireMessage;
///
/// fn arrow(message: &WireMessage<'_>) -> &'static str {
///     match message {
///         WireMessage::Request(_) | WireMessage::OneWay(_) => "→",
///         WireMessage::Notification(_) | WireMessage::Question(_) | WireMessage::Response(_) => "←",
///         WireMessage::Failure(_) => "✗",
///     }
/// }
/// assert_eq!(arrow(&WireMessage::Request("{}")), "→");
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_enums,
    reason = "requests and answers go out; questions, notifications and a response come back"
)]
pub enum WireMessage<'a> {
    /// A request of the client's.
    Request(&'a str),
    /// A message of the client's that has no response: in a session, an answer or a notification.
    OneWay(&'a str),
    /// A notification that the server sends before its response.
    Notification(&'a ServerNotification),
    /// A question that the server asks before its response, in a session.
    Question(&'a ServerRequest),
    /// The server's response. It is the server's text: show it as [`Printable`](mrtr_schema::Printable).
    Response(&'a str),
    /// The failure of an exchange or of sending: nothing came, or something that is no message.
    Failure(&'a TransportError),
}

impl<T, F> ObservedTransport<T, F>
where
    T: Transport,
    F: Fn(WireMessage<'_>) + Send + Sync + 'static,
{
    /// Wraps a transport, and shows the observer what goes over it.
    pub fn new(transport: T, observer: F) -> Self {
        Self { transport, observer }
    }
}

#[async_trait]
impl<T, F> Transport for ObservedTransport<T, F>
where
    T: Transport,
    F: Fn(WireMessage<'_>) + Send + Sync + 'static,
{
    fn server(&self) -> &str {
        self.transport.server()
    }

    fn identity(&self) -> &str {
        self.transport.identity()
    }

    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        self.transport.credentials().await
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        (self.observer)(WireMessage::Request(request.message));
        let mut shown = |message: ServerMessage| {
            (self.observer)(match &message {
                ServerMessage::Notification(notification) => WireMessage::Notification(notification),
                ServerMessage::Request(request) => WireMessage::Question(request),
            });
            on_message(message);
        };
        let response = self.transport.exchange(request, &mut shown).await;
        (self.observer)(match &response {
            Ok(response) => WireMessage::Response(&response.text),
            Err(error) => WireMessage::Failure(error),
        });
        response
    }

    fn era(&self) -> Option<&EraMemory> {
        self.transport.era()
    }

    async fn send(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        (self.observer)(WireMessage::OneWay(message.message));
        let sent = self.transport.send(message).await;
        if let Err(error) = &sent {
            (self.observer)(WireMessage::Failure(error));
        }
        sent
    }

    fn end_session(&self, session: &SessionId, revision: Revision) -> Option<BoxFuture<'static, ()>> {
        self.transport.end_session(session, revision)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for ObservedTransport<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedTransport").field("transport", &self.transport).finish_non_exhaustive()
    }
}
