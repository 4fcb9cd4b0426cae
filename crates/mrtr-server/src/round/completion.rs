//! `completion/complete`: a round of a completer.

use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::internal_error;
use mrtr_schema::completion::{CompleteParams, CompleteResult, Completion, CompletionReference, CompletionValues};
use mrtr_schema::{ErrorObject, Json};

use super::Round;
use super::request::Request;
use crate::definition::completion::{Completer, Completers, Completing};
use crate::definition::parts::Parts;
use crate::definition::settings::FlowSettings;
use crate::error::invalid_params;

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
    found.ok_or_else(|| ProtocolError::invalid_params("There is nothing of that name to complete").into_object())
}
