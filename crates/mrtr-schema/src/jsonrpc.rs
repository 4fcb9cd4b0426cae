//! JSON-RPC: ids, requests, notifications, responses, and the errors with their codes and typed data.

use std::fmt;

use mrtr_schema_derive::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::json::{Json, JsonObject, Members, RawMembers, integer};
use crate::json_schema::{Definitions, ObjectSchema, Property};
use crate::result::{AnyResult, InputRequiredResult};
use crate::wire::{InRevision, Wire, WireObject, serde_at_published_revision};
use crate::{ClientCapabilities, Dialect, ReadError, Revision};

/// The id of a request: a string or an integer.
///
/// ```
/// use mrtr_schema::RequestId;
///
/// assert_eq!(serde_json::from_str::<RequestId>("7")?, RequestId::from(7));
/// assert!(serde_json::from_str::<RequestId>("null").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the specification has these two")]
pub enum RequestId {
    /// A string.
    String(String),
    /// An integer.
    Integer(i64),
}

impl From<i64> for RequestId {
    fn from(id: i64) -> Self {
        Self::Integer(id)
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::String(id.to_owned())
    }
}

impl From<String> for RequestId {
    fn from(id: String) -> Self {
        Self::String(id)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(id) => f.write_str(id),
            Self::Integer(id) => id.fmt(f),
        }
    }
}

impl Wire for RequestId {
    const NAME: Option<&'static str> = Some("RequestId");

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        if value.get().starts_with('"') {
            return String::read(value, dialect).map(Self::String);
        }
        let not_an_id = || ReadError::expected("a string or an integer of 64 bits", value);
        integer(value.get()).map(Self::Integer).ok_or_else(not_an_id)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(id) => serializer.serialize_str(id),
            Self::Integer(id) => serializer.serialize_i64(*id),
        }
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "description": "The id of a request.", "type": ["string", "integer"] })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        prop_oneof![any::<i64>().prop_map(Self::Integer), crate::arbitrary::text().prop_map(Self::String)].boxed()
    }
}

serde_at_published_revision!(RequestId);

/// Parameters that make a request: each belongs to one method.
pub trait Params: WireObject {
    /// The method.
    const METHOD: &'static str;
    /// The name of the request's definition.
    const REQUEST_NAME: &'static str;

    /// What a request without `params` means, in revisions that allow it.
    fn absent(_revision: Revision) -> Option<Self> {
        None
    }
}

/// A request of one method.
///
/// ```
/// use mrtr_schema::{CallToolParams, Request, Revision, Wire};
///
/// let request = Request::new(1, CallToolParams::new("get_time"));
/// assert_eq!(
///     request.to_json(Revision::Sep2322)?,
///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_time"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request<P> {
    /// Its id; each request has its own, retries included (CL-3).
    pub id: RequestId,
    /// Its parameters.
    pub params: P,
    /// Members that this type does not name.
    pub extra: Members,
}

impl<P> Request<P> {
    /// A request.
    pub fn new(id: impl Into<RequestId>, params: P) -> Self {
        Self { id: id.into(), params, extra: Members::default() }
    }
}

impl<P: Params> Wire for Request<P> {
    const NAME: Option<&'static str> = Some(P::REQUEST_NAME);

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let mut members = RawMembers::of(value)?;
        members.constant("jsonrpc", VERSION)?;
        members.constant("method", P::METHOD)?;
        let id = members.required("id", dialect)?;
        let params = match members.optional("params", dialect)? {
            Some(params) => params,
            None => P::absent(dialect.revision).ok_or_else(|| ReadError::missing("params"))?,
        };
        Ok(Self { id, params, extra: members.rest()? })
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", VERSION)?;
        map.serialize_entry("id", &InRevision::new(&self.id, revision))?;
        map.serialize_entry("method", P::METHOD)?;
        if P::absent(revision).as_ref() != Some(&self.params) {
            map.serialize_entry("params", &InRevision::new(&self.params, revision))?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let required = P::absent(definitions.dialect().revision).is_none();
        let mut object = ObjectSchema::new("A request.");
        object.constant("jsonrpc", VERSION);
        object.property("id", Property::of::<RequestId>(definitions, ""), true);
        object.constant("method", P::METHOD);
        object.property("params", Property::of::<P>(definitions, ""), required);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (RequestId::any_value(revision), P::any_value(revision), crate::arbitrary::extra_members())
            .prop_map(|(id, params, extra)| Self { id, params, extra })
            .boxed()
    }
}

serde_at_published_revision!(Request<P: Params>);

/// A result that answers a request.
pub trait ResultBody: Wire {
    /// The name of the response's definition.
    const RESPONSE_NAME: &'static str;
}

impl ResultBody for InputRequiredResult {
    const RESPONSE_NAME: &'static str = "InputRequiredResultResponse";
}

impl ResultBody for AnyResult {
    const RESPONSE_NAME: &'static str = "JSONRPCResultResponse";
}

/// A response that carries a result.
///
/// ```
/// use mrtr_schema::{InputRequiredResult, RequestState, Response};
///
/// let response = Response::new(1, InputRequiredResult::carry(RequestState::new("sealed")));
/// assert!(serde_json::to_string(&response).unwrap().contains(r#""id":1,"result":{"#));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response<R> {
    /// The id of the request.
    pub id: RequestId,
    /// The result.
    pub result: R,
    /// Members that this type does not name.
    pub extra: Members,
}

impl<R> Response<R> {
    /// A response.
    pub fn new(id: impl Into<RequestId>, result: R) -> Self {
        Self { id: id.into(), result, extra: Members::default() }
    }
}

impl<R: ResultBody> Wire for Response<R> {
    const NAME: Option<&'static str> = Some(R::RESPONSE_NAME);

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let mut members = RawMembers::of(value)?;
        members.constant("jsonrpc", VERSION)?;
        let id = members.required("id", dialect)?;
        let result = members.required("result", dialect)?;
        Ok(Self { id, result, extra: members.rest()? })
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", VERSION)?;
        map.serialize_entry("id", &InRevision::new(&self.id, revision))?;
        map.serialize_entry("result", &InRevision::new(&self.result, revision))?;
        self.extra.write_into(&mut map)?;
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut object = ObjectSchema::new("A response that carries a result.");
        object.constant("jsonrpc", VERSION);
        object.property("id", Property::of::<RequestId>(definitions, ""), true);
        object.property("result", Property::of::<R>(definitions, ""), true);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (RequestId::any_value(revision), R::any_value(revision), crate::arbitrary::extra_members())
            .prop_map(|(id, result, extra)| Self { id, result, extra })
            .boxed()
    }
}

serde_at_published_revision!(Response<R: ResultBody>);

/// A request of any method.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCRequest", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct AnyRequest {
    /// Its id.
    pub id: RequestId,
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A notification of any method.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCNotification", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct AnyNotification {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

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

/// Parameters of a list method: pages, under a method of their own.
macro_rules! paginated_params {
    ($params:ident, $method:literal, $request:literal) => {
        impl crate::wire::Wire for $params {
            const NAME: Option<&'static str> = crate::PaginatedParams::NAME;

            fn read(value: &serde_json::value::RawValue, dialect: crate::Dialect) -> Result<Self, crate::ReadError> {
                crate::PaginatedParams::read(value, dialect).map(|params| Self(Some(params)))
            }

            fn write<S: serde::Serializer>(&self, revision: crate::Revision, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    Some(params) => params.write(revision, serializer),
                    None => crate::PaginatedParams::default().write(revision, serializer),
                }
            }

            fn schema(definitions: &mut crate::json_schema::Definitions) -> schemars::Schema {
                crate::PaginatedParams::schema(definitions)
            }

            #[cfg(feature = "proptest")]
            fn any_value(revision: crate::Revision) -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy;
                let demanded = revision.has(crate::Feature::RequestMetadata);
                crate::arbitrary::optional(revision, demanded).prop_map(Self).boxed()
            }
        }

        impl crate::wire::WireObject for $params {
            fn read_members(
                members: crate::json::RawMembers<'_>,
                dialect: crate::Dialect,
            ) -> Result<Self, crate::ReadError> {
                crate::PaginatedParams::read_members(members, dialect).map(|params| Self(Some(params)))
            }
        }

        impl crate::jsonrpc::Params for $params {
            const METHOD: &'static str = $method;
            const REQUEST_NAME: &'static str = $request;

            fn absent(revision: crate::Revision) -> Option<Self> {
                (!revision.has(crate::Feature::RequestMetadata)).then_some(Self(None))
            }
        }

        crate::wire::serde_at_published_revision!($params);
    };
}
pub(crate) use paginated_params;

const VERSION: &str = "2.0";
