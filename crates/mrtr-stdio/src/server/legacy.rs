//! Clients of the legacy era: one session a connection, from `initialize` on, and its questions on the one output.

use bytes::Bytes;
use futures_util::StreamExt;
use mrtr_schema::{RawParams, Revision};
use mrtr_server::transport::{HeaderClaim, LegacyReply, Received, SessionId, SessionStream};
use mrtr_server::{Context, Reply, Server};
use tokio::sync::watch;

use crate::output::{Closed, Output};

/// The agreement that `initialize` led to.
#[derive(Debug, Default)]
pub(super) enum Agreed {
    /// None: the client has not sent `initialize`.
    #[default]
    Nothing,
    /// A session.
    Session(OpenSession),
    /// A version alone: the server keeps no sessions.
    Version(Revision),
}

impl Agreed {
    pub(super) fn session(&self) -> Option<&OpenSession> {
        if let Self::Session(session) = self { Some(session) } else { None }
    }

    /// Returns the version, as another transport would give it in a header of each message.
    pub(super) fn version(&self) -> HeaderClaim<'static> {
        match self {
            Self::Version(revision) => HeaderClaim::Text(revision.as_str().into()),
            Self::Nothing | Self::Session(_) => HeaderClaim::Missing,
        }
    }
}

/// The session of a connection. It ends with this.
#[derive(Debug)]
pub(super) struct OpenSession {
    server: Server,
    pub(super) id: SessionId,
}

impl OpenSession {
    pub(super) fn new(server: &Server, id: SessionId) -> Self {
        Self { server: server.clone(), id }
    }

    /// Passes a notification or a response from the client to the session. Neither is answered.
    pub(super) async fn tell(&self, message: Bytes, context: Context<'_>) {
        if let Received::Legacy(message) = self.server.receive(message, context).await {
            message.answer(Some(self.id.as_str()), &HeaderClaim::Missing).await;
        }
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.server.sessions().end(self.id.as_str(), &Context::new());
    }
}

/// Returns true if a request says its version: then it is of the modern era, even after `initialize`.
pub(super) fn says_version(params: &RawParams<'_>) -> bool {
    let meta = params.meta().ok().flatten();
    meta.is_some_and(|meta| meta.get("io.modelcontextprotocol/protocolVersion").is_some())
}

/// Sends the answer to a message of the legacy era, unless it has an effect on the connection itself.
pub(super) async fn send(reply: LegacyReply, output: &Output) -> Result<(), Closed> {
    match reply {
        LegacyReply::Message { body, .. } | LegacyReply::NoSession { body } | LegacyReply::Opened { body, .. } => {
            output.send(body).await
        }
        LegacyReply::Events(events) => forward(events, output).await,
        LegacyReply::Modern(Reply::Message { body, .. }) => output.send(body).await,
        LegacyReply::Modern(Reply::Stream(mut messages) | Reply::Subscription(mut messages)) => {
            while let Some(message) = messages.next().await {
                output.send(message).await?;
            }
            Ok(())
        }
        // Nothing is answered.
        _ => Ok(()),
    }
}

async fn forward(mut events: SessionStream, output: &Output) -> Result<(), Closed> {
    while let Some(event) = events.next().await {
        if let Some(message) = event.message {
            output.send(message).await?;
        }
    }
    Ok(())
}

/// Tells a session's client what changes, until the connection ends. While this listens, the server does not take the
/// session for idle.
pub(super) async fn listen(server: Server, session: SessionId, output: Output, mut ending: watch::Receiver<bool>) {
    let listening = async {
        loop {
            let events = server.sessions().listen(session.as_str(), &Context::new(), &HeaderClaim::Missing, None);
            let Ok(events) = events else { return };
            // The stream ends if too much changed at once to be told one by one. Then it begins anew.
            if forward(events, &output).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = ending.wait_for(|ending| *ending) => {}
        () = listening => {}
    }
}
