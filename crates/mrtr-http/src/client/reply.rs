//! The reply to a request: one message or a stream of events, read within its limit.

use std::time::Duration;

use bytes::BytesMut;
use http::header::CONTENT_TYPE;
use mrtr_client::{CredentialsFingerprint, ServerNotification, TransportError, TransportRequest, TransportResponse};
use reqwest::Response;

use super::events::response_of;
use super::send::{Sender, Sent, retry_after};
use super::status;

/// A response, how long the server wants to be left alone before the next one, and for whose credentials it came.
pub(super) struct HttpReply {
    pub(super) text: String,
    status: u16,
    retry_after: Option<Duration>,
    credentials: Option<CredentialsFingerprint>,
}

impl HttpReply {
    pub(super) fn into_response(self) -> TransportResponse {
        let mut response = TransportResponse::new(self.text).status(self.status);
        if let Some(pause) = self.retry_after {
            response = response.retry_after(pause);
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
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<HttpReply, TransportError> {
        let Sent { response, credentials } = self.send(request).await?;
        let retry_after = retry_after(&response);
        let status = response.status();
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let text = match media_type.as_str() {
            _ if status::is_refusal(status) => return Err(status::not_a_message(status, response).await),
            "text/event-stream" => response_of(response, request.reply_bytes, on_notification).await?,
            "application/json" => whole(response, request.reply_bytes).await?,
            _ => return Err(status::not_a_message(status, response).await),
        };
        status::check(status, &text)?;
        Ok(HttpReply { text, status: status.as_u16(), retry_after, credentials })
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
