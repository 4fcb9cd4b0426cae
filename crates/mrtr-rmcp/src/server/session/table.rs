//! The sessions of our server that rmcp's clients have.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mrtr_server::Server;
use rmcp::model::InitializeRequestParams;
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::super::owners;
use super::{CLOSED_POLL, Called, Session};
use crate::identity::Identity;

/// The sessions of our server that rmcp's clients have, by the handshake that each began with: rmcp does not tell a
/// handler which of its sessions a request belongs to, but keeps one handshake for each.
pub(in crate::server) struct Sessions {
    server: Server,
    known: Mutex<HashMap<usize, Known>>,
    /// Set once the operator was told that rmcp's sessions are open to every caller.
    has_warned: AtomicBool,
}

struct Known {
    /// While this is here no other handshake has its address. It is gone with rmcp's session.
    handshake: Weak<InitializeRequestParams>,
    session: Arc<Session>,
}

impl Sessions {
    pub(in crate::server) fn new(server: Server) -> Self {
        Self { server, known: Mutex::default(), has_warned: AtomicBool::new(false) }
    }

    /// Has our server answer a request in the session of its client, and gives the result as text.
    pub(in crate::server) async fn call(
        &self,
        method: &str,
        params: &Value,
        context: &RequestContext<RoleServer>,
        identity: &Identity,
    ) -> Result<String, ErrorData> {
        self.warn_unowned(context, identity);
        let session = self.of(&context.peer, identity).await?;
        if let Called::Answered(answered) = session.call(method, params, context).await {
            return answered;
        }
        // Nothing was heard of it for long.
        self.forget(&session);
        let session = self.of(&context.peer, identity).await?;
        match session.call(method, params, context).await {
            Called::Answered(answered) => answered,
            Called::NoSession => Err(ended()),
        }
    }

    /// Warns the operator, once, that other callers can answer and cancel in the session of this one.
    fn warn_unowned(&self, context: &RequestContext<RoleServer>, identity: &Identity) {
        if owners::is_unowned(&context.extensions, identity) && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "callers are known, but rmcp's HTTP sessions are open to every caller who knows an id: put the service \
                 behind the layer of `Flows::session_owners`, made after `caller` and `tenant` are set"
            );
        }
    }

    /// Tells a client what changes in its session, for as long as it is there. The session begins with a request, and not
    /// here: whose it is, a request says.
    pub(in crate::server) async fn tell_changes(&self, peer: &Peer<RoleServer>) {
        let Some(handshake) = peer.peer_info() else { return };
        while !peer.is_transport_closed() {
            if let Some(session) = self.find(&handshake) {
                session.listen(peer).await;
            }
            tokio::time::sleep(CLOSED_POLL).await;
        }
    }

    /// The session of a client, which begins if there is none.
    async fn of(&self, peer: &Peer<RoleServer>, identity: &Identity) -> Result<Arc<Session>, ErrorData> {
        // Without a handshake nothing is known of the client, and the session serves one request.
        let Some(handshake) = peer.peer_info() else {
            let client = InitializeRequestParams::default();
            return Session::begin(&self.server, &client, identity).await.map(Arc::new);
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

    /// Keeps a session that has begun, unless another request of its client was quicker. Those of clients that are gone
    /// are forgotten: there are never more than there were clients at once.
    fn enter(&self, handshake: &Arc<InitializeRequestParams>, begun: Session) -> Arc<Session> {
        let begun = Known { handshake: Arc::downgrade(handshake), session: Arc::new(begun) };
        let mut known = self.known();
        let gone: Vec<_> = known.extract_if(|_, known| known.handshake.strong_count() == 0).collect();
        let session = Arc::clone(&known.entry(Arc::as_ptr(handshake).addr()).or_insert(begun).session);
        drop(known);
        // They end here, where nothing is locked.
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

/// In the words that our server has for it.
fn ended() -> ErrorData {
    ErrorData::invalid_request("There is no such session; begin anew with `initialize`", None)
}
