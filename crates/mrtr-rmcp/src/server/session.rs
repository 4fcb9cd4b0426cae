//! Requests of the legacy era: rmcp's session is one of our server's too, found in a table by the handshake that rmcp
//! keeps, and its calls stay open while the client is asked.

mod call;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use mrtr_server::transport::{HeaderClaim, LegacyReply, Received, SessionId, SessionStream};
use mrtr_server::{Context, Identity, Reply, Server};
use rmcp::model::{InitializeRequestParams, ProtocolVersion};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::message::{self, FromServer, no_response};
use super::{modern, owners};
use call::OpenCall;

/// A session of our server's. It ends when this is dropped.
pub(super) struct Session {
    server: Server,
    /// The id of the session, or none if there are no sessions, at our server or at rmcp's transport.
    id: Option<SessionId>,
    version: String,
    /// The caller that the session belongs to.
    identity: Identity,
    next_call: AtomicI64,
}

/// The outcome of a request.
enum Called {
    Answered(Result<String, ErrorData>),
    /// Our server has ended the session meanwhile: the request has not run.
    NoSession,
}

impl Session {
    /// A client of this version with which nobody keeps a session: it cannot be asked.
    fn none(server: &Server, version: &ProtocolVersion, identity: &Identity) -> Self {
        Self {
            server: server.clone(),
            id: None,
            version: version.as_str().to_owned(),
            identity: identity.clone(),
            next_call: AtomicI64::new(1),
        }
    }

    /// Begins a session for a client with this handshake.
    async fn begin(server: &Server, client: &InitializeRequestParams, identity: &Identity) -> Result<Self, ErrorData> {
        let mut begun = Self::none(server, &client.protocol_version, identity);
        let initialize = message::request(&0, "initialize", &message::written(client)?);
        let reply = match server.receive(initialize, begun.context()).await {
            Received::Reply(reply) => LegacyReply::Modern(reply),
            Received::Legacy(message) => message.answer(None, &HeaderClaim::Missing).await,
        };
        match reply {
            LegacyReply::Opened { session, .. } => {
                begun.id = Some(session);
                Ok(begun)
            }
            LegacyReply::Message { error: None, .. } => Ok(begun),
            LegacyReply::Overloaded => {
                Err(ErrorData::internal_error("There are too many sessions; try again later", None))
            }
            LegacyReply::Modern(Reply::Message { body, .. }) | LegacyReply::Message { body, .. } => {
                Err(FromServer::response(&body).err().unwrap_or_else(no_response))
            }
            _ => Err(no_response()),
        }
    }

    /// The context of a message that is there now.
    fn context(&self) -> Context<'static> {
        Context::new().identity(self.identity.clone()).received(self.server.arrival())
    }

    /// Has our server answer a message.
    async fn answer(&self, body: Bytes) -> LegacyReply {
        match self.server.receive(body, self.context()).await {
            Received::Reply(reply) => LegacyReply::Modern(reply),
            Received::Legacy(message) => match &self.id {
                Some(id) => message.answer(Some(id.as_str()), &HeaderClaim::Missing).await,
                // Without sessions, each message tells the server the version.
                None => message.answer_without_session(&HeaderClaim::Text(self.version.as_str().into())).await,
            },
        }
    }

    /// Has our server answer a request. Stops when the client cancels, and then tells our server.
    async fn call(&self, method: &str, params: &Value, context: &RequestContext<RoleServer>) -> Called {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Called::Answered(Err(message::cancelled())),
            called = self.run(method, params, context) => called,
        }
    }

    async fn run(&self, method: &str, params: &Value, context: &RequestContext<RoleServer>) -> Called {
        let mut params = params.clone();
        match message::written(&context.meta) {
            Ok(meta) => params["_meta"] = meta,
            Err(error) => return Called::Answered(Err(error)),
        }
        let call = OpenCall::new(self, self.next_call.fetch_add(1, Ordering::Relaxed));
        let reply = self.answer(message::request(&call.id, method, &params)).await;
        Called::Answered(match reply {
            LegacyReply::NoSession { .. } => {
                call.ended();
                return Called::NoSession;
            }
            LegacyReply::Events(events) => call.relay(events, &context.peer).await,
            LegacyReply::Message { body, .. } | LegacyReply::Modern(Reply::Message { body, .. }) => {
                call.ended();
                FromServer::response(&body)
            }
            LegacyReply::Modern(Reply::Stream(messages)) => {
                call.ended();
                modern::relay(messages, &context.peer).await
            }
            _ => Err(no_response()),
        })
    }

    /// Tells the client of changes, until it is gone.
    pub(super) async fn listen(&self, peer: &Peer<RoleServer>) {
        let Some(id) = &self.id else { return };
        while !peer.is_transport_closed() {
            let context = Context::new().identity(self.identity.clone());
            let Ok(events) = self.server.sessions().listen(id.as_str(), &context, &HeaderClaim::Missing, None) else {
                return;
            };
            // The stream ends if too much changed at once for single notifications. Then this opens another one.
            forward(events, peer).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.server.sessions().end(id.as_str(), &Context::new().identity(self.identity.clone()));
        }
    }
}

/// Passes on notifications of changes, until the stream ends or the client is gone.
async fn forward(mut events: SessionStream, peer: &Peer<RoleServer>) {
    loop {
        match tokio::time::timeout(CLOSED_POLL, events.next()).await {
            Ok(None) => return,
            Ok(Some(event)) => {
                let message = event.message.map(|message| FromServer::read(&message));
                if let Some(Ok(FromServer::Notification(Some(notification)))) = message {
                    modern::tell(peer, notification).await;
                }
            }
            Err(_) if peer.is_transport_closed() => return,
            Err(_) => {}
        }
    }
}

/// The sessions of our server that rmcp's clients have, by the handshake that each began with: rmcp does not tell a
/// handler which of its sessions a request belongs to, but keeps one handshake for each.
pub(super) struct Sessions {
    server: Server,
    known: Mutex<HashMap<usize, Known>>,
}

struct Known {
    /// The handshake that rmcp keeps for its session, and drops with it. While this reference exists, no other
    /// handshake can have the same address, which is the key of this entry.
    handshake: Weak<InitializeRequestParams>,
    session: Arc<Session>,
}

impl Sessions {
    pub(super) fn new(server: Server) -> Self {
        Self { server, known: Mutex::default() }
    }

    /// Has our server answer a request in the session of its client, and returns the result as text.
    pub(super) async fn call(
        &self,
        method: &str,
        params: &Value,
        context: &RequestContext<RoleServer>,
        identity: &Identity,
    ) -> Result<String, ErrorData> {
        let session = self.of(context, identity).await?;
        if let Called::Answered(answered) = session.call(method, params, context).await {
            return answered;
        }
        // Our server has ended the session, since its client was silent for too long.
        self.forget(&session);
        let session = self.of(context, identity).await?;
        match session.call(method, params, context).await {
            Called::Answered(answered) => answered,
            Called::NoSession => Err(ended()),
        }
    }

    /// Tells a client of changes in its session, for as long as the client is there. The session does not begin here
    /// but with a request, since only a request says who the caller is.
    pub(super) async fn tell_changes(&self, peer: &Peer<RoleServer>) {
        let Some(handshake) = peer.peer_info() else { return };
        while !peer.is_transport_closed() {
            if let Some(session) = self.find(&handshake) {
                session.listen(peer).await;
            }
            tokio::time::sleep(CLOSED_POLL).await;
        }
    }

    /// Returns the session of a client, and begins one if there is none.
    async fn of(&self, context: &RequestContext<RoleServer>, identity: &Identity) -> Result<Arc<Session>, ErrorData> {
        let handshake = context.peer.peer_info();
        let Some(handshake) = handshake.filter(|_| !owners::has_no_session(&context.extensions)) else {
            let version = context.protocol_version().unwrap_or_default();
            return Ok(Arc::new(Session::none(&self.server, &version, identity)));
        };
        let session = match self.find(&handshake) {
            Some(session) => session,
            None => self.enter(&handshake, Session::begin(&self.server, &handshake, identity).await?),
        };
        // A session is its caller's alone: another one that has learnt rmcp's id of it gets nothing.
        if session.identity == *identity { Ok(session) } else { Err(ended()) }
    }

    fn find(&self, handshake: &Arc<InitializeRequestParams>) -> Option<Arc<Session>> {
        self.known().get(&Arc::as_ptr(handshake).addr()).map(|known| Arc::clone(&known.session))
    }

    /// Keeps a session that has begun, unless another request of its client was quicker. This forgets the sessions of
    /// clients that are gone, so there are never more than there were clients at once.
    fn enter(&self, handshake: &Arc<InitializeRequestParams>, begun: Session) -> Arc<Session> {
        let begun = Known { handshake: Arc::downgrade(handshake), session: Arc::new(begun) };
        let mut known = self.known();
        let gone: Vec<_> = known.extract_if(|_, known| known.handshake.strong_count() == 0).collect();
        let session = Arc::clone(&known.entry(Arc::as_ptr(handshake).addr()).or_insert(begun).session);
        drop(known);
        // These sessions end here, outside the lock.
        drop(gone);
        session
    }

    fn forget(&self, session: &Arc<Session>) {
        self.known().retain(|_, known| !Arc::ptr_eq(&known.session, session));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<usize, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for a session that has ended, in the words of our server.
fn ended() -> ErrorData {
    ErrorData::invalid_request("There is no such session; begin anew with `initialize`", None)
}

/// The time between two looks at whether a client that hears nothing is still there: rmcp does not say when it goes.
const CLOSED_POLL: Duration = Duration::from_secs(1);
