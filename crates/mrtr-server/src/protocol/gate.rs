//! The second gate: what a caller may do, once method, name and arguments are known and before anything is done.

use bytes::Bytes;
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::Contained;
use mrtr_schema::ErrorObject;
use mrtr_schema::completion::{CompleteParams, CompletionReference};

use super::route::Route;
use crate::definition::parts::Parts;
use crate::definition::policy::{Decision, Operation, Standing};
use crate::error::invalid_params;
use crate::protocol::context::Context;
use crate::round::request::Request;
use crate::round::{others, tool};

/// Lets a request pass, or refuses it. A refusal comes before the request is worked on, so it consumes nothing.
pub(crate) async fn check(parts: &Parts, request: &Request<'_>, route: Route) -> Result<(), ErrorObject> {
    if !parts.access.is_asked {
        return Ok(());
    }
    let identity = &request.context.identity;
    let (method, arguments) = (&*request.method, request.params.get("arguments"));
    let ask = async |name: Option<&str>, scopes: &[String]| {
        let standing = Standing::Live;
        let operation = Operation { method, name, arguments, scopes, standing, is_listed: false };
        parts.access.decide(identity, &operation).await
    };
    let name = request.name.as_deref();
    match route {
        Route::CallTool => {
            let name = request.required_name()?;
            let Some(tool) = parts.tools.get(name) else { return Ok(()) };
            refuse(ask(Some(name), &tool.settings.scopes).await, method, Some(name), || tool::unknown(name))
        }
        Route::GetPrompt => {
            let name = request.required_name()?;
            let Some(prompt) = parts.prompts.get(name) else { return Ok(()) };
            refuse(ask(Some(name), &prompt.settings.scopes).await, method, Some(name), || others::unknown_prompt(name))
        }
        Route::ReadResource => {
            let uri = request.required_name()?;
            let Some(scopes) = others::scopes_of_resource(parts, uri) else { return Ok(()) };
            let unknown = || others::not_found(uri, request.context.revision);
            refuse(ask(Some(uri), scopes).await, method, Some(uri), unknown)
        }
        Route::Complete => {
            let (name, scopes) = completed(parts, request)?;
            refuse(ask(name.as_deref(), scopes).await, method, name.as_deref(), others::nothing_to_complete)
        }
        // Its extension knows what the request is about, and asks by itself.
        Route::Extension(place) if parts.extensions[place].asks_policy(method) => Ok(()),
        _ => refuse(ask(name, &[]).await, method, name, denied),
    }
}

/// Returns the scopes that a method needs for this name.
pub(crate) fn scopes<'a>(parts: &'a Parts, method: &str, name: Option<&str>) -> &'a [String] {
    let scopes = match (method, name) {
        ("tools/call", Some(name)) => parts.tools.get(name).map(|tool| &*tool.settings.scopes),
        ("prompts/get", Some(name)) => parts.prompts.get(name).map(|prompt| &*prompt.settings.scopes),
        ("resources/read", Some(uri)) => others::scopes_of_resource(parts, uri),
        _ => None,
    };
    scopes.unwrap_or_default()
}

/// Returns the name of what a completion is for, and the scopes that it needs.
fn completed<'a>(parts: &'a Parts, request: &Request<'_>) -> Result<(Option<String>, &'a [String]), ErrorObject> {
    let params: CompleteParams =
        request.params.clone().read(request.context.revision.strict()).map_err(invalid_params)?;
    Ok(match params.reference {
        CompletionReference::Prompt(prompt) => {
            let scopes = parts.prompts.get(&prompt.name).map(|prompt| &*prompt.settings.scopes);
            (Some(prompt.name), scopes.unwrap_or_default())
        }
        CompletionReference::Resource(template) => {
            let scopes = parts.templates.get(&template.uri).map(|template| &*template.reader.settings.scopes);
            (Some(template.uri), scopes.unwrap_or_default())
        }
        _ => (None, &[]),
    })
}

/// The subject of a call that stays open while its client is asked: what its caller must be allowed to do with each
/// answer.
pub(crate) struct Subject {
    method: Box<str>,
    name: Box<str>,
    /// As they came, sharing the bytes of the message.
    arguments: Option<Bytes>,
}

impl Subject {
    pub(crate) fn of(request: &Request<'_>) -> Option<Self> {
        let name = request.name.as_deref()?.into();
        let arguments = request.params.get("arguments").map(|arguments| request.share(arguments));
        Some(Self { method: (&*request.method).into(), name, arguments })
    }

    /// Asks whether the sender of an answer may still make the call.
    pub(crate) async fn check(&self, parts: &Parts, context: &Context<'_>) -> Result<(), ErrorObject> {
        let Self { method, name, arguments } = self;
        let operation = Operation {
            method,
            name: Some(name),
            arguments: arguments.as_deref().and_then(|text| serde_json::from_slice(text).ok()),
            scopes: scopes(parts, method, Some(name)),
            standing: Standing::Live,
            is_listed: false,
        };
        let asked = Contained::new(parts.access.decide(&context.caller.identity, &operation)).await;
        let decision = asked.unwrap_or_else(|_| Decision::Deny("the policy panicked".to_owned()));
        refuse(decision, method, Some(name), denied)
    }
}

/// Asks for a resource that a client wants to hear of, as if it read it.
pub(crate) async fn check_resource(parts: &Parts, request: &Request<'_>, uri: &str) -> Result<(), ErrorObject> {
    if !parts.access.is_asked {
        return Ok(());
    }
    let scopes = others::scopes_of_resource(parts, uri).unwrap_or_default();
    let (method, standing) = (&*request.method, Standing::Live);
    let operation = Operation { method, name: Some(uri), arguments: None, scopes, standing, is_listed: false };
    let decision = parts.access.decide(&request.context.identity, &operation).await;
    refuse(decision, method, Some(uri), || others::not_found(uri, request.context.revision))
}

/// Returns true if a caller may see an entry of a list: also one that it lacks scopes for.
pub(crate) async fn is_shown(parts: &Parts, request: &Request<'_>, name: &str, scopes: &[String]) -> bool {
    if parts.access.policy.is_none() {
        return true;
    }
    let (method, standing) = (&*request.method, Standing::Live);
    let operation = Operation { method, name: Some(name), arguments: None, scopes, standing, is_listed: true };
    !matches!(parts.access.decide(&request.context.identity, &operation).await, Decision::Deny(_))
}

/// Turns a decision into the error that the caller gets.
pub(crate) fn refuse(
    decision: Decision,
    method: &str,
    name: Option<&str>,
    unknown: impl FnOnce() -> ErrorObject,
) -> Result<(), ErrorObject> {
    match decision {
        Decision::Allow => Ok(()),
        Decision::Missing(scopes) => {
            tracing::info!(method, name, ?scopes, "a request was refused: its credentials lack scopes");
            Err(ProtocolError::missing_scopes(scopes).into_object())
        }
        Decision::Deny(reason) => {
            tracing::info!(method, name, reason, "a request was refused by the policy");
            Err(unknown())
        }
    }
}

/// The refusal of what has no name that could be unknown.
fn denied() -> ErrorObject {
    ProtocolError::not_allowed().into_object()
}
