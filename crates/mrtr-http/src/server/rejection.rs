//! The reasons why a request does not reach the server, each with its status.

use http::StatusCode;

use super::challenge::Challenge;
use super::origin::Foreign;

/// The reason why a request does not reach the server.
#[derive(Debug)]
pub(super) enum Rejection {
    NotFound,
    /// The host or origin is not allowed; with what to tell a caller on this machine.
    Foreign(Foreign, Option<String>),
    NotPost,
    NotJson,
    Encoded,
    /// The body has a transfer coding that the server does not read.
    TransferCoded,
    TooManyHeaders,
    NotAcceptable,
    TwoCredentials,
    Unauthenticated(Box<Challenge>),
    TooLarge,
    TooSlow,
    /// The connection broke, or the bytes that came were not a body.
    Broken,
    TooDeep,
    Overloaded,
    /// There is no room for a long head. The server closes its connection, which keeps the head in memory.
    NoRoomForHead,
    NoSession,
    OtherVersion,
    StreamGone,
}

impl Rejection {
    /// Returns true if the rest of the body stays unread, so that no other request may come on a connection of HTTP/1.
    pub(super) fn leaves_body(&self) -> bool {
        matches!(self, Self::TooLarge | Self::TooSlow | Self::TransferCoded | Self::NoRoomForHead)
    }

    /// Returns the status, and a line for a person who sent the request by hand.
    pub(super) fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "There is nothing here.\n"),
            Self::Foreign(..) => {
                (StatusCode::FORBIDDEN, "Requests for this host, or from this origin, are not taken.\n")
            }
            Self::NotPost => (StatusCode::METHOD_NOT_ALLOWED, "Only POST here.\n"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be `application/json`, in UTF-8.\n"),
            Self::Encoded => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must not be compressed or encoded.\n"),
            Self::TransferCoded => (StatusCode::NOT_IMPLEMENTED, "No transfer coding but `chunked` is read here.\n"),
            Self::TooManyHeaders => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "There are too many headers.\n"),
            Self::NotAcceptable => {
                (StatusCode::NOT_ACCEPTABLE, "`application/json` and `text/event-stream` must both be accepted.\n")
            }
            // RFC 6750, 3.1: credentials that come more than once are an invalid request, which is a 400. A 401 would
            // say that other credentials might do.
            Self::TwoCredentials => (StatusCode::BAD_REQUEST, "`Authorization` stands there more than once.\n"),
            Self::Unauthenticated(challenge) => match challenge.status() {
                StatusCode::FORBIDDEN => (StatusCode::FORBIDDEN, "This is not allowed.\n"),
                StatusCode::BAD_REQUEST => (StatusCode::BAD_REQUEST, "The credentials cannot be read.\n"),
                status => (status, "Say who you are.\n"),
            },
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large.\n"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "The body took too long.\n"),
            Self::Broken => (StatusCode::BAD_REQUEST, "The body broke off.\n"),
            Self::TooDeep => (StatusCode::BAD_REQUEST, "not JSON that is read here: it is nested too deeply"),
            Self::NoSession => (StatusCode::NOT_FOUND, "There is no such session; begin anew with `initialize`.\n"),
            Self::OtherVersion => (StatusCode::BAD_REQUEST, "The session has another protocol version.\n"),
            Self::StreamGone => (StatusCode::BAD_REQUEST, "The stream that is to be resumed is gone.\n"),
            Self::Overloaded | Self::NoRoomForHead => {
                (StatusCode::SERVICE_UNAVAILABLE, "Too much is going on; try again later.\n")
            }
        }
    }
}
