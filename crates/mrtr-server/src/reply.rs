//! What a server answers, as a transport sends it.

use mrtr_schema::{ErrorCode, ErrorObject, ErrorResponse, InRevision, RequestId, Revision};

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// A JSON-RPC response.
    Message {
        /// Its text.
        body: String,
        /// The code, if it is an error: a transport may have a status for it.
        error: Option<ErrorCode>,
    },
    /// Nothing is answered: it was a notification.
    Accepted,
}

impl Reply {
    /// A result, as JSON text, in answer to a request.
    pub(crate) fn result(id: &RequestId, result: &str) -> Self {
        let id = serde_json::to_string(id).expect("an id is JSON");
        let body = ["{\"jsonrpc\":\"2.0\",\"id\":", &id, ",\"result\":", result, "}"].concat();
        Self::Message { body, error: None }
    }

    pub(crate) fn error(id: Option<RequestId>, error: ErrorObject, revision: Revision) -> Self {
        let code = error.code;
        let mut response = ErrorResponse::new(error);
        response.id = id;
        let body = serde_json::to_string(&InRevision::new(&response, revision)).expect("an error is JSON");
        Self::Message { body, error: Some(code) }
    }

    /// The text of the message, if there is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Message { body, .. } => Some(body),
            Self::Accepted => None,
        }
    }
}
