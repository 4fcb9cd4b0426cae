//! The reply to a request: one message or a stream of events, read within its limit, and what its HTTP status says
//! beside it.

use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use mrtr_client::{
    CredentialsFingerprint, ServerMessage, SessionId, TransportError, TransportFailure, TransportRequest,
    TransportResponse,
};
use mrtr_schema::{Envelope, Era, ErrorObject, Printable, Revision, Wire};
use reqwest::Response;

use super::events::response_of;
use super::send::{Sender, Sent, retry_after};
use super::session::{CancelOnDrop, session_ended, session_of};

/// A response, with the pause that the server asks for and the fingerprint of the credentials that it came for.
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
    /// Sends a request, and reads the reply.
    pub(super) async fn reply(
        &self,
        request: &TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<HttpReply, TransportError> {
        let Sent { response, credentials } = self.send(request).await?;
        let (retry_after, status) = (retry_after(&response), response.status());
        let text = match MediaType::of(&response) {
            _ if is_refusal(status) => return Err(not_a_message(status, response).await),
            MediaType::Events => response_of(response, request.reply_bytes, on_message).await?,
            MediaType::Json => whole(response, request.reply_bytes).await?,
            MediaType::Other => return Err(not_a_message(status, response).await),
        };
        check_status(status, &text)?;
        Ok(HttpReply { text, status: status.as_u16(), retry_after, credentials, session: None })
    }

    /// Sends a request of a session, or the one that begins it, and reads the reply. If the caller drops this before
    /// the reply, the server gets a cancellation.
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
            // The server did not accept the request, so there is nothing to cancel.
            _ if status == StatusCode::NOT_FOUND && request.session.is_some() => {
                cancel.disarm();
                return Err(session_ended());
            }
            MediaType::Json if !is_refusal(status) => whole(response, request.reply_bytes).await?,
            _ => {
                cancel.disarm();
                return Err(not_a_message(status, response).await);
            }
        };
        cancel.disarm();
        check_status(status, &text)?;
        Ok(HttpReply { text, status: status.as_u16(), retry_after, credentials, session })
    }
}

/// The media type of a response.
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

/// Returns true if the server did not let the request in. HTTP decides who may call, below the protocol: whatever the
/// body says, the caller needs other credentials.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Checks that a body fits its status: a failure may come with an error, and not with a result.
fn check_status(status: StatusCode, body: &str) -> Result<(), TransportError> {
    if status.is_success() {
        return Ok(());
    }
    match Envelope::parse(body.as_bytes()) {
        Ok(Envelope::Error { .. }) => Ok(()),
        // The error has no status: the server has run the request, whatever the status says.
        Ok(Envelope::Result { .. }) => Err(TransportError::new(format!(
            "the server answered with status {status} and with a result: one of them is wrong, and the result was not taken"
        ))),
        Ok(_) | Err(_) => Err(status_error(status, body)),
    }
}

/// The error for a response that is not a message, with the beginning of its body.
pub(super) async fn not_a_message(status: StatusCode, response: Response) -> TransportError {
    status_error(status, &beginning(response).await)
}

fn status_error(status: StatusCode, body: &str) -> TransportError {
    let failure = match status {
        StatusCode::UNAUTHORIZED => TransportFailure::Unauthorized,
        StatusCode::FORBIDDEN => TransportFailure::Forbidden,
        StatusCode::NOT_FOUND => TransportFailure::NotFound,
        _ => TransportFailure::Other,
    };
    let said = match (reason(body), body.trim()) {
        (Some(reason), _) => format!("the server answered with status {status}: {}", Printable::line(&reason)),
        (None, "") => format!("the server answered with status {status} and no message"),
        (None, body) => match title(body) {
            Some(title) => {
                format!("the server answered with status {status} and the page `{}`", Printable::line(&title))
            }
            None => {
                format!("the server answered with status {status} and the text `{}`", Printable::line(&words(body)))
            }
        },
    };
    TransportError::of(failure, said).with_status(status.as_u16())
}

/// The title of an HTML page, if the body is one that has a title: a proxy sends such pages for people.
fn title(body: &str) -> Option<String> {
    let lower = body.to_ascii_lowercase();
    let opened = lower.find("<title")?;
    let begin = opened + lower[opened..].find('>')? + 1;
    let end = begin + lower[begin..].find("</title")?;
    Some(words(&body[begin..end])).filter(|title| body.starts_with('<') && !title.is_empty())
}

/// A text as one line, with one space between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The reason in the body of a response that the client does not take for an answer, if that body is an error.
fn reason(body: &str) -> Option<String> {
    let Ok(Envelope::Error { error, .. }) = Envelope::parse(body.as_bytes()) else { return None };
    let error = ErrorObject::read(error, Revision::default().lenient()).ok()?;
    Some(format!("{} ({})", error.message, error.code.as_i64()))
}

/// The beginning of a body, as much as an error message shows. It is shorter if the body does not come in time.
async fn beginning(mut response: Response) -> String {
    let mut bytes = Vec::new();
    let read = async {
        while bytes.len() < MAX_SHOWN
            && let Ok(Some(chunk)) = response.chunk().await
        {
            bytes.extend_from_slice(&chunk[..chunk.len().min(MAX_SHOWN)]);
        }
    };
    // The status is known already, and an error with it is worth more than a wait for the rest of the body.
    let _ = tokio::time::timeout(MAX_READ, read).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

const MAX_READ: Duration = Duration::from_secs(2);

/// The most bytes of a body to read for an error: a character has at most four bytes, and a body that is an error has
/// more in it than its message.
const MAX_SHOWN: usize = 16 * Printable::LINE;
