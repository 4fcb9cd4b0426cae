//! Errors that every layer answers with.

use mrtr_schema::{ErrorCode, ErrorObject, ReadError};

use crate::support::echo;

#[expect(clippy::needless_pass_by_value, reason = "used as a function that maps errors")]
pub(crate) fn invalid_params(error: ReadError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, echo::sentence(&error.to_string()))
}

pub(crate) fn internal_error() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "Internal error")
}
