//! A call that our server has begun in a session: what it says and asks goes to the client, and answers come back.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use mrtr_server::Context;
use mrtr_server::transport::{HeaderClaim, Received, SessionId, SessionStream};
use rmcp::model::{ClientResult, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::super::message::{self, FromServer, no_response};
use super::super::modern;
use super::Session;

/// A call that our server has begun. If this is dropped before the call is over, the call is cancelled.
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
        let (server, session, context) = (server.clone(), id.clone(), Context::new().identity(identity.clone()));
        let cancelled = message::notification("notifications/cancelled", &json!({ "requestId": self.id }));
        runtime.spawn(async move {
            if let Received::Legacy(message) = server.receive(cancelled, context).await {
                message.answer(session.as_ref().map(SessionId::as_str), &HeaderClaim::Missing).await;
            }
        });
    }
}

/// The open questions of a call to its client. The task of the call polls them: rmcp chooses the stream for a question
/// by the task that sends it.
#[derive(Default)]
struct Questions<'a> {
    /// The open questions, by the ids that our server gave them.
    open: HashMap<String, AbortHandle>,
    asking: FuturesUnordered<BoxFuture<'a, (String, Option<Bytes>)>>,
}

impl<'a> Questions<'a> {
    fn ask(&mut self, peer: &'a Peer<RoleServer>, id: Value, request: Result<ServerRequest, ErrorData>) {
        let (key, (stop, stopped)) = (id.to_string(), AbortHandle::new_pair());
        self.open.insert(key.clone(), stop);
        let asked = Abortable::new(ask(peer, id, request), stopped);
        self.asking.push(Box::pin(async { (key, asked.await.ok()) }));
    }

    fn withdraw(&mut self, id: &Value) {
        if let Some(stop) = self.open.remove(&id.to_string()) {
            stop.abort();
        }
    }

    /// Returns the next answer, as our server reads it, or `None` while no question is open.
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

/// Has the client answer a question, and returns the answer as our server reads it.
pub(super) async fn ask(peer: &Peer<RoleServer>, id: Value, request: Result<ServerRequest, ErrorData>) -> Bytes {
    let answer = match request {
        Ok(request) => match answered(peer, request).await {
            Ok(answer) => message::written(&answer),
            Err(ServiceError::McpError(error)) => Err(error),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        },
        Err(error) => Err(error),
    };
    message::answer(&id, &answer)
}

async fn answered(peer: &Peer<RoleServer>, request: ServerRequest) -> Result<ClientResult, ServiceError> {
    let handle = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
    let mut asked = Asked(Some(handle));
    let Some(handle) = &mut asked.0 else { return Err(ServiceError::UnexpectedResponse) };
    let answer = (&mut handle.rx).await;
    asked.0 = None;
    answer.unwrap_or(Err(ServiceError::TransportClosed))
}

/// A question that the client is answering. rmcp does not tell the client when the wait for the answer is dropped, so
/// this does.
struct Asked(Option<RequestHandle<RoleServer>>);

impl Drop for Asked {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // If the client is gone, it is not told.
            runtime.spawn(async { handle.cancel(Some("the answer is not wanted any more".to_owned())).await.ok() });
        }
    }
}
