//! `resources/read`: a round of the handler that a URI leads to.

use mrtr_flow::for_server::echo;
use mrtr_schema::error_object::ResourceNotFoundData;
use mrtr_schema::{ErrorCode, ErrorObject, Feature, JsonObject, Revision};

use super::Round;
use super::request::Request;
use crate::definition::parts::Parts;
use crate::definition::resource::{PreparedResource, Reader};

pub(crate) async fn read(parts: &Parts, request: &Request<'_>) -> Result<String, ErrorObject> {
    let uri = request.required_name()?;
    let missing = || not_found(uri, request.context.revision);
    let MatchedResource { reader, name, mime_type, arguments } = find(parts, uri).ok_or_else(missing)?;
    let round = Round::open(parts, request, name, &reader.settings)?;
    let read =
        round.run_round(&reader.handler, &arguments.into(), |result| reader.finish(result, uri, mime_type)).await;
    // A handler need not know how each revision says it.
    read.map_err(|error| if error.code == ErrorCode::RESOURCE_NOT_FOUND { missing() } else { error })
}

/// Whether there is something that reads a URI.
pub(crate) fn is_read(parts: &Parts, uri: &str) -> bool {
    find(parts, uri).is_some()
}

/// What reads a URI.
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

fn not_found(uri: &str, revision: Revision) -> ErrorObject {
    let mut error = ErrorObject::with_data("Resource not found", &ResourceNotFoundData::new(echo::name(uri)));
    if revision.has(Feature::ResourceNotFoundCode) {
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    error
}
