//! Sessions of the legacy era: their headers, messages that have no response, streams that are resumed, and calls that
//! are cancelled by a message.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use mrtr_client::{OneWayMessage, ServerMessage, SessionId, TransportError, TransportFailure, TransportRequest};
use mrtr_schema::{Backoff, Envelope, RequestId, Revision};
use reqwest::Response;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::events::{Event, Parser};
use super::reply::not_a_message;
use super::send::{MAX_ATTEMPTS, RETRY_PAUSE, RETRY_PAUSES, Sender, failed};

/// Returns the session that a response begins, if it begins one.
pub(super) fn session_of(response: &Response) -> Result<Option<SessionId>, TransportError> {
    let Some(id) = response.headers().get(SESSION_ID) else { return Ok(None) };
    let is_plain =
        |id: &&str| !id.is_empty() && id.len() <= MAX_SESSION_ID && id.bytes().all(|byte| byte.is_ascii_graphic());
    match id.to_str().ok().filter(is_plain) {
        Some(id) => Ok(Some(SessionId::new(id))),
        None => Err(TransportError::new("the id of the session is none that the protocol allows")),
    }
}

/// Inserts the headers of a message in a session. `initialize` belongs to no session yet.
pub(super) fn session_headers(headers: &mut HeaderMap, revision: Revision, session: Option<&SessionId>) {
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
    if let Some(Ok(mut id)) = session.map(|session| HeaderValue::from_str(session.as_str())) {
        id.set_sensitive(true);
        headers.insert(SESSION_ID, id);
    }
}

impl Sender {
    /// Sends a message that has no response. This may send it again: the server knows by its id an answer that it
    /// already has.
    pub(super) async fn send_one_way(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        let mut attempt = 1;
        loop {
            let body = Some(message.message.to_owned());
            match self.in_session(Method::POST, message.revision, message.session, None, body).await {
                Ok(response) if response.status().is_success() => return Ok(()),
                Ok(response) if attempt < MAX_ATTEMPTS && response.status() == StatusCode::SERVICE_UNAVAILABLE => {}
                Ok(response) => return Err(refused(response, message.session).await),
                Err(error) if attempt >= MAX_ATTEMPTS || error.failure() == TransportFailure::Unauthorized => {
                    return Err(error);
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY_PAUSES.pause(attempt - 1)).await;
            attempt += 1;
        }
    }

    /// Tells the server that a session is over. A failure is only logged.
    pub(super) async fn end_session(&self, session: &SessionId, revision: Revision) {
        let ending = self.in_session(Method::DELETE, revision, Some(session), None, None);
        let ended = tokio::time::timeout(MAX_GOODBYE, ending).await;
        if !matches!(ended, Ok(Ok(_))) {
            tracing::debug!("the end of a session could not be sent to the server");
        }
    }

    /// Reads the stream of a call to its response. If the stream breaks off, this resumes it where it was, as long as
    /// the server gave its events ids.
    pub(super) async fn response_in_session(
        &self,
        mut stream: Response,
        request: &TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<String, TransportError> {
        let mut cursor = Cursor::default();
        let mut failures = 0;
        loop {
            let (before, begun) = (cursor.last_id.clone(), Instant::now());
            let broken = match read(stream, &mut cursor, request, on_message).await? {
                Ok(response) => return Ok(response),
                Err(broken) => broken,
            };
            if cursor.last_id != before {
                failures = 0;
            }
            let Some(last_id) = &cursor.last_id else { return Err(broken) };
            let open_for = begun.elapsed();
            stream = loop {
                tokio::time::sleep(cursor.pause(failures, open_for)).await;
                match self.in_session(Method::GET, request.revision, request.session, Some(last_id), None).await {
                    Ok(stream) if is_stream(&stream) => {
                        // A message sets this to zero again. An id alone does not: a server may begin every stream with
                        // one.
                        cursor.empty_streams = cursor.empty_streams.saturating_add(1);
                        break stream;
                    }
                    Ok(other) => return Err(not_resumed(other, &broken).await),
                    Err(_) if failures + 1 < MAX_FAILURES => failures += 1,
                    Err(error) => return Err(cannot_resume(&broken, &error)),
                }
            };
        }
    }

    /// Sends a request with the headers of a session, and once more with another token if the server refuses the first.
    async fn in_session(
        &self,
        method: Method,
        revision: Revision,
        session: Option<&SessionId>,
        last_id: Option<&str>,
        body: Option<String>,
    ) -> Result<Response, TransportError> {
        let mut refused: Option<String> = None;
        loop {
            let token = self.token(refused.as_deref()).await?;
            let mut headers = self.headers.clone();
            session_headers(&mut headers, revision, session);
            headers.insert(ACCEPT, HeaderValue::from_static(if body.is_some() { BOTH } else { STREAM }));
            if let Some(Ok(last_id)) = last_id.map(HeaderValue::from_str) {
                headers.insert(LAST_EVENT_ID, last_id);
            }
            Self::authorize(&mut headers, token.as_deref())?;
            let mut sending = self.http.request(method.clone(), self.url.clone());
            if let Some(body) = &body {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                sending = sending.body(body.clone());
            }
            let response = sending.headers(headers).send().await.map_err(failed)?;
            if response.status() != StatusCode::UNAUTHORIZED || token.is_none() || refused.is_some() {
                return Ok(response);
            }
            refused = token;
        }
    }
}

/// The position in a stream.
#[derive(Default)]
struct Cursor {
    last_id: Option<String>,
    retry: Option<Duration>,
    /// The number of streams in a row that were resumed and brought no message.
    empty_streams: u32,
}

impl Cursor {
    /// The pause before the client resumes the stream: as long as the server says, and longer after each failure and
    /// each stream that ended empty. The time that the last stream was open counts as part of the pause: a server that
    /// holds a stream before it ends it is not asked too often.
    fn pause(&self, failures: u32, open_for: Duration) -> Duration {
        let least = Backoff::new(RETRY_PAUSE, MAX_PAUSE).pause(failures.saturating_add(self.empty_streams));
        // A server that cannot be reached is not tried more often because its last stream was long.
        let open_for = if failures == 0 { open_for } else { Duration::ZERO };
        let least = least.saturating_sub(open_for).max(RETRY_PAUSE);
        self.retry.map_or(least, |retry| retry.max(least)).min(MAX_PAUSE)
    }
}

/// Reads a stream up to the response. If the stream breaks off in a way that the client can resume, the inner error
/// says why.
async fn read(
    mut stream: Response,
    cursor: &mut Cursor,
    request: &TransportRequest<'_>,
    on_message: &mut (dyn FnMut(ServerMessage) + Send),
) -> Result<Result<String, TransportError>, TransportError> {
    let mut parser = Parser::new(request.reply_bytes);
    loop {
        let chunk = match stream.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(Err(TransportError::new("the stream ended without a response"))),
            Err(error) => return Ok(Err(TransportError::new(error))),
        };
        parser.feed(&chunk);
        loop {
            let message = parser.next()?;
            cursor.retry = parser.retry().or(cursor.retry);
            cursor.last_id = parser.take_last_id().or(cursor.last_id.take());
            let Some(message) = message else { break };
            cursor.empty_streams = 0;
            match Event::of(message)? {
                Event::Before(message) => on_message(message),
                Event::Response(message) if answers(&message, request.id) => return Ok(Ok(message)),
                Event::Response(_) => tracing::debug!("a response to no request of this stream was passed over"),
            }
        }
    }
}

/// Returns true if a response is to this request, or to one whose id the server could not read.
fn answers(message: &str, id: &RequestId) -> bool {
    match Envelope::parse(message.as_bytes()) {
        Ok(Envelope::Result { id: answered, .. }) => answered == *id,
        Ok(Envelope::Error { id: answered, .. }) => answered.is_none_or(|answered| answered == *id),
        _ => false,
    }
}

fn is_stream(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    response.status().is_success() && media_type.to_ascii_lowercase().starts_with(STREAM)
}

/// The error for a message that the server did not accept.
async fn refused(response: Response, session: Option<&SessionId>) -> TransportError {
    let status = response.status();
    if status == StatusCode::NOT_FOUND && session.is_some() {
        return session_ended();
    }
    not_a_message(status, response).await
}

pub(super) fn session_ended() -> TransportError {
    TransportError::of(TransportFailure::SessionEnded, "the server no longer knows it").with_status(404)
}

async fn not_resumed(response: Response, broken: &TransportError) -> TransportError {
    cannot_resume(broken, &not_a_message(response.status(), response).await)
}

/// The error for a stream that cannot be resumed. It carries no status and no kind of failure, so that the client does
/// not send the call again: it was under way, and may have run.
fn cannot_resume(broken: &TransportError, error: &TransportError) -> TransportError {
    TransportError::new(format!("{broken}, and cannot be resumed: {error}"))
}

/// A guard that cancels a call at the server when it is dropped before the response is there. In a session, the end of
/// the connection alone cancels nothing.
pub(super) struct CancelOnDrop {
    sender: Option<Sender>,
    id: RequestId,
    revision: Revision,
    session: Option<SessionId>,
}

impl CancelOnDrop {
    pub(super) fn new(sender: &Sender, request: &TransportRequest<'_>) -> Self {
        // `initialize` must not be cancelled.
        let sender = (request.method != "initialize").then(|| sender.clone());
        Self { sender, id: request.id.clone(), revision: request.revision, session: request.session.cloned() }
    }

    /// Turns the cancellation off.
    pub(super) fn disarm(mut self) {
        self.sender = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(sender), Ok(runtime)) = (self.sender.take(), Handle::try_current()) else { return };
        let params = json!({ "requestId": self.id });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string();
        let (revision, session) = (self.revision, self.session.take());
        runtime.spawn(async move {
            let sending = sender.in_session(Method::POST, revision, session.as_ref(), None, Some(message));
            if !matches!(tokio::time::timeout(MAX_GOODBYE, sending).await, Ok(Ok(_))) {
                tracing::debug!("a call could not be cancelled at its server");
            }
        });
    }
}

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BOTH: &str = "application/json, text/event-stream";
const STREAM: &str = "text/event-stream";

/// The longest id of a session that the client accepts, in bytes.
pub(super) const MAX_SESSION_ID: usize = 4096;

/// The most failures in a row to resume a stream.
pub(super) const MAX_FAILURES: u32 = 5;

/// The longest pause before a stream is resumed, whatever its server says.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The longest time to tell the server that a session or a call is over.
const MAX_GOODBYE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(empty_streams: u32, failures: u32, retry: Option<u64>, open_for: u64) -> u128 {
        let cursor = Cursor { last_id: None, retry: retry.map(Duration::from_millis), empty_streams };
        cursor.pause(failures, Duration::from_millis(open_for)).as_millis()
    }

    #[test]
    fn the_pause_doubles_with_each_failure_and_each_empty_stream_and_has_an_end() {
        assert_eq!([0, 1, 2, 3].map(|empty| pause(empty, 0, None, 0)), [100, 200, 400, 800]);
        assert_eq!([0, 1, 2, 3].map(|failures| pause(1, failures, None, 0)), [200, 400, 800, 1600]);
        assert_eq!([9, 40, u32::MAX].map(|empty| pause(empty, u32::MAX, None, 0)), [30_000; 3]);
    }

    #[test]
    fn a_server_says_how_long_to_wait_at_least_and_a_stream_that_was_held_counts() {
        assert_eq!(pause(0, 0, Some(1500), 0), 1500);
        assert_eq!(pause(0, 0, Some(u64::MAX), 0), 30_000);
        assert_eq!([0, 300, 800, 60_000].map(|open| pause(3, 0, None, open)), [800, 500, 100, 100]);
        assert_eq!(pause(0, 3, None, 60_000), 800, "failures count for themselves");
        assert_eq!(pause(3, 0, Some(250), 60_000), 250, "what the server says is waited out in any case");
    }
}
