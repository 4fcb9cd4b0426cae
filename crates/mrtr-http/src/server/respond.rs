//! Replies and rejections as responses: the one place that maps codes of errors to statuses.

use http::{HeaderValue, Response, StatusCode, Version, header};
use mrtr_schema::error_object::ErrorResponse;
use mrtr_schema::{ErrorCode, ErrorObject, Feature, Revision};
use mrtr_server::transport::Stage;
use mrtr_server::{ProtocolError, Reply};

use super::accounts::Charges;
use super::challenge::Challenge;
use super::config::EndpointConfig;
use super::endpoint::Endpoint;
use super::rejection::Rejection;
use super::response_body::{ResponseBody, StreamPermits};

/// Creates the response to a request that reached the server.
pub(super) fn respond(
    reply: Reply,
    config: &EndpointConfig,
    permits: StreamPermits,
    charges: Charges,
) -> Response<ResponseBody> {
    match reply {
        Reply::Message { body, error } => message(body, error, config.revision, charges),
        Reply::Stream(messages) | Reply::Subscription(messages) => {
            event_stream(ResponseBody::events(messages, config.keep_alive, permits, charges))
        }
        _ => {
            let mut response = Response::new(ResponseBody::empty());
            *response.status_mut() = StatusCode::ACCEPTED;
            response
        }
    }
}

/// Creates a response with a message that answers a request.
pub(super) fn message(
    body: String,
    error: Option<(ErrorCode, Stage)>,
    revision: Revision,
    charges: Charges,
) -> Response<ResponseBody> {
    let status = error.map_or(StatusCode::OK, |(code, stage)| status(code, stage, revision));
    let mut response = with_type(status, ResponseBody::message(body, charges), JSON);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, SOON);
    }
    response
}

/// Creates the response to a request whose caller may not make it: a challenge says which scopes would help.
#[cold]
pub(super) fn forbidden(
    body: String,
    endpoint: &Endpoint,
    is_anonymous: bool,
    charges: Charges,
) -> Response<ResponseBody> {
    let error = serde_json::from_str::<ErrorResponse>(&body).ok().map(|response| ProtocolError::from(response.error));
    let scopes = error.map(|error| error.required_scopes()).unwrap_or_default();
    let challenge = if is_anonymous {
        // Nobody has been refused yet: the caller has only to say who it is.
        Challenge::bearer().needing(&scopes)
    } else if scopes.is_empty() {
        Challenge::bearer().forbidden()
    } else {
        Challenge::bearer().insufficient_scope(&scopes)
    };
    let challenge = endpoint.completed(challenge, &[]);
    let mut response = with_type(challenge.status(), ResponseBody::message(body, charges), JSON);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge.to_header());
    response
}

/// Creates a response that is a stream of events.
pub(super) fn event_stream(body: ResponseBody) -> Response<ResponseBody> {
    let mut response = with_type(StatusCode::OK, body, "text/event-stream");
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // A proxy such as nginx would hold events back until it has enough of them.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Creates the response to a request that did not reach the server.
pub(super) fn reject(rejection: Rejection, version: Version) -> Response<ResponseBody> {
    if !matches!(rejection, Rejection::Foreign(..) | Rejection::Unauthenticated(_)) {
        // The log has these already, with their causes.
        tracing::debug!(?rejection, "a request was refused");
    }
    let (status, text) = rejection.status();
    let closes = version < Version::HTTP_2 && rejection.leaves_body();
    let mut response = match &rejection {
        Rejection::Foreign(_, Some(told)) => {
            with_type(status, ResponseBody::whole(format!("{text}{told}\n")), "text/plain; charset=utf-8")
        }
        Rejection::TooDeep => with_type(status, ResponseBody::whole(parse_error(text)), JSON),
        _ => with_type(status, ResponseBody::whole(text), "text/plain; charset=utf-8"),
    };
    let extra = match rejection {
        Rejection::NotPost => Some((header::ALLOW, HeaderValue::from_static("POST"))),
        Rejection::Encoded => Some((header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
        Rejection::Unauthenticated(challenge) => Some((header::WWW_AUTHENTICATE, challenge.to_header())),
        Rejection::Overloaded | Rejection::NoRoomForHead => Some((header::RETRY_AFTER, SOON)),
        _ => None,
    };
    if closes {
        // HTTP/2 has no such header, and its connection has other requests.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().extend(extra.map(|(name, value)| (Some(name), value)));
    response.extensions_mut().insert(UnreadBody);
    response
}

/// A mark on a response to a request whose body may be unread: before the connection closes, the server should read on.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnreadBody;

/// The error for a message that cannot be parsed, in the words that the server itself uses for it.
fn parse_error(message: &str) -> String {
    let error = ErrorResponse::new(ErrorObject::new(ErrorCode::PARSE_ERROR, message));
    serde_json::to_string(&error).expect("an error is JSON")
}

pub(super) fn with_type(status: StatusCode, body: ResponseBody, media_type: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// The status of an error: a request that is wrong in itself is a bad request; one whose method was reached is not.
///
/// Only `NOT_ALLOWED` has 401 and 403, with a challenge (see [`forbidden`]): a client takes them for a refusal of its
/// credentials, whatever the body says.
///
/// The older revisions answer an error with 200, unless the server is busy or the body is no message: there, 404 says
/// that a session is over.
pub(super) fn status(code: ErrorCode, stage: Stage, revision: Revision) -> StatusCode {
    match code {
        // As for a request that did not reach the server.
        ErrorCode::BUSY => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ if !revision.has(Feature::HttpErrorStatus) => StatusCode::OK,
        ErrorCode::HEADER_MISMATCH
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::INVALID_PARAMS if stage == Stage::Metadata => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

pub(super) const JSON: &str = "application/json";
/// The seconds after which a client that was turned away may come back.
const SOON: HeaderValue = HeaderValue::from_static("1");
