//! What our server asks in a session: a request to rmcp's client, which is taken back if its answer is not wanted any more.

use bytes::Bytes;
use rmcp::model::{ClientResult, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::runtime::Handle;

use super::message;

/// Has the client answer a question, and gives the answer as our server reads it.
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

/// A question that the client is answering. rmcp tells it nothing when the wait for the answer is dropped; this does.
struct Asked(Option<RequestHandle<RoleServer>>);

impl Drop for Asked {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // If the client is gone, it is not told.
            runtime.spawn(async { handle.cancel(Some("the answer is not wanted any more".to_owned())).await.ok() });
        }
    }
}
