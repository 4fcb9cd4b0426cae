//! Requests of the legacy era: rmcp's session is one of our server's too, whose calls stay open while the client is asked.

mod call;
mod table;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use mrtr_server::transport::{HeaderClaim, LegacyReply, Received, SessionId, SessionStream};
use mrtr_server::{Reply, Server};
use rmcp::model::InitializeRequestParams;
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::message::{self, FromServer, no_response};
use super::modern;
use crate::identity::Identity;
use call::OpenCall;
pub(super) use table::Sessions;

/// A session of our server's. It ends with this.
pub(super) struct Session {
    server: Server,
    /// None if the server keeps no sessions.
    id: Option<SessionId>,
    version: String,
    /// Whose it is.
    identity: Identity,
    next_call: AtomicI64,
}

/// What came of a request.
enum Called {
    Answered(Result<String, ErrorData>),
    /// Our server has ended the session meanwhile: the request has not run.
    NoSession,
}

impl Session {
    /// Begins one for a client of which rmcp knows this.
    async fn begin(server: &Server, client: &InitializeRequestParams, identity: &Identity) -> Result<Self, ErrorData> {
        let initialize = message::request(&0, "initialize", &message::written(client)?);
        let mut begun = Self {
            server: server.clone(),
            id: None,
            version: client.protocol_version.as_str().to_owned(),
            identity: identity.clone(),
            next_call: AtomicI64::new(1),
        };
        match begun.answer(initialize).await {
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

    /// What our server answers to a message.
    async fn answer(&self, body: Bytes) -> LegacyReply {
        let context = self.identity.context().received(self.server.arrival());
        match self.server.receive(body, context).await {
            Received::Reply(reply) => LegacyReply::Modern(reply),
            Received::Legacy(message) => {
                // Without sessions a server is told the version with each message.
                let version = match self.id {
                    Some(_) => HeaderClaim::Missing,
                    None => HeaderClaim::Text(self.version.as_str().into()),
                };
                message.answer(self.id.as_ref().map(SessionId::as_str), &version).await
            }
        }
    }

    /// Has our server answer a request. Stops when the client cancels, and then our server hears of it.
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

    /// Tells the client what changes, until it is gone.
    pub(super) async fn listen(&self, peer: &Peer<RoleServer>) {
        let Some(id) = &self.id else { return };
        while !peer.is_transport_closed() {
            let context = self.identity.context();
            let Ok(events) = self.server.sessions().listen(id.as_str(), &context, &HeaderClaim::Missing, None) else {
                return;
            };
            // It ends if too much changed at once to be told one by one. Then it begins anew.
            forward(events, peer).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.server.sessions().end(id.as_str(), &self.identity.context());
        }
    }
}

/// Passes on what changes, until there is no more of it or the client is gone.
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

/// How often to look whether a client that hears nothing is still there: rmcp does not say when it goes.
const CLOSED_POLL: Duration = Duration::from_secs(1);
