//! The HTTP status of an error: the one place that maps codes to statuses.

use http::StatusCode;
use mrtr_schema::{ErrorCode, Feature, Revision};
use mrtr_server::transport::Stage;

/// The status of an error: a request that is wrong in itself is a bad request; one whose method was reached is not.
///
/// A client takes 401 and 403 for a refusal of its credentials, whatever the body says: no code is mapped to them.
///
/// The older revisions know no status but that of a message that is none: there, 404 says that a session is over.
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
