//! Errors on the wire: their codes, their typed data, and the responses that carry them.

use mrtr_schema_derive::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde_json::value::RawValue;

use crate::json::{Json, Members, integer};
use crate::json_schema::Definitions;
use crate::wire::Wire;
use crate::{ClientCapabilities, Dialect, ReadError, RequestId, Revision};

/// A response that carries an error.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCErrorResponse", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The id of the request; absent where it could not be read.
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
/// use mrtr_schema::{ErrorCode, ErrorObject, UnsupportedVersionData};
///
/// let error = ErrorObject::with_data("unsupported version", &UnsupportedVersionData::new("v9", ["2026-07-28".to_owned()]));
/// assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
/// assert_eq!(error.data_as::<UnsupportedVersionData>().unwrap().unwrap().requested, "v9");
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Error")]
#[non_exhaustive]
pub struct ErrorObject {
    /// What kind of error.
    pub code: ErrorCode,
    /// One sentence about it.
    pub message: String,
    /// More about it; what, depends on the code.
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

    /// Its data, if the code is the one that carries such data.
    pub fn data_as<D: ErrorData>(&self) -> Option<Result<D, ReadError>> {
        let data = self.data.as_ref().filter(|_| self.code == D::CODE)?;
        Some(D::read(data.as_raw(), Revision::default().lenient()).map_err(|error| error.in_member("data")))
    }
}

/// Data that an error of one code carries.
pub trait ErrorData: Wire {
    /// The code.
    const CODE: ErrorCode;
}

/// What kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(i64);

impl ErrorCode {
    /// The text is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a request.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// There is no such method.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters are wrong. Also an unknown tool, prompt, task or, at 2026-07-28, resource.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// It is our fault.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// There is no such resource, before 2026-07-28.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// A header does not match the body.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The client did not declare what the request needs.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The protocol version is not one of the server's.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);

    /// A code of one's own.
    pub const fn new(code: i64) -> Self {
        Self(code)
    }

    /// The number on the wire.
    pub const fn as_i64(self) -> i64 {
        self.0
    }
}

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

/// Data of -32022: which versions would have done.
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct UnsupportedVersionData {
    /// The version that was asked for.
    pub requested: String,
    /// Those that the server has.
    pub supported: Vec<String>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ErrorData for UnsupportedVersionData {
    const CODE: ErrorCode = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
}

/// Data of -32021: what the client would have had to declare.
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
