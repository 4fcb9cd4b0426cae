//! Results of our server, which may ask, as the responses that rmcp has for each method.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, GetPromptResponse, GetPromptResult, InputRequiredResult,
    ReadResourceResponse, ReadResourceResult,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::message::read;

/// A response of rmcp's that is no single type: which one it is, `resultType` says.
pub(super) trait Response: From<InputRequiredResult> {
    type Complete: DeserializeOwned + Into<Self>;

    /// A result that says it is a task.
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

/// What may ask for a visit of a URL. The published revision has dropped the `elicitationId` that rmcp's type for it
/// still demands: the key of the question stands in.
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
