//! Prompts, resources and completions: each a flow, found by name or URI.

use std::sync::Arc;

use indexmap::IndexMap;
use mrtr_schema::{
    ClientCapabilities, CompleteParams, CompleteResult, Completion, CompletionReference, CompletionValues, ErrorCode,
    ErrorObject, Feature, Json, JsonObject, RawMembers, ReadError, ResourceNotFoundData, Revision,
};

use crate::completion::{Completer, Completers, Completing};
use crate::dispatch::{Request, internal_error, invalid_params};
use crate::resource::{PreparedResource, Reader};
use crate::round::Round;
use crate::tool::Settings;
use crate::{ProtocolError, Server, echo};

pub(crate) async fn get_prompt(
    server: &Server,
    request: &Request<'_>,
    capabilities: &Arc<ClientCapabilities>,
) -> Result<String, ErrorObject> {
    let name = required_text(request, "name")?;
    let prompt = server.0.prompts.get(&name);
    let unknown = || ProtocolError::invalid_params(format!("Unknown prompt: {}", echo::name(&name))).into_object();
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
    let round = Round::new(server, request, &name, &prompt.settings, capabilities)?;
    let description = &prompt.definition.description;
    let finish = |result: &mut mrtr_schema::GetPromptResult| {
        result.description = result.description.take().or_else(|| description.clone());
    };
    round.play(&prompt.handler, &arguments.into(), finish).await
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

pub(crate) async fn read_resource(
    server: &Server,
    request: &Request<'_>,
    capabilities: &Arc<ClientCapabilities>,
) -> Result<String, ErrorObject> {
    let uri = required_text(request, "uri")?;
    let missing = || not_found(&uri, request.context.revision);
    let Found { reader, name, mime_type, arguments } = find(server, &uri).ok_or_else(missing)?;
    let round = Round::new(server, request, name, &reader.settings, capabilities)?;
    let read = round.play(&reader.handler, &arguments.into(), |result| reader.finish(result, &uri, mime_type)).await;
    // A handler need not know how each revision says it.
    read.map_err(|error| if error.code == ErrorCode::RESOURCE_NOT_FOUND { missing() } else { error })
}

/// What reads a URI.
struct Found<'a> {
    reader: &'a Reader,
    /// The URI or template that was registered: logs never see what stands in a template's place.
    name: &'a str,
    mime_type: Option<&'a str>,
    arguments: JsonObject,
}

/// A resource, or the first template that the URI is one of.
fn find<'a>(server: &'a Server, uri: &str) -> Option<Found<'a>> {
    if let Some(PreparedResource { definition, reader }) = server.0.resources.get(uri) {
        let (name, mime_type) = (&*definition.uri, definition.mime_type.as_deref());
        return Some(Found { reader, name, mime_type, arguments: JsonObject::default() });
    }
    server.0.templates.values().find_map(|template| {
        let (arguments, definition) = (template.arguments(uri)?, &template.definition);
        let (name, mime_type) = (&*definition.uri_template, definition.mime_type.as_deref());
        Some(Found { reader: &template.reader, name, mime_type, arguments })
    })
}

fn not_found(uri: &str, revision: Revision) -> ErrorObject {
    let mut error = ErrorObject::with_data("Resource not found", &ResourceNotFoundData::new(echo::name(uri)));
    if revision.has(Feature::ResourceNotFoundCode) {
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    error
}

pub(crate) async fn complete(
    server: &Server,
    request: &Request<'_>,
    capabilities: &Arc<ClientCapabilities>,
) -> Result<String, ErrorObject> {
    let revision = request.context.revision;
    let params: CompleteParams = request.params.clone().read(revision.strict()).map_err(invalid_params)?;
    let argument = params.argument.name.clone();
    let Some(Completer(handler)) = completers(server, &params.reference)?.get(&argument) else {
        let nothing = Completion::new(CompletionValues::default());
        return server.write(&CompleteResult::new(nothing), revision);
    };
    let settings = Settings::default();
    let round = Round::new(server, request, &argument, &settings, capabilities)?;
    let completing = Json::of(&Completing::of(params)).map_err(|_| internal_error())?;
    round.play(handler, &completing, |_| {}).await
}

fn completers<'a>(server: &'a Server, reference: &CompletionReference) -> Result<&'a Completers, ErrorObject> {
    let found = match reference {
        CompletionReference::Prompt(prompt) => server.0.prompts.get(&prompt.name).map(|prompt| &prompt.completers),
        CompletionReference::Resource(template) => {
            server.0.templates.get(&template.uri).map(|template| &template.completers)
        }
        _ => None,
    };
    found.ok_or_else(|| ProtocolError::invalid_params("There is nothing of that name to complete").into_object())
}

fn required_text(request: &Request<'_>, member: &'static str) -> Result<String, ErrorObject> {
    let text = request.params.text(member).map_err(invalid_params)?;
    Ok(text.ok_or_else(|| invalid_params(ReadError::missing(member)))?.into_owned())
}
