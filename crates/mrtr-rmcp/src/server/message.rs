//! Messages between our server and rmcp: ours are text; rmcp's are types that are read from it, with a response of its
//! own for each method that may ask.

use bytes::Bytes;
use mrtr_schema::{ErrorCode, Json, Revision, Wire};
use mrtr_server::{Failure, ProtocolError};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, GetPromptResponse, GetPromptResult, Implementation,
    InputRequiredResult, ReadResourceResponse, ReadResourceResult, ServerNotification, ServerRequest,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Writes a request, as our server reads it.
pub(super) fn request(id: &impl Serialize, method: &str, params: &Value) -> Bytes {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into()
}

/// Writes a notification, as our server reads it.
pub(super) fn notification(method: &str, params: &Value) -> Bytes {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().into()
}

/// The client's answer to what our server asked, as it reads it.
pub(super) fn answer(id: &Value, answer: &Result<Value, ErrorData>) -> Bytes {
    let message = match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    };
    message.to_string().into()
}

/// A message of our server's.
pub(super) enum FromServer {
    /// The end of a call: its result as text, or an error.
    Response(Result<String, ErrorData>),
    /// A notification before the end of the call, or `None` if rmcp has no type for it.
    Notification(Option<ServerNotification>),
    /// A question to the client before the end of the call, in a session.
    Question { id: Value, request: Result<ServerRequest, ErrorData> },
    /// The server takes the question with this id back.
    Withdrawn { id: Value },
}

impl FromServer {
    pub(super) fn read(text: &str) -> Result<Self, ErrorData> {
        let message: Message<'_> = read(text)?;
        Ok(match message {
            Message { result: Some(result), .. } => Self::Response(Ok(result.get().to_owned())),
            Message { error: Some(error), .. } => Self::Response(Err(read(error.get())?)),
            Message { method: Some(method), params, id: Some(id), .. } => {
                Self::Question { id, request: typed(method, params) }
            }
            Message { method: Some("notifications/cancelled"), params: Some(params), .. } => {
                let Cancelled { request_id } = read(params.get())?;
                Self::Withdrawn { id: request_id }
            }
            Message { method: Some(method), params, .. } => Self::Notification(typed(method, params).ok()),
            Message { .. } => {
                return Err(ErrorData::internal_error("the server sent something that is not a message", None));
            }
        })
    }

    /// Returns the result in a message, or an error if the message is not a result.
    pub(super) fn response(text: &str) -> Result<String, ErrorData> {
        match Self::read(text)? {
            Self::Response(response) => response,
            _ => Err(no_response()),
        }
    }
}

/// A request or a notification as rmcp's type, which is found by its method.
fn typed<T: DeserializeOwned>(method: &str, params: Option<&RawValue>) -> Result<T, ErrorData> {
    #[derive(Serialize)]
    struct Called<'a> {
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
    }
    read(&written_text(&Called { method, params })?)
}

/// A message of our server, as rmcp's type for it.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ErrorData> {
    serde_json::from_str(text).map_err(|error| no_type(&error))
}

/// Names another server in a result, and in the result of a task in it, in place of the one that is named there.
pub(super) fn signed(result: String, name: impl FnOnce() -> Implementation) -> Result<String, ErrorData> {
    if !result.contains(SERVER_INFO) {
        return Ok(result);
    }
    let (mut result, name): (Value, _) = (read(&result)?, written(&name())?);
    for meta in ["/_meta", "/result/_meta"] {
        if let Some(named) = result.pointer_mut(meta).and_then(|meta| meta.get_mut(SERVER_INFO)) {
            *named = name.clone();
        }
    }
    Ok(result.to_string())
}

/// The key of a result's metadata that names the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A value of rmcp's, as it goes over the wire.
pub(super) fn written(value: &impl Serialize) -> Result<Value, ErrorData> {
    serde_json::to_value(value).map_err(|error| no_type(&error))
}

fn written_text(value: &impl Serialize) -> Result<String, ErrorData> {
    serde_json::to_string(value).map_err(|error| no_type(&error))
}

/// The error for a message that rmcp has no type for, such as a question of an application's own kind.
fn no_type(error: &serde_json::Error) -> ErrorData {
    tracing::error!(%error, "rmcp has no type for what the server sent");
    ErrorData::internal_error("rmcp has no type for what the server sent", None)
}

/// The error for a cancelled request. rmcp drops it: the client has said that it does not wait for a response.
pub(super) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

pub(super) fn no_response() -> ErrorData {
    ErrorData::internal_error("the server gave no response", None)
}

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<Value>,
    #[serde(borrow)]
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: Value,
}

/// A response of rmcp's with several types: `resultType` says which one it is.
pub(super) trait Response: From<InputRequiredResult> {
    type Complete: DeserializeOwned + Into<Self>;

    /// Reads a result that says it is a task.
    fn task(_text: &str) -> Result<Self, ErrorData> {
        Err(ErrorData::internal_error("only a tool becomes a task", None))
    }

    fn read(text: &str) -> Result<Self, ErrorData> {
        let Tag { result_type } = read(text)?;
        match result_type {
            Some("input_required") => read_asking::<InputRequiredResult>(text).map(Into::into),
            Some("task") => Self::task(text),
            _ => read::<Self::Complete>(text).map(Into::into),
        }
    }
}

/// Reads a message that may ask for a visit of a URL. The published revision has dropped the `elicitationId` that
/// rmcp's type for it still demands: the key of the question stands in.
pub(super) fn read_asking<T: DeserializeOwned>(text: &str) -> Result<T, ErrorData> {
    let mut result: Value = read(text)?;
    let questions = result.get_mut("inputRequests").and_then(Value::as_object_mut);
    for (key, question) in questions.into_iter().flatten() {
        let params = question.get_mut("params").and_then(Value::as_object_mut);
        if let Some(params) = params.filter(|params| params.get("mode").is_some_and(|mode| mode == "url")) {
            params.entry("elicitationId").or_insert_with(|| key.as_str().into());
        }
    }
    read(&result.to_string())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tag<'a> {
    #[serde(borrow, default)]
    result_type: Option<&'a str>,
}

impl Response for CallToolResponse {
    type Complete = CallToolResult;

    fn task(text: &str) -> Result<Self, ErrorData> {
        read::<CreateTaskResult>(text).map(Into::into)
    }
}

impl Response for GetPromptResponse {
    type Complete = GetPromptResult;
}

impl Response for ReadResourceResponse {
    type Complete = ReadResourceResult;
}

/// Turns a value of rmcp's into mrtr's, for tools that become flows.
///
/// ```
/// use mrtr_rmcp::IntoMrtr;
/// use mrtr_server::{Failure, Flow};
/// use rmcp::ErrorData;
///
/// fn floor(room: &str) -> Result<u8, ErrorData> {
///     room.parse().map_err(|_| ErrorData::invalid_params("there is no such room", None))
/// }
///
/// async fn clean(flow: Flow) -> Result<String, Failure> {
///     let floor = floor("12").map_err(IntoMrtr::into_mrtr)?;
///     Ok(format!("floor {floor} is clean"))
/// }
/// ```
pub trait IntoMrtr {
    /// The type of mrtr's that says the same.
    type Mrtr;

    /// Turns the value into mrtr's.
    fn into_mrtr(self) -> Self::Mrtr;
}

/// The error goes over the wire with its code, message and data, as it does from a tool of rmcp's. As a `Failure` by
/// itself it would be a failure inside the server, of which the caller learns nothing.
impl IntoMrtr for ErrorData {
    type Mrtr = ProtocolError;

    fn into_mrtr(self) -> ProtocolError {
        let mut error = ProtocolError::new(ErrorCode::new(self.code.0.into()), self.message).into_object();
        error.data = self.data.as_ref().and_then(|data| Json::of(data).ok());
        error.into()
    }
}

impl IntoMrtr for CallToolResult {
    type Mrtr = Result<mrtr_schema::CallToolResult, Failure>;

    fn into_mrtr(self) -> Result<mrtr_schema::CallToolResult, Failure> {
        Ok(mrtr_schema::CallToolResult::from_json(&serde_json::to_string(&self)?, Revision::default().lenient())?)
    }
}
