//! Whether a client may be asked something: only what it declared for this very request.

use indexmap::IndexMap;
use mrtr_schema::{
    ClientCapabilities, CreateMessageParams, ElicitParams, ElicitationCapability, ErrorCode, ErrorObject, Feature,
    IncludeContext, InputRequest, JsonObject, MissingCapabilityData, Revision, RootsCapability, SamplingCapability,
};

use crate::run::Question;

/// Whether a client that declared this may be asked.
pub(crate) fn allows(request: &InputRequest, declared: &ClientCapabilities, revision: Revision) -> bool {
    missing(request, declared, revision).is_none()
}

/// What the client would have to declare to be asked this, if it did not.
fn missing(request: &InputRequest, declared: &ClientCapabilities, revision: Revision) -> Option<ClientCapabilities> {
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
            declared.lists_roots() && revision.has(Feature::RootsAsInput)
        }
        InputRequest::Namespaced(request) => {
            let extension = (request.method.as_str().to_owned(), JsonObject::default());
            needed.extensions = Some(IndexMap::from([extension]));
            declared.knows(&request.method) && revision.has(Feature::NamespacedInputs)
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
    revision: Revision,
) -> Result<(), ErrorObject> {
    let mut lacking: Option<ClientCapabilities> = None;
    for needed in questions.filter_map(|question| missing(&question.request, declared, revision)) {
        merge(lacking.get_or_insert_default(), needed);
    }
    let Some(lacking) = lacking else { return Ok(()) };
    let mut error = ErrorObject::with_data(
        "The client did not declare what this request needs",
        &MissingCapabilityData::new(lacking),
    );
    if !revision.has(Feature::RequestMetadata) {
        // Capabilities were declared long before this request, and there is no code of its own for it.
        error.code = ErrorCode::INVALID_PARAMS;
    }
    Err(error)
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
