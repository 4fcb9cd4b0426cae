//! How rmcp's server asks: by a result that requires input, or by requests to a client with a session.

#![expect(deprecated, reason = "rmcp discourages sampling and roots, which the matrix has all the same")]

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::peers::rmcp_server::invalid;

pub(super) fn ask<const N: usize>(questions: [(&str, InputRequest); N], state: Option<String>) -> InputRequiredResult {
    let questions = questions.into_iter().map(|(key, question)| (key.to_owned(), question));
    InputRequiredResult::new(Some(questions.collect()), state)
}

pub(super) fn form(message: &str, requested_schema: ElicitationSchema) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    }))
}

pub(super) fn text_field(name: &str) -> ElicitationSchema {
    ElicitationSchema::builder().required_string(name).build_unchecked()
}

/// A field of a form that the person has filled in.
pub(super) fn accepted<T: DeserializeOwned>(answer: Value, field: &str) -> Result<T, ErrorData> {
    let ElicitResult { action, content, .. } = serde_json::from_value(answer).map_err(invalid)?;
    if action != ElicitationAction::Accept {
        return Err(invalid("the person did not answer"));
    }
    let value = content.as_ref().and_then(|content| content.get(field)).cloned();
    serde_json::from_value(value.unwrap_or_default()).map_err(invalid)
}

pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// One after the other, while the request of the client waits.
pub(super) async fn ask_by_requests(
    client: &Peer<RoleServer>,
    questions: Option<InputRequests>,
) -> Result<Option<InputResponses>, ErrorData> {
    let mut answers = InputResponses::new();
    for (key, question) in questions.unwrap_or_default() {
        let answer = match question {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(client.create_elicitation(request.params).await.map_err(invalid)?)
            }
            InputRequest::CreateMessage(request) => {
                serde_json::to_value(client.create_message(request.params).await.map_err(invalid)?)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(client.list_roots().await.map_err(invalid)?),
            _ => return Err(invalid("there is no request for this question")),
        };
        answers.insert(key, answer.map_err(invalid)?);
    }
    Ok(Some(answers))
}
