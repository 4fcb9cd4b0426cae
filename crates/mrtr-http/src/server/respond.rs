//! Replies as responses, and refusals that know their status: the one place that maps codes to statuses.

use http::{HeaderValue, Response, StatusCode, header};
use mrtr_schema::ErrorCode;
use mrtr_server::{Reply, Stage};
use tokio::sync::OwnedSemaphorePermit;

use super::authenticate::Challenge;
use super::body::Body;
use super::endpoint::Settings;

/// Why a request does not reach the server.
#[derive(Debug)]
pub(super) enum Refusal {
    ForeignOrigin,
    NotPost,
    NotJson,
    NotAcceptable,
    Unauthenticated(Challenge),
    TooLarge,
    TooSlow,
    Broken,
    Overloaded,
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<Body> {
        let status = match self {
            Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        };
        let extra = match self {
            Self::NotPost => Some((header::ALLOW, HeaderValue::from_static("POST"))),
            Self::Unauthenticated(Challenge(value)) => {
                HeaderValue::try_from(value).ok().map(|value| (header::WWW_AUTHENTICATE, value))
            }
            Self::Overloaded => Some((header::RETRY_AFTER, HeaderValue::from_static("1"))),
            // What is left of the body is not read, so nothing else may come on this connection.
            Self::TooLarge | Self::TooSlow => Some((header::CONNECTION, HeaderValue::from_static("close"))),
            _ => None,
        };
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        response.headers_mut().extend(extra.map(|(name, value)| (Some(name), value)));
        response
    }
}

pub(super) fn respond(reply: Reply, settings: &Settings, permit: Option<OwnedSemaphorePermit>) -> Response<Body> {
    match reply {
        Reply::Message { body, error } => {
            let status = error.map_or(StatusCode::OK, |(code, stage)| status(code, stage));
            with_type(status, Body::whole(body), "application/json")
        }
        Reply::Stream(messages) => {
            let body = Body::events(messages, settings.keep_alive, permit);
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

/// The status of an error: a request that is wrong in itself is a bad request; one whose method was reached is not.
fn status(code: ErrorCode, stage: Stage) -> StatusCode {
    match code {
        ErrorCode::PARSE_ERROR
        | ErrorCode::INVALID_REQUEST
        | ErrorCode::HEADER_MISMATCH
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::INVALID_PARAMS if stage == Stage::Metadata => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
