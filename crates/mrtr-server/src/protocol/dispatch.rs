//! The path of a request that was admitted: past the middleware, to its method, and back as a reply.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::Contained;
use mrtr_schema::{ErrorObject, RequestId};
use tokio::sync::mpsc;

use super::admit::{Admitted, OwnedAdmitted};
use super::reply::{Reply, ReplyStream};
use super::route::Route;
use super::{catalog, extension, subscription};
use crate::definition::contained::{contained, panicked_in};
use crate::definition::middleware::{Middleware, RequestInfo};
use crate::definition::parts::Parts;
use crate::round::request::{CallerContext, Request};
use crate::round::{completion, prompt, resource, tool};

/// Answers a request that was admitted.
pub(crate) async fn answer_request(parts: &Arc<Parts>, admitted: &Admitted<'_>) -> Reply {
    let Admitted { id, request, route, .. } = admitted;
    let answered = if parts.middleware.is_empty() {
        // On the way there may be code of others at any place: extensions, a recorder of metrics, a clock, a store.
        let answering = Contained::new(run_method(parts, id, request, *route)).await;
        answering.unwrap_or_else(|panicked| Err(panicked_in("what answers requests", &panicked)))
    } else {
        Box::pin(past_middleware(parts, admitted)).await
    };
    answered.unwrap_or_else(|error| Reply::error(Some(id.clone()), error.into(), request.context.revision))
}

/// Answers with a stream if anything is said before the response, and with the response alone otherwise.
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

/// Past the middleware, to the method, and past the middleware again.
async fn past_middleware(parts: &Arc<Parts>, admitted: &Admitted<'_>) -> Result<Reply, ErrorObject> {
    let Admitted { id, request, route, .. } = admitted;
    let info = RequestInfo {
        method: &request.method,
        name: request.name.as_deref(),
        caller: request.context.caller.as_ref(),
        tenant: request.context.tenant.as_deref(),
        revision: request.context.revision,
        is_retry: request.params.get("requestState").is_some(),
    };
    let (passed, refused) = pass(&parts.middleware, &info).await;
    let answered = match refused {
        Some(error) => Err(error),
        None => Contained::new(run_method(parts, id, request, *route))
            .await
            .unwrap_or_else(|panicked| Err(panicked_in("what answers requests", &panicked))),
    };
    for middleware in passed.iter().rev() {
        let outcome = answered.as_ref().map(drop);
        contained("middleware", Box::pin(async { middleware.after(&info, outcome).await })).await.ok();
    }
    answered
}

/// Has a request answered by what its method belongs to.
async fn run_method(
    parts: &Arc<Parts>,
    id: &RequestId,
    request: &Request<'_>,
    route: Route,
) -> Result<Reply, ErrorObject> {
    let revision = request.context.revision;
    let result = match route {
        Route::CallTool => tool::answer_call(parts, request).await,
        Route::GetPrompt => prompt::get(parts, request).await,
        Route::ReadResource => resource::read(parts, request).await,
        Route::Complete => completion::complete(parts, request).await,
        Route::ListTools => catalog::tools(parts, request),
        Route::ListPrompts => catalog::prompts(parts, request),
        Route::ListResources => catalog::resources(parts, request),
        Route::ListResourceTemplates => catalog::templates(parts, request),
        Route::Discover => catalog::discover(parts, revision),
        Route::Initialize => catalog::initialize(parts, request),
        Route::Ping => catalog::ping(parts, revision),
        // Both are answered with more than a result.
        Route::Listen => return subscription::listen(parts, id, request),
        Route::Extension(place) => return Box::pin(extension::answer(parts, id, request, place)).await,
    };
    result.map(|result| Reply::result(id, result))
}

/// Asks middleware in turn: who let the request through, and the refusal if one did not.
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
