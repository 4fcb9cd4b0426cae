//! Whether a client may be asked something: only what it declared for this very request.

use indexmap::IndexMap;
use mrtr_schema::{
    ClientCapabilities, CreateMessageParams, ElicitParams, ElicitationCapability, ErrorObject, IncludeContext,
    InputRequest, JsonObject, MissingCapabilityData, RootsCapability, SamplingCapability,
};

use crate::run::Question;

/// What the client would have to declare to be asked this, if it did not.
pub(crate) fn missing(request: &InputRequest, declared: &ClientCapabilities) -> Option<ClientCapabilities> {
    let mut needed = ClientCapabilities::default();
    let holds = match request {
        InputRequest::Elicit(request) => {
            let mut elicitation = ElicitationCapability::default();
            let holds = if matches!(request.params, ElicitParams::Url(_)) {
                elicitation.url = Some(JsonObject::default());
                declared.elicits_urls()
            } else {
                elicitation.form = Some(JsonObject::default());
                declared.elicits_forms()
            };
            needed.elicitation = Some(elicitation);
            holds
        }
        InputRequest::Sample(request) => {
            let (sampling, holds) = sampling(&request.params, declared);
            needed.sampling = Some(sampling);
            holds
        }
        InputRequest::Roots(_) => {
            needed.roots = Some(RootsCapability::default());
            declared.lists_roots()
        }
        InputRequest::Namespaced(request) => {
            let extension = (request.method.as_str().to_owned(), JsonObject::default());
            needed.extensions = Some(IndexMap::from([extension]));
            declared.knows(&request.method)
        }
        _ => false,
    };
    (!holds).then_some(needed)
}

fn sampling(params: &CreateMessageParams, declared: &ClientCapabilities) -> (SamplingCapability, bool) {
    let mut needed = SamplingCapability::default();
    let mut holds = declared.samples();
    if params.tools.is_some() || params.tool_choice.is_some() {
        needed.tools = Some(JsonObject::default());
        holds &= declared.samples_with_tools();
    }
    if params.include_context.is_some_and(|context| context != IncludeContext::None) {
        needed.context = Some(JsonObject::default());
        holds &= declared.samples_with_context();
    }
    (needed, holds)
}

/// The error for a client that lacks something for these questions, naming all that it lacks.
pub(crate) fn check<'a>(
    questions: impl Iterator<Item = &'a Question>,
    declared: &ClientCapabilities,
) -> Result<(), ErrorObject> {
    let mut lacking: Option<ClientCapabilities> = None;
    for needed in questions.filter_map(|question| missing(&question.request, declared)) {
        merge(lacking.get_or_insert_default(), needed);
    }
    match lacking {
        None => Ok(()),
        Some(lacking) => {
            let data = MissingCapabilityData::new(lacking);
            Err(ErrorObject::with_data("The client did not declare what this request needs", &data))
        }
    }
}

fn merge(into: &mut ClientCapabilities, from: ClientCapabilities) {
    if let Some(elicitation) = from.elicitation {
        let all = into.elicitation.get_or_insert_default();
        all.form = all.form.take().or(elicitation.form);
        all.url = all.url.take().or(elicitation.url);
    }
    if let Some(sampling) = from.sampling {
        let all = into.sampling.get_or_insert_default();
        all.tools = all.tools.take().or(sampling.tools);
        all.context = all.context.take().or(sampling.context);
    }
    into.roots = into.roots.take().or(from.roots);
    if let Some(extensions) = from.extensions {
        into.extensions.get_or_insert_default().extend(extensions);
    }
}
