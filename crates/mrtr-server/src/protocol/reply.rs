//! The replies of a server, as a transport sends them.

use std::fmt;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use mrtr_schema::error_object::ErrorResponse;
use mrtr_schema::{ErrorCode, ErrorObject, InRevision, RequestId, Revision};
use tokio::sync::mpsc;

use crate::support::contained::poll_cooperatively;

/// The reply of a server to a message.
///
/// ```
/// use mrtr_server::Reply;
///
/// /// What a transport may do with it.
/// fn content_type(reply: &Reply) -> Option<&'static str> {
///     match reply {
///         Reply::Message { .. } => Some("application/json"),
///         Reply::Stream(_) | Reply::Subscription(_) => Some("text/event-stream"),
///         _ => None,
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// A JSON-RPC response.
    Message {
        /// Its text.
        body: String,
        /// The code, if it is an error, and how far the request had come: a transport may have a status for it.
        error: Option<(ErrorCode, Stage)>,
    },
    /// Notifications, and a response as the last message. Dropping it cancels the request.
    Stream(ReplyStream),
    /// The notifications of a subscription, for as long as its client wants, and a response when the server ends it.
    /// Dropping it ends the subscription.
    Subscription(ReplyStream),
    /// No answer: the message was a notification.
    Accepted,
}

/// The stage at which a request was refused.
///
/// ```
/// use mrtr_schema::ErrorCode;
/// use mrtr_server::{Context, Reply, Server};
/// use mrtr_server::transport::Stage;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("empty", "1.0.0").build().unwrap();
/// let Reply::Message { error, .. } = server.handle("{".into(), Context::new()).await else { panic!("a message") };
/// assert_eq!(error, Some((ErrorCode::PARSE_ERROR, Stage::Metadata)));
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a request reaches its method or it does not")]
pub enum Stage {
    /// The request is wrong in itself, whatever its method: it is no message, or lacks what each request must say.
    Metadata,
    /// The request's method decided, or the lack of it.
    Method,
}

/// An error, and how far the request had come.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: Box<ErrorObject>,
    pub(crate) stage: Stage,
}

impl Refused {
    pub(crate) fn early(error: ErrorObject) -> Self {
        Self { error: Box::new(error), stage: Stage::Metadata }
    }

    #[cold]
    pub(crate) fn not_a_request() -> Self {
        Self::early(ErrorObject::new(ErrorCode::INVALID_REQUEST, "A response was sent where a request is expected"))
    }
}

impl From<ErrorObject> for Refused {
    fn from(error: ErrorObject) -> Self {
        Self { error: Box::new(error), stage: Stage::Method }
    }
}

impl Reply {
    /// A result, as JSON text, in answer to a request. The text becomes the message if there is room around it.
    pub(crate) fn result(id: &RequestId, mut result: String) -> Self {
        match id {
            RequestId::Integer(number) => result.insert_str(0, head(*number, &mut [0; HEAD])),
            RequestId::String(_) => {
                let id = serde_json::to_string(id).expect("an id is JSON");
                result.insert_str(0, &format!("{BEFORE_ID}{id}{AFTER_ID}"));
            }
        }
        result.push('}');
        Self::Message { body: result, error: None }
    }

    pub(crate) fn error(id: Option<RequestId>, Refused { error, stage }: Refused, revision: Revision) -> Self {
        let code = error.code;
        let mut response = ErrorResponse::new(*error);
        response.id = id;
        let body = serde_json::to_string(&InRevision::new(&response, revision)).expect("an error is JSON");
        Self::Message { body, error: Some((code, stage)) }
    }

    /// Waits for the response, past the notifications before it. Returns `None` if there is no answer.
    ///
    /// ```
    /// # use mrtr_server::{Context, Server};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let server = Server::builder("empty", "1.0.0").build().unwrap();
    /// let reply = server.handle("{".into(), Context::new()).await;
    /// assert!(reply.last().await.unwrap().contains("-32700"));
    /// # }
    /// ```
    pub async fn last(self) -> Option<String> {
        match self {
            Self::Message { body, .. } => Some(body),
            Self::Stream(messages) | Self::Subscription(messages) => {
                messages.fold(None, async |_, message| Some(message)).await
            }
            Self::Accepted => None,
        }
    }
}

const BEFORE_ID: &str = r#"{"jsonrpc":"2.0","id":"#;
const AFTER_ID: &str = r#","result":"#;
/// With room for any number.
const HEAD: usize = BEFORE_ID.len() + 20 + AFTER_ID.len();

/// Writes what comes before a result, in answer to a request whose id is a number.
fn head(id: i64, room: &mut [u8; HEAD]) -> &str {
    let mut rest = &mut room[..];
    let written = rest.write_all(BEFORE_ID.as_bytes()).and_then(|()| {
        serde_json::to_writer(&mut rest, &id)?;
        rest.write_all(AFTER_ID.as_bytes())
    });
    written.expect("there is room for a number");
    let length = HEAD - rest.len();
    str::from_utf8(&room[..length]).expect("JSON is text")
}

/// Messages as JSON text: notifications, and a response as the last one.
///
/// ```
/// use futures_util::StreamExt;
/// use mrtr_server::transport::ReplyStream;
///
/// async fn print(mut messages: ReplyStream) {
///     while let Some(message) = messages.next().await {
///         println!("{message}");
///     }
/// }
/// ```
pub struct ReplyStream {
    messages: BoxStream<'static, String>,
    kept_bytes: usize,
}

impl ReplyStream {
    pub(crate) fn new(messages: impl Stream<Item = String> + Send + 'static) -> Self {
        Self { messages: messages.boxed(), kept_bytes: 0 }
    }

    /// With how much memory it takes for as long as it lasts.
    pub(crate) fn keeping(self, kept_bytes: usize) -> Self {
        Self { kept_bytes, ..self }
    }

    /// The memory that a subscription takes for as long as it lasts, as far as this crate keeps it: what its filter
    /// names, and a fixed part. The server no longer needs the request's own body. Other streams, which end by
    /// themselves, count as nothing.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Notifications as they come, while `response` is on its way, and then the response.
    pub(crate) fn until_response(
        notifications: mpsc::Receiver<String>,
        response: Pin<Box<dyn Future<Output = String> + Send>>,
    ) -> Self {
        enum Left {
            Both(mpsc::Receiver<String>, Pin<Box<dyn Future<Output = String> + Send>>),
            Drain(mpsc::Receiver<String>, String),
        }
        Self::new(stream::unfold(Some(Left::Both(notifications, response)), |left| async {
            let (mut notifications, response) = match left? {
                Left::Both(mut notifications, mut response) => tokio::select! {
                    biased;
                    Some(notification) = notifications.recv() => {
                        return Some((notification, Some(Left::Both(notifications, response))));
                    }
                    response = &mut response => (notifications, response),
                },
                Left::Drain(notifications, response) => (notifications, response),
            };
            // Notifications that were sent before the end go out before it.
            match notifications.try_recv() {
                Ok(notification) => Some((notification, Some(Left::Drain(notifications, response)))),
                Err(_) => Some((response, None)),
            }
        }))
    }
}

impl Stream for ReplyStream {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        poll_cooperatively(&mut self.messages, cx)
    }
}

impl fmt::Debug for ReplyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyStream")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_carries_any_id() {
        for id in [0, 7, -1, i64::MIN, i64::MAX] {
            let Reply::Message { body, .. } = Reply::result(&id.into(), "{}".to_owned()) else { panic!("a message") };
            assert_eq!(body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        }
        let Reply::Message { body, .. } = Reply::result(&"a\"b".to_owned().into(), "{}".to_owned()) else { panic!() };
        assert_eq!(body, r#"{"jsonrpc":"2.0","id":"a\"b","result":{}}"#);
    }
}
