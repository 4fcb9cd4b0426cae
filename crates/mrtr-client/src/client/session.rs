//! A session of the legacy era: its beginning, the description of its server, and its end.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mrtr_schema::discovery::{InitializeParams, InitializeResult};
use mrtr_schema::jsonrpc::Request;
use mrtr_schema::methods::{Initialize, SetLevel};
use mrtr_schema::notifications::SetLevelParams;
use mrtr_schema::{Envelope, Era, ErrorObject, Feature, Json, ReadError, RequestId, Revision, Wire};
use serde_json::json;
use tokio::runtime::Handle;

use super::era::{EraError, Mode};
use super::{Client, Inner};
use crate::transport::{NEWEST_LEGACY, OneWayMessage, SessionId, TransportRequest, TransportResponse};
use crate::{Stop, TransportError, TransportFailure};

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) revision: Revision,
    pub(super) id: Option<SessionId>,
    /// The server's description of itself.
    pub(super) server: InitializeResult,
}

impl Session {
    /// The server's description of itself, as `server/discover` would give it.
    pub(super) fn as_discovered(&self) -> Json {
        let capabilities = self.server.capabilities.to_json(self.revision).ok();
        let server = self.server.server_info.to_json(self.revision).ok();
        let value = |text: Option<String>| text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        let mut discovered = json!({
            "supportedVersions": [self.revision.as_str()],
            "capabilities": value(capabilities).unwrap_or_else(|| json!({})),
        });
        if let Some(instructions) = &self.server.instructions {
            discovered["instructions"] = json!(instructions);
        }
        if let Some(server) = value(server) {
            discovered["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server });
        }
        discovered.into()
    }
}

impl Client {
    /// The session that new calls belong to.
    pub(super) fn current_session(&self) -> Option<Arc<Session>> {
        self.0.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn keep_session(&self, session: Arc<Session>) -> Arc<Session> {
        *self.0.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        session
    }

    /// Forgets a session that the server does not know any more. The client finds out the server's era anew where that
    /// costs nothing: the server may have been replaced.
    pub(super) fn drop_session(&self, ended: &Arc<Session>) {
        let mut current = self.0.session.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, ended)) {
            *current = None;
        }
    }

    /// Begins a session: sends `initialize`, and what follows it.
    pub(super) async fn open_session(&self) -> Result<Arc<Session>, EraError> {
        let asked = match &self.0.mode {
            Mode::Legacy(revision) => *revision,
            Mode::Modern | Mode::Either(_) => NEWEST_LEGACY,
        };
        let id = RequestId::from(self.next_id());
        let params = InitializeParams::new(asked.as_str(), self.capabilities_in(asked), self.0.info.clone());
        let message = Request::<Initialize>::new(id.clone(), params).to_json(asked).map_err(unwritable)?;
        let response = self.exchange_plainly(&message, &id, "initialize", asked, None).await?;
        let server = InitializeResult::read(result_of(&response, &id)?.as_raw(), asked.lenient());
        let server = server.map_err(|error| EraError::Stop(error.into()))?;
        let revision = server.protocol_version.parse().ok().filter(|version: &Revision| version.era() == Era::Legacy);
        let Some(revision) = revision else { return Err(EraError::Stop(Stop::OtherVersion(server.protocol_version))) };
        let session = Session { revision, id: response.session, server };
        self.tell(&session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await
            .map_err(EraError::Transport)?;
        self.set_log_level(&session).await;
        Ok(Arc::new(session))
    }

    /// Says which log messages are wanted. A server that does not care sends others, or none: nothing hangs on it.
    async fn set_log_level(&self, session: &Session) {
        let Some(level) = self.0.log_level.filter(|_| session.server.capabilities.logging.is_some()) else { return };
        let id = RequestId::from(self.next_id());
        let revision = session.revision;
        let message = Request::<SetLevel>::new(id.clone(), SetLevelParams::new(level)).to_json(revision);
        let Ok(message) = message else { return };
        let set = self.exchange_plainly(&message, &id, "logging/setLevel", revision, session.id.as_ref()).await;
        if set.is_err() {
            tracing::debug!("the server was not told which log messages are wanted");
        }
    }

    /// Sends a message that has no response.
    pub(super) async fn tell(&self, session: &Session, message: &str) -> Result<(), TransportError> {
        let message = OneWayMessage { message, revision: session.revision, session: session.id.as_ref() };
        self.within_time(self.0.transport.send(message), "the message was not taken").await
    }

    /// Sends a request, and hears nothing but its response.
    async fn exchange_plainly(
        &self,
        message: &str,
        id: &RequestId,
        method: &str,
        revision: Revision,
        session: Option<&SessionId>,
    ) -> Result<TransportResponse, EraError> {
        let reply_bytes = self.0.limits.reply_bytes;
        let request =
            TransportRequest { message, id, method, name: None, arguments: None, revision, session, reply_bytes };
        let exchanged = self.within_time(self.0.transport.exchange(request, &mut |_| {}), NO_RESULT).await;
        exchanged.map_err(EraError::Transport)
    }

    /// Waits for an exchange, within the time that one may take. `failed` says what did not happen in that time.
    pub(super) async fn within_time<T>(
        &self,
        exchanged: impl Future<Output = Result<T, TransportError>>,
        failed: &str,
    ) -> Result<T, TransportError> {
        let limit = self.0.limits.exchange;
        tokio::time::timeout(limit, exchanged).await.unwrap_or_else(|_| {
            Err(TransportError::of(TransportFailure::TimedOut, format!("{failed} {}", within(limit))))
        })
    }

    /// The capabilities that this client declares in a revision. A revision without modes takes elicitation to mean
    /// forms.
    fn capabilities_in(&self, revision: Revision) -> mrtr_schema::ClientCapabilities {
        let mut capabilities = self.0.capabilities.clone();
        if !revision.has(Feature::ElicitationModes) && !capabilities.elicits_forms() {
            capabilities.elicitation = None;
        }
        capabilities
    }

    /// Ends the session of this client, if it has one, and waits until the server has heard of it. If it is never
    /// called, the client tells the server when it is dropped, as well as it can. A later request begins another
    /// session.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// Client::builder(Script::new()).build().close().await; // it has none
    /// # }
    /// ```
    pub async fn close(&self) {
        if let Some(ending) = self.0.take_ending() {
            ending.await;
        }
    }
}

impl Inner {
    /// Takes the session, if there is one, and returns the future that tells the server of its end, if the server is to
    /// be told.
    fn take_ending(&self) -> Option<futures_util::future::BoxFuture<'static, ()>> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.transport.end_session(session.id.as_ref()?, session.revision)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without a runtime the client cannot end the session, which ends when its time is over.
        if let (Some(ending), Ok(runtime)) = (self.take_ending(), Handle::try_current()) {
            runtime.spawn(ending);
        }
    }
}

/// The result that a response carries, or why there is none.
fn result_of(response: &TransportResponse, id: &RequestId) -> Result<Json, EraError> {
    let bad = |error: ReadError| EraError::Stop(error.into());
    match Envelope::parse(response.text.as_bytes()) {
        Ok(Envelope::Result { id: answered, result }) if answered == *id => Json::from_raw(result).map_err(bad),
        Ok(Envelope::Error { error, .. }) => {
            let error =
                Json::from_raw(error).and_then(|error| ErrorObject::read(error.as_raw(), NEWEST_LEGACY.lenient()));
            Err(error.map_or_else(bad, EraError::Server))
        }
        Ok(_) => Err(bad(ReadError::refused("it does not answer `initialize`"))),
        Err(error) => Err(bad(ReadError::refused(error.to_string()))),
    }
}

fn unwritable(error: serde_json::Error) -> EraError {
    EraError::Transport(TransportError::new(error))
}

/// The words for what the server did not do in time.
pub(super) const NO_RESULT: &str = "no result came";

/// A limit of time, in words.
pub(super) fn within(limit: Duration) -> String {
    if limit.is_zero() { "at once, since `Limits::exchange` is 0".to_owned() } else { format!("within {limit:?}") }
}
