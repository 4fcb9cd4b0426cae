//! Errors on the wire: their codes, their typed data, and the responses that carry them.

use std::fmt;

use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{Json, Members, integer};
use crate::printable::Printable;
use crate::revision::{Dialect, Revision};
use crate::types::capabilities::ClientCapabilities;
use crate::types::request_id::RequestId;
use crate::wire::schema::Definitions;
use crate::wire::{Wire, serde_at_published_revision};

/// A response that carries an error.
///
/// ```
/// use mrtr_schema::{ErrorCode, ErrorObject};
/// use mrtr_schema::error_object::ErrorResponse;
///
/// let mut response = ErrorResponse::new(ErrorObject::new(ErrorCode::PARSE_ERROR, "Not JSON"));
/// response.id = None; // it could not be read
/// assert_eq!(serde_json::to_string(&response)?, r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Not JSON"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCErrorResponse", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The id of the request; absent where it could not be read.
    #[wire(lenient)]
    pub id: Option<RequestId>,
    /// The error.
    pub error: ErrorObject,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// An error, as JSON-RPC carries it.
///
/// ```
/// use mrtr_schema::{ErrorCode, ErrorObject};
/// use mrtr_schema::error_object::UnsupportedVersionData;
///
/// let error = ErrorObject::with_data("unsupported version", &UnsupportedVersionData::new("v9", ["2026-07-28".to_owned()]));
/// assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
/// assert_eq!(error.data_as::<UnsupportedVersionData>().unwrap().unwrap().requested, "v9");
/// ```
#[derive(Clone, PartialEq, Wire)]
#[wire(name = "Error")]
#[non_exhaustive]
pub struct ErrorObject {
    /// The kind of the error.
    pub code: ErrorCode,
    /// One sentence about it.
    pub message: String,
    /// More about the error; its code decides the type.
    pub data: Option<Json>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ErrorObject {
    /// An error whose code follows from its data.
    pub fn with_data<D: ErrorData>(message: impl Into<String>, data: &D) -> Self {
        let mut error = Self::new(D::CODE, message);
        error.data = data.to_json(Revision::default()).ok().and_then(|text| Json::parse(&text).ok());
        error
    }

    /// Returns the data, if the code is the one that carries such data.
    pub fn data_as<D: ErrorData>(&self) -> Option<Result<D, ReadError>> {
        let data = self.data.as_ref().filter(|_| self.code == D::CODE)?;
        Some(D::read(data.as_raw(), Revision::default().lenient()).map_err(|error| error.in_member("data")))
    }
}

/// Shows the beginning of what the peer says, so that a log can take it.
impl fmt::Debug for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorObject")
            .field("code", &self.code)
            .field("message", &Printable::line(&self.message).into_text())
            .field("data", &self.data.as_ref().map(|data| Printable::line(data.as_str()).into_text()))
            .finish_non_exhaustive()
    }
}

/// Data that an error of one code carries.
///
/// ```
/// use mrtr_schema::ErrorObject;
/// use mrtr_schema::error_object::{ErrorData, ResourceNotFoundData};
///
/// let error = ErrorObject::with_data("Not found", &ResourceNotFoundData::new("file:///gone"));
/// assert_eq!(error.code, ResourceNotFoundData::CODE);
/// ```
pub trait ErrorData: Wire {
    /// The code.
    const CODE: ErrorCode;
}

/// The kind of an error, as a number.
///
/// ```
/// use mrtr_schema::ErrorCode;
///
/// assert_eq!(ErrorCode::INVALID_PARAMS.as_i64(), -32602);
/// assert_eq!(serde_json::from_str::<ErrorCode>("-32602")?, ErrorCode::INVALID_PARAMS);
/// assert_eq!(serde_json::to_string(&ErrorCode::new(-32099))?, "-32099");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(i64);

impl ErrorCode {
    /// The text is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a request.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// There is no such method.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters are wrong. Also used for an unknown tool, prompt, task or, at 2026-07-28, resource.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The side that answers the request is at fault.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// There is no such resource, before 2026-07-28.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// A header does not match the body.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The client did not declare what the request needs.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The protocol version is not one of the server's.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);

    /// The user declined or cancelled the question, on a method whose result cannot say so. This is the caller's
    /// decision, and so the code is outside those that are reserved for faults. 2025-11-25 uses it for sampling that
    /// the user refused.
    pub const USER_DECLINED: Self = Self(-1);
    /// The call has taken as many rounds or as much time as a flow may: the caller begins it anew. This is no fault
    /// either, so the code stands beside -1, outside the reserved ones.
    pub const FLOW_ENDED: Self = Self(-2);
    /// The server has more to do than it can, and has not begun with this request: the caller sends it again after a
    /// pause. Over HTTP it is 503 with `Retry-After`.
    pub const BUSY: Self = Self(-3);
    /// The caller may not do this. If its credentials lack scopes, `data.requiredScopes` names them all. Over HTTP it is
    /// 403, or 401 if the request came without credentials.
    pub const NOT_ALLOWED: Self = Self(-4);

    /// Makes a code of the caller's choice.
    pub const fn new(code: i64) -> Self {
        Self(code)
    }

    /// The number on the wire.
    pub const fn as_i64(self) -> i64 {
        self.0
    }
}

serde_at_published_revision!(ErrorCode);

impl Wire for ErrorCode {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        integer(value.get()).map(Self).ok_or_else(|| ReadError::expected("an integer of 64 bits", value))
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "integer" })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        any::<i64>().prop_map(Self).boxed()
    }
}

/// Data of -32022: the versions that would have done.
///
/// ```
/// use mrtr_schema::error_object::UnsupportedVersionData;
///
/// let data = UnsupportedVersionData::new("2024-11-05", ["2026-07-28".to_owned()]);
/// assert_eq!(serde_json::to_string(&data)?, r#"{"requested":"2024-11-05","supported":["2026-07-28"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct UnsupportedVersionData {
    /// The version that the client asked for.
    pub requested: String,
    /// The versions that the server has.
    pub supported: Vec<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ErrorData for UnsupportedVersionData {
    const CODE: ErrorCode = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
}

/// Data of -32021: the capabilities that the client would have had to declare.
///
/// ```
/// use mrtr_schema::ErrorObject;
/// use mrtr_schema::error_object::MissingCapabilityData;
///
/// let error = r#"{"code": -32021, "message": "-", "data": {"requiredCapabilities": {"sampling": {}}}}"#;
/// let error: ErrorObject = serde_json::from_str(error)?;
/// let data = error.data_as::<MissingCapabilityData>().unwrap().unwrap();
/// assert!(data.required_capabilities.samples());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct MissingCapabilityData {
    /// The capabilities.
    pub required_capabilities: ClientCapabilities,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ErrorData for MissingCapabilityData {
    const CODE: ErrorCode = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
}

/// Data of an error about a resource that is not there.
///
/// ```
/// use mrtr_schema::{ErrorCode, ErrorObject};
/// use mrtr_schema::error_object::ResourceNotFoundData;
///
/// let error = ErrorObject::with_data("Not found", &ResourceNotFoundData::new("file:///gone"));
/// assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
/// assert_eq!(error.data.unwrap().as_str(), r#"{"uri":"file:///gone"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct ResourceNotFoundData {
    /// Its URI.
    #[wire(format = "uri")]
    pub uri: String,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ErrorData for ResourceNotFoundData {
    const CODE: ErrorCode = ErrorCode::INVALID_PARAMS;
}
