//! The reply to a request: one message or a stream of events, read within its limit.

use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use mrtr_client::{
    CredentialsFingerprint, ServerMessage, SessionId, TransportError, TransportRequest, TransportResponse,
};
use mrtr_schema::Era;
use reqwest::Response;

use super::events::response_of;
use super::send::{Sender, Sent, retry_after};
use super::session::{CancelOnDrop, session_ended, session_of};
use super::status;

/// A response, how long the server wants to be left alone before the next one, and for whose credentials it came.
pub(super) struct HttpReply {
    pub(super) text: String,
    status: u16,
    retry_after: Option<Duration>,
    credentials: Option<CredentialsFingerprint>,
    session: Option<SessionId>,
}

impl HttpReply {
    pub(super) fn into_response(self) -> TransportResponse {
        let mut response = TransportResponse::new(self.text).status(self.status);
        if let Some(pause) = self.retry_after {
            response = response.retry_after(pause);
        }
        if let Some(session) = self.session {
            response = response.session(session);
        }
        match self.credentials {
            Some(fingerprint) => response.credentials(fingerprint),
            None => response,
        }
    }
}

impl Sender {
    /// Sends a request, and takes the reply.
    pub(super) async fn reply(
        &self,
        request: &TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<HttpReply, TransportError> {
        let Sent { response, credentials } = self.send(request).await?;
        let (retry_after, status) = (retry_after(&response), response.status());
        let text = match MediaType::of(&response) {
            _ if status::is_refusal(status) => return Err(status::not_a_message(status, response).await),
            MediaType::Events => response_of(response, request.reply_bytes, on_message).await?,
            MediaType::Json => whole(response, request.reply_bytes).await?,
            MediaType::Other => return Err(status::not_a_message(status, response).await),
        };
        status::check(status, &text)?;
        Ok(HttpReply { text, status: status.as_u16(), retry_after, credentials, session: None })
    }

    /// Sends a request of a session, or the one that begins it, and takes the reply. If this is dropped before, the server
    /// hears of that.
    pub(super) async fn reply_in_session(
        &self,
        request: &TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<HttpReply, TransportError> {
        debug_assert_eq!(request.revision.era(), Era::Legacy, "only that era has sessions");
        let cancel = CancelOnDrop::new(self, request);
        let Sent { response, credentials } = match self.send(request).await {
            Ok(sent) => sent,
            Err(error) => {
                cancel.disarm();
                return Err(error);
            }
        };
        let (retry_after, status) = (retry_after(&response), response.status());
        let session = if request.method == "initialize" { session_of(&response)? } else { None };
        let text = match MediaType::of(&response) {
            MediaType::Events if status.is_success() => self.response_in_session(response, request, on_message).await?,
            // The server has not taken it, so that there is nothing to cancel.
            _ if status == StatusCode::NOT_FOUND && request.session.is_some() => {
                cancel.disarm();
                return Err(session_ended());
            }
            MediaType::Json if !status::is_refusal(status) => whole(response, request.reply_bytes).await?,
            _ => {
                cancel.disarm();
                return Err(status::not_a_message(status, response).await);
            }
        };
        cancel.disarm();
        status::check(status, &text)?;
        Ok(HttpReply { text, status: status.as_u16(), retry_after, credentials, session })
    }
}

/// What a response says that it is.
enum MediaType {
    Json,
    Events,
    Other,
}

impl MediaType {
    fn of(response: &Response) -> Self {
        let named = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/json" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other,
        }
    }
}

/// A reply of one piece, within its limit.
async fn whole(mut response: Response, limit: usize) -> Result<String, TransportError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(TransportError::new)? {
        if bytes.len() + chunk.len() > limit {
            return Err(TransportError::new(format!("the reply is longer than {limit} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes.into()).map_err(TransportError::new)
}
