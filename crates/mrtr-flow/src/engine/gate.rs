//! Checks of questions and answers: a client may be asked only what it declared for this very request, and its answer
//! must be one to that question.

use indexmap::IndexMap;
use mrtr_schema::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use mrtr_schema::elicitation::{ElicitAction, ElicitResult};
use mrtr_schema::error_object::MissingCapabilityData;
use mrtr_schema::input::InputKind;
use mrtr_schema::roots::ListRootsResult;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult, IncludeContext};
use mrtr_schema::{ClientCapabilities, ErrorCode, ErrorObject, Feature, InputRequest, JsonObject, Revision, Wire};
use serde_json::value::RawValue;

use crate::error::ProtocolError;

/// Returns true if a client that declared this may be asked.
pub(crate) fn allows(request: &InputRequest, declared: &ClientCapabilities, revision: Revision) -> bool {
    match request.kind() {
        InputKind::Form(_) => declared.elicits_forms(),
        InputKind::Url(_) => declared.elicits_urls() && revision.has(Feature::ElicitationModes),
        InputKind::Sample(params) => {
            declared.samples()
                && (!uses_tools(params) || declared.samples_with_tools())
                && (!uses_context(params) || declared.samples_with_context())
        }
        InputKind::Roots => {
            declared.lists_roots() && (revision.has(Feature::RootsAsInput) || revision.has(Feature::InputsAsRequests))
        }
        InputKind::Namespaced(request) => declared.knows(&request.method) && revision.has(Feature::NamespacedInputs),
        InputKind::Unknown(_) => false,
    }
}

/// Returns the capabilities that a client has to declare to be asked this.
fn needed(request: &InputRequest) -> ClientCapabilities {
    let mut needed = ClientCapabilities::default();
    let declared = || Some(JsonObject::default());
    match request.kind() {
        InputKind::Form(_) => needed.elicitation.insert(ElicitationCapability::default()).form = declared(),
        InputKind::Url(_) => needed.elicitation.insert(ElicitationCapability::default()).url = declared(),
        InputKind::Sample(params) => {
            let sampling = needed.sampling.insert(SamplingCapability::default());
            sampling.tools = uses_tools(params).then(JsonObject::default);
            sampling.context = uses_context(params).then(JsonObject::default);
        }
        InputKind::Roots => needed.roots = Some(RootsCapability::default()),
        InputKind::Namespaced(request) => {
            let extension = (request.method.as_str().to_owned(), JsonObject::default());
            needed.extensions = Some(IndexMap::from([extension]));
        }
        InputKind::Unknown(_) => {}
    }
    needed
}

fn uses_tools(params: &CreateMessageParams) -> bool {
    params.tools.is_some() || params.tool_choice.is_some()
}

fn uses_context(params: &CreateMessageParams) -> bool {
    params.include_context.is_some_and(|context| context != IncludeContext::None)
}

/// Checks that a client that declared this may be asked all of these; if not, the error names everything that it lacks.
/// A runner shows a question to no client that may not be asked it.
///
/// ```
/// use mrtr_schema::roots::ListRootsRequest;
/// use mrtr_schema::{ClientCapabilities, InputRequest, Revision};
/// use mrtr_flow::check_capabilities;
///
/// let request = InputRequest::from(ListRootsRequest::new());
/// let declared_nothing = ClientCapabilities::default();
/// let error = check_capabilities([&request], &declared_nothing, Revision::V2026_07_28).unwrap_err();
/// assert_eq!(error.object().code.as_i64(), -32021);
/// ```
pub fn check_capabilities<'a>(
    requests: impl IntoIterator<Item = &'a InputRequest>,
    declared: &ClientCapabilities,
    revision: Revision,
) -> Result<(), ProtocolError> {
    check(requests.into_iter(), declared, revision).map_err(ProtocolError::from)
}

/// Makes the error for a client that lacks something for these questions. It names everything that the client lacks.
fn check<'a>(
    requests: impl Iterator<Item = &'a InputRequest>,
    declared: &ClientCapabilities,
    revision: Revision,
) -> Result<(), ErrorObject> {
    let mut lacking: Option<ClientCapabilities> = None;
    for request in requests.filter(|request| !allows(request, declared, revision)) {
        merge(lacking.get_or_insert_default(), needed(request));
    }
    let Some(lacking) = lacking else { return Ok(()) };
    let message =
        format!("The client did not declare a capability that this request needs: {}", names(&lacking).join(", "));
    let mut error = ErrorObject::with_data(message, &MissingCapabilityData::new(lacking));
    if !revision.has(Feature::MissingCapabilityCode) {
        // Capabilities were declared long before this request, and there is no code of its own for it.
        error.code = ErrorCode::INVALID_PARAMS;
    }
    Err(error)
}

/// Returns the names of capabilities: their places in what a client declares.
fn names(capabilities: &ClientCapabilities) -> Vec<String> {
    let ClientCapabilities { elicitation, sampling, roots, extensions, .. } = capabilities;
    let mut names = Vec::new();
    let mut name = |name: &str, is_needed: bool| {
        if is_needed {
            names.push(name.to_owned());
        }
    };
    if let Some(elicitation) = elicitation {
        name("elicitation.form", elicitation.form.is_some());
        name("elicitation.url", elicitation.url.is_some());
    }
    if let Some(sampling) = sampling {
        let plainly = sampling.tools.is_none() && sampling.context.is_none();
        name("sampling", plainly);
        name("sampling.tools", sampling.tools.is_some());
        name("sampling.context", sampling.context.is_some());
    }
    name("roots", roots.is_some());
    names.extend(extensions.iter().flatten().map(|(extension, _)| format!("extensions[\"{extension}\"]")));
    names
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

/// Checks that an answer is of the kind that was asked for and fits its form; if not, the error is the reason. The next
/// run says what the handler thinks of the answer.
///
/// ```
/// use mrtr_schema::roots::ListRootsRequest;
/// use mrtr_schema::{InputRequest, Revision};
/// use mrtr_flow::check_answer;
/// use serde_json::value::RawValue;
///
/// let asked = InputRequest::from(ListRootsRequest::new());
/// let check = |answer: &str| {
///     let answer = RawValue::from_string(answer.to_owned()).expect("it is JSON");
///     check_answer(&asked, &answer, Revision::V2026_07_28)
/// };
/// assert_eq!(check(r#"{"roots": []}"#), Ok(()));
/// assert!(check(r#"{"action": "accept"}"#).is_err_and(|reason| reason.contains("roots")));
/// ```
pub fn check_answer(request: &InputRequest, answer: &RawValue, revision: Revision) -> Result<(), String> {
    let dialect = revision.lenient();
    let read = match request.kind() {
        InputKind::Form(form) => {
            let result = ElicitResult::read(answer, dialect).map_err(|error| error.to_string())?;
            if result.action != ElicitAction::Accept {
                return Ok(());
            }
            let content = result.content.ok_or("the form was not filled in")?;
            let fits = form.requested_schema.check(content.as_object());
            return fits.map_err(|violations| violations.to_string());
        }
        InputKind::Url(_) => ElicitResult::read(answer, dialect).map(drop),
        InputKind::Sample(_) => CreateMessageResult::read(answer, dialect).map(drop),
        InputKind::Roots => ListRootsResult::read(answer, dialect).map(drop),
        InputKind::Namespaced(_) | InputKind::Unknown(_) => JsonObject::from_raw(answer).map(drop),
    };
    read.map_err(|error| error.to_string())
}
