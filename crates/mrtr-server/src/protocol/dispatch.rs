//! The path of a request that was admitted: past the middleware, to its method, and back as a reply.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::{Contained, internal_error};
use mrtr_schema::{ErrorObject, Json, RequestId, Revision};
use tokio::sync::mpsc;

use crate::definition::extension_reply::{ExtensionMessage, ExtensionReply};
use crate::definition::middleware::{Middleware, RequestInfo};
use crate::definition::parts::Parts;
use crate::protocol::admit::{Admitted, OwnedAdmitted};
use crate::protocol::reply::{Reply, ReplyStream};
use crate::protocol::route::Route;
use crate::protocol::{catalog, gate, subscription};
use crate::round::request::{CallerContext, Request};
use crate::round::{others, tool};
use crate::support::contained::{ContainedStream, contained, panicked_in};

/// Answers a request that was admitted, if its caller may.
pub(crate) async fn answer_request(parts: &Arc<Parts>, admitted: &Admitted<'_>) -> Reply {
    if parts.access.is_asked
        && let Err(refused) = Box::pin(check_caller(parts, admitted)).await
    {
        return refused;
    }
    answer_allowed(parts, admitted).await
}

/// Refuses a request whose caller may not, before anything of it is done.
#[cold]
pub(crate) async fn check_caller(parts: &Parts, admitted: &Admitted<'_>) -> Result<(), Reply> {
    let Admitted { id, request, route, .. } = admitted;
    // A policy is others' code.
    let checked = Contained::new(gate::check(parts, request, *route)).await;
    let checked = checked.unwrap_or_else(|panicked| Err(panicked_in("a policy", &panicked)));
    checked.map_err(|error| Reply::error(Some(id.clone()), error.into(), request.context.revision))
}

/// Answers a request whose caller may make it.
pub(crate) async fn answer_allowed(parts: &Arc<Parts>, admitted: &Admitted<'_>) -> Reply {
    let Admitted { id, request, route, .. } = admitted;
    let answered = if parts.middleware.is_empty() {
        // The request may pass through others' code at any place: extensions, a recorder of metrics, a clock, a store.
        let answering = Contained::new(run_method(parts, id, request, *route)).await;
        answering.unwrap_or_else(|panicked| Err(panicked_in("the handling of a request", &panicked)))
    } else {
        Box::pin(past_middleware(parts, admitted)).await
    };
    answered.unwrap_or_else(|error| Reply::error(Some(id.clone()), error.into(), request.context.revision))
}

/// Answers with a stream if a notification comes before the response, and with the response alone otherwise.
pub(crate) async fn answer_streaming(
    parts: Arc<Parts>,
    mut owned: OwnedAdmitted,
    context: CallerContext<'static>,
) -> Reply {
    let (sender, mut notifications) = mpsc::channel(NOTIFICATIONS_IN_FLIGHT);
    owned.notify(sender, context.revision);
    // The stream outlives this call, so it has the request as its own.
    let mut answering = Box::pin(async move {
        match owned.admitted(&context) {
            Ok(admitted) => answer_request(&parts, &admitted).await,
            Err(reply) => reply,
        }
    });
    let first = tokio::select! {
        biased;
        Some(first) = notifications.recv() => first,
        reply = &mut answering => match notifications.try_recv() {
            Ok(first) => {
                let response = Box::pin(async { reply.last().await.unwrap_or_default() });
                return stream_from(first, notifications, response);
            }
            Err(_) => return reply,
        },
    };
    let response = Box::pin(async { answering.await.last().await.unwrap_or_default() });
    stream_from(first, notifications, response)
}

fn stream_from(
    first: String,
    notifications: mpsc::Receiver<String>,
    response: Pin<Box<dyn Future<Output = String> + Send>>,
) -> Reply {
    let rest = ReplyStream::until_response(notifications, response);
    Reply::Stream(ReplyStream::new(stream::once(async { first }).chain(rest)))
}

/// Takes a request past the middleware, to its method, and past the middleware again.
async fn past_middleware(parts: &Arc<Parts>, admitted: &Admitted<'_>) -> Result<Reply, ErrorObject> {
    let Admitted { id, request, route, .. } = admitted;
    let info = RequestInfo {
        method: &request.method,
        name: request.name.as_deref(),
        caller: request.context.identity.caller(),
        tenant: request.context.identity.tenant(),
        identity: &request.context.identity,
        revision: request.context.revision,
        is_retry: request.params.get("requestState").is_some(),
    };
    let (passed, refused) = pass(&parts.middleware, &info).await;
    let answered = match refused {
        Some(error) => Err(error),
        None => Contained::new(run_method(parts, id, request, *route))
            .await
            .unwrap_or_else(|panicked| Err(panicked_in("the handling of a request", &panicked))),
    };
    for middleware in passed.iter().rev() {
        let outcome = answered.as_ref().map(drop);
        contained("middleware", Box::pin(async { middleware.after(&info, outcome).await })).await.ok();
    }
    answered
}

/// Answers a request by the part of the server that its method belongs to.
async fn run_method(
    parts: &Arc<Parts>,
    id: &RequestId,
    request: &Request<'_>,
    route: Route,
) -> Result<Reply, ErrorObject> {
    let revision = request.context.revision;
    let result = match route {
        Route::CallTool => tool::answer_call(parts, request).await,
        Route::GetPrompt => others::get_prompt(parts, request).await,
        Route::ReadResource => others::read_resource(parts, request).await,
        Route::Complete => others::complete(parts, request).await,
        Route::ListTools => catalog::tools(parts, request).await,
        Route::ListPrompts => catalog::prompts(parts, request).await,
        Route::ListResources => catalog::resources(parts, request).await,
        Route::ListResourceTemplates => catalog::templates(parts, request).await,
        Route::Discover => catalog::discover(parts, revision),
        Route::Initialize => catalog::initialize(parts, request),
        Route::Ping => catalog::ping(parts, revision),
        // The reply to both is more than a result.
        Route::Listen => return Box::pin(subscription::listen(parts, id, request)).await,
        Route::Extension(place) => return Box::pin(answer_by_extension(parts, id, request, place)).await,
    };
    result.map(|result| Reply::result(id, result))
}

/// Asks each middleware in turn, until one refuses. Returns those that let the request through, and the refusal if one
/// did not.
async fn pass<'a>(
    all: &'a [Arc<dyn Middleware>],
    call: &RequestInfo<'_>,
) -> (&'a [Arc<dyn Middleware>], Option<ErrorObject>) {
    for (place, middleware) in all.iter().enumerate() {
        let refusal = match contained("middleware", Box::pin(async { middleware.before(call).await })).await {
            Ok(passed) => passed.map_err(ProtocolError::into_object).err(),
            Err(error) => Some(error),
        };
        if refusal.is_some() {
            return (&all[..place], refusal);
        }
    }
    (all, None)
}

const NOTIFICATIONS_IN_FLIGHT: usize = 16;

/// Lets an extension answer a method of its own.
async fn answer_by_extension(
    parts: &Arc<Parts>,
    id: &RequestId,
    request: &Request<'_>,
    place: usize,
) -> Result<Reply, ErrorObject> {
    let (extension, revision) = (&parts.extensions[place], request.context.revision);
    let asked = request.for_extension();
    let answer = Box::pin(async { extension.handle(&asked).await });
    match contained(extension.name(), answer).await?.map_err(ProtocolError::into_object)? {
        ExtensionReply::Result(result) => Ok(Reply::result(id, parts.results.adopt(&result, revision)?)),
        ExtensionReply::Stream(messages) => {
            let (parts, id) = (Arc::clone(parts), id.clone());
            let unended = last_message(&parts, &id, Err(internal_error().into()), revision);
            let messages = ContainedStream::new(extension.name(), messages);
            let written = messages.map(move |message| match message {
                Ok(ExtensionMessage::Notice(notice)) => (Some(notice.to_message()), false),
                Ok(ExtensionMessage::Result(result)) => (last_message(&parts, &id, result, revision), true),
                Err(error) => (last_message(&parts, &id, Err(error.into()), revision), true),
            });
            // The stream ends with the result: anything that an extension says after it is not for this client.
            let written = stream::unfold(Some((written, unended)), |left| async {
                let (mut written, unended) = left?;
                let Some((text, is_last)) = written.next().await else {
                    tracing::error!("an extension's stream ended without a result");
                    return Some((unended, None));
                };
                Some((text, (!is_last).then_some((written, unended))))
            });
            Ok(Reply::Subscription(ReplyStream::new(written.filter_map(std::future::ready))))
        }
    }
}

fn last_message(
    parts: &Parts,
    id: &RequestId,
    result: Result<Json, ProtocolError>,
    revision: Revision,
) -> Option<String> {
    let adopted = result.map_err(ProtocolError::into_object).and_then(|result| parts.results.adopt(&result, revision));
    let reply = match adopted {
        Ok(result) => Reply::result(id, result),
        Err(error) => Reply::error(Some(id.clone()), error.into(), revision),
    };
    match reply {
        Reply::Message { body, .. } => Some(body),
        _ => None,
    }
}
