//! A transport that shows what goes over it: for people who want to see the wire.

use std::fmt;

use async_trait::async_trait;

use super::{
    CredentialsFingerprint, ServerNotification, Transport, TransportError, TransportRequest, TransportResponse,
};

/// A transport whose messages are shown to an observer as they go out and come in.
///
/// What is shown has answers and states in it, as they are: it is for a terminal, and not for a log.
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
///         WireMessage::Notification(_) => false,
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
///         WireMessage::Request(_) => "→",
///         WireMessage::Notification(_) | WireMessage::Response(_) => "←",
///     }
/// }
/// assert_eq!(arrow(&WireMessage::Request("{}")), "→");
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "a request goes out; notifications and a response come back")]
pub enum WireMessage<'a> {
    /// What the client sends.
    Request(&'a str),
    /// What the server says on the way.
    Notification(&'a ServerNotification),
    /// What the server answers. It is the server's text: show it as [`Printable`](mrtr_schema::Printable).
    Response(&'a str),
}

impl<T, F> ObservedTransport<T, F>
where
    T: Transport,
    F: Fn(WireMessage<'_>) + Send + Sync + 'static,
{
    /// Shows what goes over this transport.
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

    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        self.transport.credentials().await
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<TransportResponse, TransportError> {
        (self.observer)(WireMessage::Request(request.message));
        let mut shown = |notification: ServerNotification| {
            (self.observer)(WireMessage::Notification(&notification));
            on_notification(notification);
        };
        let response = self.transport.exchange(request, &mut shown).await?;
        (self.observer)(WireMessage::Response(&response.text));
        Ok(response)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for ObservedTransport<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedTransport").field("transport", &self.transport).finish_non_exhaustive()
    }
}
