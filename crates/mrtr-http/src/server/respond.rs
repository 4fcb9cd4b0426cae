//! Replies as responses, and refusals that know their status: the one place that maps codes to statuses.

use http::{HeaderValue, Response, StatusCode, Version, header};
use mrtr_schema::{ErrorCode, ErrorObject, ErrorResponse, Feature, Revision};
use mrtr_server::{Reply, Stage};
use tokio::sync::OwnedSemaphorePermit;

use super::authenticate::Challenge;
use super::body::Body;
use super::budget::BodyReservation;
use super::endpoint::EndpointConfig;

/// Why a request does not reach the server.
#[derive(Debug)]
pub(super) enum Rejection {
    NotFound,
    ForeignOrigin,
    NotPost,
    NotJson,
    Encoded,
    NotAcceptable,
    TwoCredentials,
    Unauthenticated(Challenge),
    TooLarge,
    TooSlow,
    /// The connection broke, or what came was no body.
    Broken,
    TooDeep,
    Overloaded,
}

/// Marks a response to a request whose body may be unread: whoever closes the connection should hear it out.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnreadBody;

impl Rejection {
    pub(super) fn into_response(self, version: Version) -> Response<Body> {
        let (status, text) = self.status();
        let mut response = match self {
            Self::TooDeep => with_type(status, Body::whole(parse_error(text)), JSON),
            _ => with_type(status, Body::whole(text), "text/plain; charset=utf-8"),
        };
        let extra = match self {
            Self::NotPost => Some((header::ALLOW, HeaderValue::from_static("POST"))),
            Self::Encoded => Some((header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            Self::Unauthenticated(challenge) => Some((header::WWW_AUTHENTICATE, challenge.value)),
            Self::Overloaded => Some((header::RETRY_AFTER, HeaderValue::from_static("1"))),
            // What is left of the body is not read, so nothing else may come on this connection. HTTP/2 has no such
            // header, and other requests on its connection.
            Self::TooLarge | Self::TooSlow if version < Version::HTTP_2 => {
                Some((header::CONNECTION, HeaderValue::from_static("close")))
            }
            _ => None,
        };
        response.headers_mut().extend(extra.map(|(name, value)| (Some(name), value)));
        response.extensions_mut().insert(UnreadBody);
        response
    }

    /// The status, and a line for whoever looks at it by hand.
    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "There is nothing here.\n"),
            Self::ForeignOrigin => {
                (StatusCode::FORBIDDEN, "Requests for this host, or from this origin, are not taken.\n")
            }
            Self::NotPost => (StatusCode::METHOD_NOT_ALLOWED, "Only POST here.\n"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be `application/json`, in UTF-8.\n"),
            Self::Encoded => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must not be compressed or encoded.\n"),
            Self::NotAcceptable => {
                (StatusCode::NOT_ACCEPTABLE, "`application/json` and `text/event-stream` must both be accepted.\n")
            }
            // RFC 6750, 3.1: credentials that come more than once are an invalid request, which is a 400. A 401 would say
            // that other credentials might do.
            Self::TwoCredentials => (StatusCode::BAD_REQUEST, "`Authorization` stands there more than once.\n"),
            Self::Unauthenticated(challenge) if challenge.is_forbidden => {
                (StatusCode::FORBIDDEN, "This is not allowed.\n")
            }
            Self::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, "Say who you are.\n"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large.\n"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "The body took too long.\n"),
            Self::Broken => (StatusCode::BAD_REQUEST, "The body broke off.\n"),
            Self::TooDeep => (StatusCode::BAD_REQUEST, "not JSON that is read here: it is nested too deeply"),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "Too much is going on; try again later.\n"),
        }
    }
}

/// The error for what cannot be parsed, as the server words it where it finds out itself.
fn parse_error(message: &str) -> String {
    let error = ErrorResponse::new(ErrorObject::new(ErrorCode::PARSE_ERROR, message));
    serde_json::to_string(&error).expect("an error is JSON")
}

pub(super) fn respond(
    reply: Reply,
    config: &EndpointConfig,
    place: (Option<OwnedSemaphorePermit>, BodyReservation),
) -> Response<Body> {
    match reply {
        Reply::Message { body, error } => {
            let status = error.map_or(StatusCode::OK, |(code, stage)| status(code, stage, config.revision));
            with_type(status, Body::whole(body), JSON)
        }
        Reply::Stream(messages) => {
            let body = Body::events(messages, config.keep_alive, place);
            let mut response = with_type(StatusCode::OK, body, "text/event-stream");
            let headers = response.headers_mut();
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            response
        }
        _ => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::ACCEPTED;
            response
        }
    }
}

fn with_type(status: StatusCode, body: Body, media_type: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

const JSON: &str = "application/json";

/// The status of an error: a request that is wrong in itself is a bad request; one whose method was reached is not.
///
/// The older revisions know no status but that of a message that is none: there, 404 says that a session is over.
fn status(code: ErrorCode, stage: Stage, revision: Revision) -> StatusCode {
    match code {
        ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ if !revision.has(Feature::RequestMetadata) => StatusCode::OK,
        ErrorCode::HEADER_MISMATCH
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::INVALID_PARAMS if stage == Stage::Metadata => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
