//! A call that our server has begun in a session: what it says and asks goes to the client, and answers come back.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use mrtr_server::transport::{HeaderClaim, Received, SessionId, SessionStream};
use rmcp::model::ServerRequest;
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::super::message::{self, FromServer, no_response};
use super::super::{modern, question};
use super::Session;

/// A call that our server has begun. Unless it is over, it is cancelled with this.
pub(super) struct OpenCall<'a> {
    session: &'a Session,
    pub(super) id: i64,
    is_over: bool,
}

impl<'a> OpenCall<'a> {
    pub(super) fn new(session: &'a Session, id: i64) -> Self {
        Self { session, id, is_over: false }
    }

    pub(super) fn ended(mut self) {
        self.is_over = true;
    }

    /// Passes questions and notifications to the client, and answers back, until the response is there.
    pub(super) async fn relay(
        mut self,
        mut events: SessionStream,
        peer: &Peer<RoleServer>,
    ) -> Result<String, ErrorData> {
        let mut questions = Questions::default();
        loop {
            tokio::select! {
                biased;
                Some(answer) = questions.answered() => {
                    self.session.answer(answer).await;
                }
                event = events.next() => {
                    let Some(event) = event else { return Err(no_response()) };
                    let Some(text) = event.message else { continue };
                    match FromServer::read(&text)? {
                        FromServer::Response(response) => {
                            self.is_over = true;
                            return response;
                        }
                        FromServer::Question { id, request } => questions.ask(peer, id, request),
                        FromServer::Withdrawn { id } => questions.withdraw(&id),
                        FromServer::Notification(Some(notification)) => modern::tell(peer, notification).await,
                        FromServer::Notification(None) => {}
                    }
                }
            }
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let Session { server, id, identity, .. } = self.session;
        let (server, session, context) = (server.clone(), id.clone(), identity.context());
        let cancelled = message::notification("notifications/cancelled", &json!({ "requestId": self.id }));
        runtime.spawn(async move {
            if let Received::Legacy(message) = server.receive(cancelled, context).await {
                message.answer(session.as_ref().map(SessionId::as_str), &HeaderClaim::Missing).await;
            }
        });
    }
}

/// What the client is asked for a call. It is polled in the task of the call, since rmcp knows by that on which stream
/// a question goes out.
#[derive(Default)]
struct Questions<'a> {
    /// By the ids that our server gave them.
    open: HashMap<String, AbortHandle>,
    asking: FuturesUnordered<BoxFuture<'a, (String, Option<Bytes>)>>,
}

impl<'a> Questions<'a> {
    fn ask(&mut self, peer: &'a Peer<RoleServer>, id: Value, request: Result<ServerRequest, ErrorData>) {
        let (key, (stop, stopped)) = (id.to_string(), AbortHandle::new_pair());
        self.open.insert(key.clone(), stop);
        let asked = Abortable::new(question::ask(peer, id, request), stopped);
        self.asking.push(Box::pin(async { (key, asked.await.ok()) }));
    }

    fn withdraw(&mut self, id: &Value) {
        if let Some(stop) = self.open.remove(&id.to_string()) {
            stop.abort();
        }
    }

    /// The next answer, as our server reads it; none while nothing is asked.
    async fn answered(&mut self) -> Option<Bytes> {
        while let Some((key, answer)) = self.asking.next().await {
            self.open.remove(&key);
            if answer.is_some() {
                return answer;
            }
        }
        None
    }
}
