//! The requests and notifications of a session: `initialize`, what only sessions have, and calls.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use mrtr_flow::{Journal, ProtocolError, Question, StopSignal, ToolError};
use mrtr_schema::discovery::InitializeParams;
use mrtr_schema::notifications::{CancelledParams, SetLevelParams};
use mrtr_schema::resources::{SubscribeParams, UnsubscribeParams};
use mrtr_schema::{ErrorCode, ErrorObject, RawParams, RequestId, Revision};

use crate::definition::parts::Parts;
use crate::definition::tool::HeaderClaim;
use crate::error::invalid_params;
use crate::protocol::admit::{Admitted, OwnedAdmitted};
use crate::protocol::context::Context;
use crate::protocol::gate::{self, Subject};
use crate::protocol::reply::Reply;
use crate::protocol::{catalog, dispatch};
use crate::round::live::{KnownClient, LiveClient, LiveRun, NotAnswered, Wait};
use crate::round::request::OwnedRequest;
use crate::session::call::{Call, OpenCall};
use crate::session::limits::Legacy;
use crate::session::message::LegacyReply;
use crate::session::one::{NotBegun, Session};
use crate::session::stream::SessionStream;
use crate::session::table::{Sessions, primed};
use crate::support::notify::{Notifier, Receiver};
use crate::support::shed::LoadGuard;

/// Begins a session, with the version that both sides have.
pub(super) fn initialize(
    sessions: &Sessions,
    id: RequestId,
    request: &OwnedRequest,
    context: &Context<'_>,
) -> LegacyReply {
    let params = match read_initialize(request, context) {
        Ok(params) => params,
        Err(error) => return LegacyReply::Modern(Reply::error(Some(id), error.into(), Revision::default())),
    };
    let revision = Revision::for_session(&params.protocol_version);
    let parts = sessions.parts();
    let has_session = sessions.legacy() == Legacy::Sessions;
    let capabilities = if has_session { parts.session_capabilities(revision) } else { parts.capabilities(revision) };
    let body = match catalog::initialized(parts, revision, capabilities) {
        Ok(result) => Reply::result(&id, result),
        Err(error) => Reply::error(Some(id), error.into(), revision),
    };
    let Reply::Message { body, error: None } = body else { return LegacyReply::of(body, revision) };
    if !has_session {
        return LegacyReply::Message { body, error: None, revision };
    }
    let Ok(session) = sessions.begin(context, revision, params.capabilities) else {
        tracing::warn!("a session was refused: the sessions have reached their limit, in number or in bytes");
        return LegacyReply::Overloaded;
    };
    LegacyReply::Opened { body, session: session.id.clone() }
}

fn read_initialize(request: &OwnedRequest, context: &Context<'_>) -> Result<InitializeParams, ErrorObject> {
    let params = request.request(&context.caller)?.params;
    let asked = params.text("protocolVersion").map_err(invalid_params)?.unwrap_or_default();
    let revision = Revision::for_session(&asked);
    params.read(revision.lenient()).map_err(invalid_params)
}

/// Answers a request of a client that has no session: the server knows nothing of it, and can ask it nothing.
pub(super) async fn stateless(
    sessions: &Sessions,
    id: RequestId,
    request: &OwnedRequest,
    mut context: Context<'static>,
    version: &HeaderClaim<'_>,
) -> LegacyReply {
    let revision = match version {
        HeaderClaim::Text(version) => Revision::for_session(version),
        // A client that does not say its version counts as the oldest.
        HeaderClaim::Missing | HeaderClaim::Unreadable => Revision::LEGACY[0],
    };
    let live = Stateless { journal_limit: sessions.limits().bytes_of_session / 4 };
    context.in_session(revision, KnownClient { live: Some(Arc::new(live)), ..KnownClient::default() });
    let parts = sessions.parts();
    let admitted = match admit(parts, id, request, &context) {
        Ok(admitted) => admitted,
        Err(reply) => return LegacyReply::of(reply, revision),
    };
    let reply = Box::pin(dispatch::answer_streaming(Arc::clone(parts), admitted, context.caller)).await;
    LegacyReply::of(reply, revision)
}

/// Answers a request of a session.
pub(super) async fn in_session(
    parts: &Arc<Parts>,
    session: &Arc<Session>,
    id: RequestId,
    request: OwnedRequest,
    context: Context<'static>,
) -> LegacyReply {
    if request.runs_flow() {
        return match request.compact() {
            Ok(request) => begin_call(parts, session, id, &request, context).await,
            Err(error) => LegacyReply::of(Reply::error(Some(id), error.into(), session.revision), session.revision),
        };
    }
    let revision = session.revision;
    let mut context = context;
    context.in_session(revision, KnownClient { capabilities: Arc::clone(&session.capabilities), live: None });
    let params = match request.request(&context.caller) {
        Ok(request) => request.params,
        Err(error) => return LegacyReply::of(Reply::error(Some(id), error.into(), revision), revision),
    };
    if let Some(uri) = subscribed(&request, &params)
        && let Ok(asked) = request.request(&context.caller)
        && let Err(error) = gate::check_resource(parts, &asked, &uri).await
    {
        return LegacyReply::of(Reply::error(Some(id), error.into(), revision), revision);
    }
    let reply = match own_method(parts, session, &request, params) {
        Some(Ok(())) => match catalog::ping(parts, revision) {
            Ok(nothing) => Reply::result(&id, nothing),
            Err(error) => Reply::error(Some(id), error.into(), revision),
        },
        Some(Err(error)) => Reply::error(Some(id), error.into(), revision),
        None => match admit(parts, id, &request, &context) {
            Ok(admitted) => Box::pin(answer_owned(parts, &admitted, &context)).await,
            Err(reply) => reply,
        },
    };
    LegacyReply::of(reply, revision)
}

/// Returns the resource that a client of a session wants to hear of.
fn subscribed(request: &OwnedRequest, params: &RawParams<'_>) -> Option<String> {
    if !request.is("resources/subscribe") {
        return None;
    }
    params.text("uri").ok().flatten().map(Cow::into_owned)
}

/// Answers the methods that only sessions have; `None` if the method is another.
fn own_method(
    parts: &Parts,
    session: &Session,
    request: &OwnedRequest,
    params: RawParams<'_>,
) -> Option<Result<(), ErrorObject>> {
    let dialect = session.revision.lenient();
    if request.is("logging/setLevel") {
        let params = params.read::<SetLevelParams>(dialect).map_err(invalid_params);
        return Some(params.map(|params| session.set_level(params.level)));
    }
    if request.is("resources/subscribe") && parts.has_resources() {
        let params = params.read::<SubscribeParams>(dialect).map_err(invalid_params);
        let full =
            || ProtocolError::invalid_params("The session has reached its limit of watched resources").into_object();
        return Some(params.and_then(|params| session.watch(params.uri).then_some(()).ok_or_else(full)));
    }
    if request.is("resources/unsubscribe") && parts.has_resources() {
        let params = params.read::<UnsubscribeParams>(dialect).map_err(invalid_params);
        return Some(params.map(|params| session.unwatch(&params.uri)));
    }
    None
}

async fn check_owned(parts: &Parts, admitted: &OwnedAdmitted, context: &Context<'static>) -> Result<(), Reply> {
    dispatch::check_caller(parts, &admitted.admitted(&context.caller)?).await
}

async fn answer_owned(parts: &Arc<Parts>, admitted: &OwnedAdmitted, context: &Context<'static>) -> Reply {
    match admitted.admitted(&context.caller) {
        Ok(admitted) => dispatch::answer_request(parts, &admitted).await,
        Err(reply) => reply,
    }
}

fn admit(parts: &Parts, id: RequestId, request: &OwnedRequest, context: &Context<'_>) -> Result<OwnedAdmitted, Reply> {
    match request.request(&context.caller) {
        Ok(request) => Admitted::in_session(parts, id, request, context)?.into_owned(),
        Err(error) => Err(Reply::error(Some(id), error.into(), context.caller.revision)),
    }
}

/// Begins a call, away from its connection: in this era, a client that disconnects cancels nothing.
async fn begin_call(
    parts: &Arc<Parts>,
    session: &Arc<Session>,
    id: RequestId,
    request: &OwnedRequest,
    mut context: Context<'static>,
) -> LegacyReply {
    let revision = session.revision;
    let (size, permit) = (request.size(), context.caller.permit.take());
    let call = match session.begin_call(id.clone(), size, permit, parts.shared.changes.clone()) {
        Ok(call) => call,
        Err(reason) => return LegacyReply::of(Reply::error(Some(id), reason.to_error().into(), revision), revision),
    };
    // From here on, whatever happens, the call ends.
    let open = OpenCall(Arc::clone(&call));
    let live = Some(Arc::clone(&call) as Arc<dyn LiveClient>);
    context.in_session(revision, KnownClient { capabilities: Arc::clone(&session.capabilities), live });
    let mut admitted = match admit(parts, id, request, &context) {
        Ok(admitted) => admitted,
        Err(reply) => return LegacyReply::of(reply, revision),
    };
    let (log, to) = (Some(session.level()), Receiver::Sink(Arc::clone(&call) as _));
    // In this era, too, a refusal comes before a byte of the stream.
    if parts.access.is_asked
        && let Err(refused) = check_owned(parts, &admitted, &context).await
    {
        return LegacyReply::of(refused, revision);
    }
    if parts.access.is_asked {
        let subject = admitted.admitted(&context.caller).ok().and_then(|admitted| Subject::of(&admitted.request));
        subject.and_then(|subject| call.subject.set(subject).err());
    }
    admitted.hear(|progress| Notifier { progress, log, to, revision });
    let mut reader = call.stream.read_after(0);
    tokio::spawn(run_call(Arc::clone(parts), open, admitted, context));
    drop(call);
    match reader.next().await {
        Some(event) if event.is_response() => {
            LegacyReply::Message { body: event.text.as_ref().to_owned(), error: None, revision }
        }
        Some(event) => LegacyReply::Events(SessionStream::of(reader, Some(event), primed(revision))),
        // It was cancelled: there is no response.
        None => LegacyReply::Accepted,
    }
}

/// Runs a call to its end.
async fn run_call(parts: Arc<Parts>, open: OpenCall, admitted: OwnedAdmitted, context: Context<'static>) {
    let _counted = LoadGuard::begin(&parts.shared.detached);
    let call: &Call = &open.0;
    let response = match admitted.admitted(&context.caller) {
        Ok(admitted) => dispatch::answer_allowed(&parts, &admitted).await,
        Err(reply) => reply,
    };
    call.end(response.last().await);
}

/// Handles a notification of the client's.
pub(super) fn notified(session: &Session, method: &str, params: Option<RawParams<'_>>) {
    if method != "notifications/cancelled" {
        // The client is ready, or its roots changed: the server asks for them anew each time.
        return;
    }
    let cancelled = params.and_then(|params| params.read::<CancelledParams>(session.revision.lenient()).ok());
    if let Some(id) = cancelled.and_then(|params| params.request_id) {
        session.cancel(&id);
    }
}

impl NotBegun {
    fn to_error(&self) -> ErrorObject {
        let (code, text) = match self {
            Self::IdInUse => (ErrorCode::INVALID_REQUEST, "A request with this id is still open"),
            Self::TooManyCalls => (ErrorCode::INTERNAL_ERROR, "The session has reached its limit of open calls"),
            Self::NoRoom => (ErrorCode::INTERNAL_ERROR, "The session has no room for this call; end other calls first"),
            Self::Over => (ErrorCode::INVALID_REQUEST, "The session has ended"),
        };
        ErrorObject::new(code, text)
    }
}

/// A client that cannot be asked.
#[derive(Debug)]
pub(super) struct Stateless {
    pub(super) journal_limit: usize,
}

#[async_trait]
impl LiveClient for Stateless {
    fn run_begins(&self) -> LiveRun {
        LiveRun { stop: StopSignal::new(), journal_limit: self.journal_limit }
    }

    async fn run_ended(&self, _: &Journal) -> Result<(), NotAnswered> {
        Ok(())
    }

    fn unaskable(&self) -> Option<&'static str> {
        Some(REASON)
    }

    async fn ask(&self, _: Vec<Question>, _: &mut Journal, _: Wait) -> Result<(), NotAnswered> {
        Err(NotAnswered::Failed(ToolError::new(REASON).into()))
    }

    async fn pause(&self, _: Wait) -> Result<(), NotAnswered> {
        Err(NotAnswered::Failed(ToolError::new(REASON).into()))
    }
}

const REASON: &str = "this server keeps no sessions in which a client of this protocol version could be asked";
