//! `prompts/get`: a round of a prompt's handler.

use indexmap::IndexMap;
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::echo;
use mrtr_schema::prompts::GetPromptResult;
use mrtr_schema::{ErrorObject, RawMembers};

use super::Round;
use super::request::Request;
use crate::definition::parts::Parts;
use crate::error::invalid_params;

pub(crate) async fn get(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let name = request.required_name()?;
    let prompt = parts.prompts.get(name);
    let unknown = || ProtocolError::invalid_params(format!("Unknown prompt: {}", echo::name(name))).into_object();
    let prompt = prompt.ok_or_else(unknown)?;
    let given = request.params.object("arguments").map_err(invalid_params)?;
    let given = texts(given.as_ref())?;
    let missing = prompt
        .definition
        .arguments
        .iter()
        .flatten()
        .find(|argument| argument.required == Some(true) && !given.contains_key(&argument.name));
    if let Some(argument) = missing {
        let message = format!("The prompt needs the argument `{}`", argument.name);
        return Err(ProtocolError::invalid_params(message).into_object());
    }
    let arguments = prompt.members.object(given.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let round = Round::open(parts, request, name, &prompt.settings)?;
    let description = &prompt.definition.description;
    let finish = |result: &mut GetPromptResult| {
        result.description = result.description.take().or_else(|| description.clone());
    };
    round.run_round(&prompt.handler, &arguments.into(), finish).await
}

/// Arguments of a prompt, which are texts.
fn texts(members: Option<&RawMembers<'_>>) -> Result<IndexMap<String, String>, ErrorObject> {
    let texts = members.into_iter().flat_map(RawMembers::iter).map(|(name, value)| {
        let text = serde_json::from_str(value.get());
        let text = text.map_err(|_| {
            let message = format!("`arguments`: `{}` is not a string", echo::name(name));
            ProtocolError::invalid_params(message).into_object()
        })?;
        Ok((name.to_owned(), text))
    });
    texts.collect()
}
