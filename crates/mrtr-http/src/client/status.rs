//! What an HTTP status says beside its body: whether both say the same, and what there is to say if the body is no
//! message.

use std::time::Duration;

use http::StatusCode;
use mrtr_client::{TransportError, TransportFailure};
use mrtr_schema::{Envelope, ErrorObject, Printable, Revision, Wire};
use reqwest::Response;

/// Whether the server did not let the request in. Who may call is settled below the protocol: whatever the body is, the
/// credentials are what there is to do something about.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Whether a body may stand below its status: a failure may come with an error, and not with a result.
pub(super) fn check(status: StatusCode, body: &str) -> Result<(), TransportError> {
    if status.is_success() {
        return Ok(());
    }
    match Envelope::parse(body.as_bytes()) {
        Ok(Envelope::Error { .. }) => Ok(()),
        // No status is told on: the server has run the request, whatever it says.
        Ok(Envelope::Result { .. }) => Err(TransportError::new(format!(
            "the server answered with status {status} and with a result: one of them is wrong, and the result was not taken"
        ))),
        Ok(_) | Err(_) => Err(status_error(status, body)),
    }
}

/// The error for a response that is no message, with the beginning of what it is.
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
    let said = format!("the server answered with status {status} and no message");
    let said = match (reason(body), body.trim()) {
        (Some(reason), _) => format!("the server answered with status {status}: {}", Printable::line(&reason)),
        (None, "") => said,
        (None, body) => format!("{said}, but with `{}`", Printable::line(body)),
    };
    TransportError::of(failure, said).with_status(status.as_u16())
}

/// What the server gives as its reason, where a body that is not taken for an answer is an error all the same.
fn reason(body: &str) -> Option<String> {
    let Ok(Envelope::Error { error, .. }) = Envelope::parse(body.as_bytes()) else { return None };
    let error = ErrorObject::read(error, Revision::default().lenient()).ok()?;
    Some(format!("{} ({})", error.message, error.code.as_i64()))
}

/// As much of a body as can be shown, if it comes.
async fn beginning(mut response: Response) -> String {
    let mut bytes = Vec::new();
    let read = async {
        while bytes.len() < MAX_SHOWN
            && let Ok(Some(chunk)) = response.chunk().await
        {
            bytes.extend_from_slice(&chunk[..chunk.len().min(MAX_SHOWN)]);
        }
    };
    // The status is there already, and is worth more than the rest of a body that does not come.
    let _ = tokio::time::timeout(MAX_READ, read).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

const MAX_READ: Duration = Duration::from_secs(2);

/// No character is longer than four bytes; and an error has more to it than its message.
const MAX_SHOWN: usize = 16 * Printable::LINE;
