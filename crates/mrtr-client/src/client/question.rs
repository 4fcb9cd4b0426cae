//! What a server asks in a session: read as what a modern server would ask, and answered in a message of its own.

use mrtr_schema::elicitation::{ElicitParams, ElicitRequest};
use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest};
use mrtr_schema::{ErrorCode, ErrorObject, InputRequest, RequestId, Revision, Wire};
use serde::Serialize;

use crate::ServerRequest;

/// A request of the server's.
pub(super) enum Question {
    /// Whether this client is there.
    Ping,
    /// Something that a handler answers.
    Input(Box<InputRequest>),
    /// Something that is answered with an error, and with this one.
    Refused(ErrorObject),
}

impl Question {
    pub(super) fn read(request: &ServerRequest, revision: Revision) -> Self {
        let (params, dialect) = (request.params.as_raw(), revision.lenient());
        let input = match request.method.as_str() {
            "ping" => return Self::Ping,
            "elicitation/create" => ElicitParams::read(params, dialect).map(|params| ElicitRequest::new(params).into()),
            "sampling/createMessage" => {
                CreateMessageParams::read(params, dialect).map(|params| CreateMessageRequest::new(params).into())
            }
            "roots/list" => Ok(ListRootsRequest::new().into()),
            _ => {
                let text = "This client does not know this method";
                return Self::Refused(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, text));
            }
        };
        match input {
            Ok(input) => Self::Input(Box::new(input)),
            Err(error) => Self::Refused(ErrorObject::new(ErrorCode::INVALID_PARAMS, error.to_string())),
        }
    }
}

/// The answer to a request of the server's, as a message.
pub(super) fn answer_message(id: &RequestId, answer: Result<&impl Serialize, &ErrorObject>) -> String {
    let (result, error) = (answer.ok(), answer.err());
    serde_json::to_string(&Answer { jsonrpc: "2.0", id, result, error })
        .expect("an answer that was read can be written")
}

#[derive(Serialize)]
struct Answer<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorObject>,
}
