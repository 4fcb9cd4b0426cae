//! A scripted server in memory, for testing handlers and whatever drives a client.
//!
//! ```
//! use mrtr_client::Client;
//! use mrtr_client::testing::Script;
//! use mrtr_schema::roots::Root;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
//! let server = Script::new()
//!     .result(json!({ "resultType": "input_required", "requestState": "sealed",
//!         "inputRequests": { "where": { "method": "roots/list" } } }))
//!     .result(json!({ "resultType": "complete", "content": [] }));
//! let client = Client::builder(server.clone())
//!     .on_roots(|_| async { Ok::<_, std::io::Error>(vec![Root::new("file:///src")]) })
//!     .build();
//! client.call_tool("search", json!({})).await?;
//! assert!(server.sent()[1].as_str().contains(r#""requestState":"sealed""#));
//! # Ok(()) }
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_schema::{ErrorObject, Json, RequestId};
use serde::Serialize;
use serde_json::json;

use crate::transport::{
    ServerMessage, Transport, TransportError, TransportFailure, TransportRequest, TransportResponse,
};

/// A server that answers one request after the other as its script says, and remembers what was sent.
///
/// Clones are the same server. A request beyond the end of the script fails with a transport error.
///
/// ```
/// use std::time::Duration;
/// use mrtr_client::Client;
/// use mrtr_client::testing::Script;
/// use mrtr_schema::{ErrorCode, ErrorObject};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Script::new()
///     .busy(Some(Duration::from_millis(1)))
///     .error(ErrorObject::new(ErrorCode::INVALID_PARAMS, "no such port"));
/// let client = Client::builder(server.clone()).build();
/// let error = client.call_tool("book", json!({ "port": "Atlantis" })).await.unwrap_err();
/// assert_eq!(error.to_string(), "the server answered: no such port (-32602)");
/// assert_eq!(server.sent().len(), 2, "it was busy at first");
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Script(Arc<Mutex<Played>>);

#[derive(Debug, Default)]
struct Played {
    replies: VecDeque<Line>,
    sent: Vec<Json>,
}

/// One line of a script.
#[derive(Debug)]
enum Line {
    Result(Json),
    Error(ErrorObject),
    Text(String),
    Failure(TransportError),
    Silence,
}

impl Script {
    /// Creates a server with an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to the script that the server answers with a result.
    ///
    /// # Panics
    ///
    /// Panics if the value is not JSON.
    #[must_use]
    pub fn result(self, result: impl Serialize) -> Self {
        self.then(Line::Result(Json::of(&result).expect("a result is JSON")))
    }

    /// Adds to the script that the server answers with an error.
    #[must_use]
    pub fn error(self, error: ErrorObject) -> Self {
        self.then(Line::Error(error))
    }

    /// Adds to the script that the server answers with this text, whatever it is.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.then(Line::Text(text.into()))
    }

    /// Adds a refusal to the script: the server is too busy to look at the request.
    #[must_use]
    pub fn busy(self, retry_after: Option<Duration>) -> Self {
        self.then(Line::Failure(TransportError::busy(retry_after)))
    }

    /// Adds to the script that the server cannot be reached: the request has not run.
    #[must_use]
    pub fn unreachable(self) -> Self {
        self.then(Line::Failure(TransportError::of(TransportFailure::Unreachable, "it cannot be reached")))
    }

    /// Adds to the script that the request fails in this way, as with a status of HTTP that refuses it.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{CallErrorKind, Client, TransportFailure};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let client = Client::builder(Script::new().failure(TransportFailure::Unauthorized)).build();
    /// let error = client.call_tool("report", json!({})).await.unwrap_err();
    /// let CallErrorKind::Transport { source } = error.kind else { panic!() };
    /// assert_eq!((source.failure(), source.status()), (TransportFailure::Unauthorized, Some(401)));
    /// # }
    /// ```
    #[must_use]
    pub fn failure(self, failure: TransportFailure) -> Self {
        let error = TransportError::of(failure, "the script plays a failure");
        self.then(Line::Failure(match failure {
            TransportFailure::Unauthorized => error.with_status(401),
            TransportFailure::Forbidden => error.with_status(403),
            TransportFailure::NotFound | TransportFailure::SessionEnded => error.with_status(404),
            TransportFailure::Unreachable
            | TransportFailure::TimedOut
            | TransportFailure::LegacyServer
            | TransportFailure::Other => error,
        }))
    }

    /// Adds to the script that the server never answers.
    #[must_use]
    pub fn silence(self) -> Self {
        self.then(Line::Silence)
    }

    fn then(self, line: Line) -> Self {
        self.played().replies.push_back(line);
        self
    }

    /// The messages that were sent, oldest first.
    pub fn sent(&self) -> Vec<Json> {
        self.played().sent.clone()
    }

    fn played(&self) -> std::sync::MutexGuard<'_, Played> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the request, and takes the next line.
    fn take(&self, message: &str) -> Option<Line> {
        let mut played = self.played();
        played.sent.push(Json::parse(message).expect("a client sends JSON"));
        played.replies.pop_front()
    }
}

#[async_trait]
impl Transport for Script {
    fn server(&self) -> &'static str {
        "a script"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        match self.take(request.message) {
            Some(Line::Result(result)) => Ok(response(request.id, "result", &result)),
            Some(Line::Error(error)) => Ok(response(request.id, "error", &error)),
            Some(Line::Text(text)) => Ok(TransportResponse::new(text)),
            Some(Line::Failure(error)) => Err(error),
            Some(Line::Silence) => std::future::pending().await,
            None => Err(TransportError::new("the script is at its end")),
        }
    }
}

fn response(id: &RequestId, member: &str, content: &impl Serialize) -> TransportResponse {
    let content = serde_json::to_string(content).expect("it is JSON");
    let id = json!(id);
    TransportResponse::new(format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{content}}}"#))
}
