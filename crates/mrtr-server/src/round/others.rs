//! The rounds of prompts, resources and completions: none of them becomes a task.

use indexmap::IndexMap;
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::{echo, internal_error};
use mrtr_schema::completion::{CompleteParams, CompleteResult, Completion, CompletionReference, CompletionValues};
use mrtr_schema::error_object::ResourceNotFoundData;
use mrtr_schema::prompts::GetPromptResult;
use mrtr_schema::{ErrorCode, ErrorObject, Feature, Json, JsonObject, Printable, RawMembers, Revision};

use crate::definition::completion::{Completer, Completers, Completing};
use crate::definition::parts::Parts;
use crate::definition::resource::{PreparedResource, Reader};
use crate::definition::settings::FlowSettings;
use crate::error::invalid_params;
use crate::round::Round;
use crate::round::request::Request;

pub(crate) async fn get_prompt(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let name = request.required_name()?;
    let prompt = parts.prompts.get(name);
    let prompt = prompt.ok_or_else(|| unknown_prompt(name))?;
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

#[cold]
pub(crate) fn unknown_prompt(name: &str) -> ErrorObject {
    ProtocolError::invalid_params(format!("Unknown prompt: {}", echo::name(name))).into_object()
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

pub(crate) async fn read_resource(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let uri = request.required_name()?;
    let missing = || not_found(uri, request.context.revision);
    let MatchedResource { reader, name, mime_type, arguments } = find(parts, uri).ok_or_else(missing)?;
    let is_policed = parts.access.policy.is_some();
    let round = Round::open(parts, request, name, &reader.settings)?;
    let read = round
        .run_round(&reader.handler, &arguments.into(), |result| reader.finish(result, uri, mime_type, is_policed))
        .await;
    read.map_err(|error| {
        if error.code != ErrorCode::RESOURCE_NOT_FOUND {
            return error;
        }
        // A handler need not know the words of each revision; its own are for the operator.
        tracing::debug!(resource = name, reason = %Printable::line(&error.message), "a resource was not found");
        missing()
    })
}

/// Returns true if a resource or template reads this URI.
pub(crate) fn is_read(parts: &Parts, uri: &str) -> bool {
    find(parts, uri).is_some()
}

/// Returns the scopes of the resource or template that reads this URI.
pub(crate) fn scopes_of_resource<'a>(parts: &'a Parts, uri: &str) -> Option<&'a [String]> {
    find(parts, uri).map(|found| &*found.reader.settings.scopes)
}

/// A resource or template that reads a URI.
struct MatchedResource<'a> {
    reader: &'a Reader,
    /// The URI or template that was registered: logs never see what stands in a template's place.
    name: &'a str,
    mime_type: Option<&'a str>,
    arguments: JsonObject,
}

/// A resource, or the first template that the URI is one of.
fn find<'a>(parts: &'a Parts, uri: &str) -> Option<MatchedResource<'a>> {
    if let Some(PreparedResource { definition, reader }) = parts.resources.get(uri) {
        let (name, mime_type) = (&*definition.uri, definition.mime_type.as_deref());
        return Some(MatchedResource { reader, name, mime_type, arguments: JsonObject::default() });
    }
    parts.templates.values().find_map(|template| {
        let (arguments, definition) = (template.arguments(uri)?, &template.definition);
        let (name, mime_type) = (&*definition.uri_template, definition.mime_type.as_deref());
        Some(MatchedResource { reader: &template.reader, name, mime_type, arguments })
    })
}

pub(crate) fn not_found(uri: &str, revision: Revision) -> ErrorObject {
    let mut error = ErrorObject::with_data("Resource not found", &ResourceNotFoundData::new(echo::name(uri)));
    if revision.has(Feature::ResourceNotFoundCode) {
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    error
}

pub(crate) async fn complete(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let revision = request.context.revision;
    let params: CompleteParams = request.params.clone().read(revision.strict()).map_err(invalid_params)?;
    let argument = params.argument.name.clone();
    let Some(Completer(handler)) = completers(parts, &params.reference)?.get(&argument) else {
        let nothing = Completion::new(CompletionValues::default());
        return parts.results.write(&CompleteResult::new(nothing), revision);
    };
    let settings = FlowSettings::default();
    let round = Round::open(parts, request, &argument, &settings)?;
    let completing = Json::of(&Completing::of(params)).map_err(|_| internal_error())?;
    round.run_round(handler, &completing, |_| {}).await
}

fn completers<'a>(parts: &'a Parts, reference: &CompletionReference) -> Result<&'a Completers, ErrorObject> {
    let found = match reference {
        CompletionReference::Prompt(prompt) => parts.prompts.get(&prompt.name).map(|prompt| &prompt.completers),
        CompletionReference::Resource(template) => {
            parts.templates.get(&template.uri).map(|template| &template.completers)
        }
        _ => None,
    };
    found.ok_or_else(nothing_to_complete)
}

#[cold]
pub(crate) fn nothing_to_complete() -> ErrorObject {
    ProtocolError::invalid_params("There is nothing of that name to complete").into_object()
}
