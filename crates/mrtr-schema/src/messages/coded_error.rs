//! Errors of one code: objects and responses with the code in their type.

use std::fmt;
use std::marker::PhantomData;

use schemars::Schema;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{Json, Members, RawMembers};
use crate::messages::jsonrpc::MESSAGE_MEMBERS;
use crate::revision::{Dialect, Feature, Revision};
use crate::types::error_object::{ErrorCode, MissingCapabilityData, UnsupportedVersionData};
use crate::types::request_id::RequestId;
use crate::wire::schema::{Definitions, ObjectSchema, Property};
use crate::wire::{InRevision, Wire, WireObject, missing_member, serde_at_published_revision, write_object};

/// A kind of error: its code, and the data that it carries.
///
/// ```
/// use mrtr_schema::ErrorCode;
/// use mrtr_schema::coded_error::{CodedError, ErrorKind, InvalidParams};
///
/// assert_eq!(InvalidParams::CODE, ErrorCode::INVALID_PARAMS);
/// let other_code = r#"{"code": -32601, "message": "There is no such method"}"#;
/// assert!(serde_json::from_str::<CodedError<InvalidParams>>(other_code).is_err());
/// ```
pub trait ErrorKind: fmt::Debug + Clone + PartialEq + 'static {
    /// The code.
    const CODE: ErrorCode;
    /// The name of the error object's definition, if it has one of its own.
    const OBJECT: Option<&'static str>;
    /// The name of the error response's definition, if it has one of its own.
    const RESPONSE: Option<&'static str>;
    /// The feature that a revision must have for this error to exist in it; `None` if every revision has it.
    const WHEN: Option<Feature>;
    /// The data that it carries.
    type Data: Wire;
    /// True if the error must carry data.
    const NEEDS_DATA: bool;
}

/// Declares one kind of error per line: its marker type, its code, where its name stands, and its data.
macro_rules! error_kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $code:ident $(when $feature:ident)?, $object:expr, $response:expr, $data:ty, $needs_data:literal;
    )*) => {
        $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
        pub enum $kind {}

        impl ErrorKind for $kind {
            const CODE: ErrorCode = ErrorCode::$code;
            const OBJECT: Option<&'static str> = $object;
            const RESPONSE: Option<&'static str> = $response;
            const WHEN: Option<Feature> = error_kinds!(@feature $($feature)?);
            type Data = $data;
            const NEEDS_DATA: bool = $needs_data;
        }
        )*

        /// Shows a visitor every kind of error.
        pub(crate) fn visit_error_kinds(visitor: &mut impl ErrorKindVisitor) {
            $(visitor.visit::<$kind>();)*
        }
    };
    (@feature) => { None };
    (@feature $feature:ident) => { Some(Feature::$feature) };
}

/// A visitor that is shown each kind of error in turn.
pub(crate) trait ErrorKindVisitor {
    fn visit<K: ErrorKind>(&mut self);
}

error_kinds! {
    /// The text is not JSON.
    ///
    /// ```
    /// use mrtr_schema::coded_error::{CodedError, ParseError};
    ///
    /// let error = CodedError::<ParseError>::new("Not JSON");
    /// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-32700,"message":"Not JSON"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ParseError = PARSE_ERROR, Some("ParseError"), None, Json, false;
    /// The JSON is not a request.
    ///
    /// ```
    /// use mrtr_schema::coded_error::{CodedError, InvalidRequest};
    ///
    /// let error = CodedError::<InvalidRequest>::new("Not a request");
    /// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-32600,"message":"Not a request"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    InvalidRequest = INVALID_REQUEST, Some("InvalidRequestError"), None, Json, false;
    /// There is no such method.
    ///
    /// ```
    /// use mrtr_schema::coded_error::{CodedError, MethodNotFound};
    ///
    /// let error = CodedError::<MethodNotFound>::new("No such method");
    /// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-32601,"message":"No such method"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    MethodNotFound = METHOD_NOT_FOUND, Some("MethodNotFoundError"), None, Json, false;
    /// The parameters are wrong.
    ///
    /// ```
    /// use mrtr_schema::Json;
    /// use mrtr_schema::coded_error::{CodedError, InvalidParams};
    ///
    /// let error = CodedError::<InvalidParams>::new("Unknown tool").with_data(Json::of("fly").unwrap());
    /// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-32602,"message":"Unknown tool","data":"fly"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    InvalidParams = INVALID_PARAMS, Some("InvalidParamsError"), None, Json, false;
    /// The server is at fault.
    ///
    /// ```
    /// use mrtr_schema::coded_error::{CodedError, InternalError};
    ///
    /// let error = CodedError::<InternalError>::new("Something broke");
    /// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-32603,"message":"Something broke"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    InternalError = INTERNAL_ERROR, Some("InternalError"), None, Json, false;
    /// A header does not match the body.
    ///
    /// ```
    /// use mrtr_schema::{Revision, Wire};
    /// use mrtr_schema::coded_error::{CodedErrorResponse, ErrorKind, HeaderMismatch};
    ///
    /// assert_eq!(HeaderMismatch::CODE.as_i64(), -32020);
    /// assert_eq!(CodedErrorResponse::<HeaderMismatch>::name_in(Revision::V2026_07_28), Some("HeaderMismatchError"));
    /// assert_eq!(CodedErrorResponse::<HeaderMismatch>::name_in(Revision::Sep2322), None);
    /// ```
    HeaderMismatch = HEADER_MISMATCH when MirroredHeaders, None, Some("HeaderMismatchError"), Json, false;
    /// The client did not declare what the request needs.
    ///
    /// ```
    /// use mrtr_schema::ClientCapabilities;
    /// use mrtr_schema::coded_error::{CodedError, MissingRequiredClientCapability};
    /// use mrtr_schema::error_object::MissingCapabilityData;
    ///
    /// let error = CodedError::<MissingRequiredClientCapability>::new("Forms are needed");
    /// assert!(serde_json::to_string(&error).is_err(), "it must say what the client would have had to declare");
    /// let needs = serde_json::from_str::<ClientCapabilities>(r#"{"elicitation":{"form":{}}}"#)?;
    /// let error = error.with_data(MissingCapabilityData::new(needs));
    /// assert!(serde_json::to_string(&error)?.starts_with(r#"{"code":-32021,"#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    MissingRequiredClientCapability = MISSING_REQUIRED_CLIENT_CAPABILITY when MissingCapabilityCode,
        None, Some("MissingRequiredClientCapabilityError"), MissingCapabilityData, true;
    /// The protocol version is not one of the server's.
    ///
    /// ```
    /// use mrtr_schema::coded_error::{CodedError, UnsupportedProtocolVersion};
    /// use mrtr_schema::error_object::UnsupportedVersionData;
    ///
    /// let data = UnsupportedVersionData::new("2024-11-05", ["2026-07-28".to_owned()]);
    /// let error = CodedError::<UnsupportedProtocolVersion>::new("Unsupported").with_data(data);
    /// assert!(serde_json::to_string(&error)?.starts_with(r#"{"code":-32022,"#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    UnsupportedProtocolVersion = UNSUPPORTED_PROTOCOL_VERSION when UnsupportedVersionCode,
        None, Some("UnsupportedProtocolVersionError"), UnsupportedVersionData, true;
}

/// An error of one kind.
///
/// ```
/// use mrtr_schema::coded_error::{CodedError, MethodNotFound};
///
/// let error = CodedError::<MethodNotFound>::new("Prompts are not supported");
/// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-32601,"message":"Prompts are not supported"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CodedError<K: ErrorKind> {
    /// One sentence about it.
    pub message: String,
    /// More about it.
    pub data: Option<K::Data>,
    /// Members that this type does not name.
    pub extra: Members,
    kind: PhantomData<K>,
}

impl<K: ErrorKind> CodedError<K> {
    /// An error without data.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), data: None, extra: Members::default(), kind: PhantomData }
    }

    /// Gives the error its data.
    ///
    /// ```
    /// use mrtr_schema::Json;
    /// use mrtr_schema::coded_error::{CodedError, InternalError};
    ///
    /// let error = CodedError::<InternalError>::new("Something broke").with_data(Json::of("report-1").unwrap());
    /// assert!(serde_json::to_string(&error)?.ends_with(r#""data":"report-1"}"#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn with_data(mut self, data: K::Data) -> Self {
        self.data = Some(data);
        self
    }
}

impl<K: ErrorKind> Wire for CodedError<K> {
    const NAME: Option<&'static str> = K::OBJECT;
    const WHEN: Option<Feature> = K::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::read_members(RawMembers::of(value)?, dialect)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        write_object(self, revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut object = ObjectSchema::new("An error of one kind.");
        object.property("code", Property::from(json!({ "type": "integer", "const": K::CODE.as_i64() })), true);
        object.property("message", Property::of::<String>(definitions, "One sentence about it."), true);
        object.property("data", Property::of::<K::Data>(definitions, "More about it."), K::NEEDS_DATA);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        let data = crate::wire::arbitrary::optional(revision, K::NEEDS_DATA);
        (String::any_value(revision), data, crate::wire::arbitrary::extra_members())
            .prop_map(|(message, data, extra)| Self { message, data, extra, kind: PhantomData })
            .boxed()
    }
}

impl<K: ErrorKind> WireObject for CodedError<K> {
    fn read_members(mut members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
        let code: ErrorCode = members.required("code", dialect)?;
        if code != K::CODE {
            let (found, expected) = (code.as_i64(), K::CODE.as_i64());
            return Err(ReadError::refused(format!("{found} is not {expected}")).in_member("code"));
        }
        let message = members.required("message", dialect)?;
        let data = members.optional("data", dialect)?;
        if data.is_none() && K::NEEDS_DATA {
            return Err(ReadError::missing("data"));
        }
        Ok(Self { message, data, extra: members.rest()?, kind: PhantomData })
    }

    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("code", &InRevision::new(&K::CODE, revision))?;
        map.serialize_entry("message", &self.message)?;
        match &self.data {
            Some(data) => map.serialize_entry("data", &InRevision::new(data, revision))?,
            None if K::NEEDS_DATA => return Err(missing_member("data", revision)),
            None => {}
        }
        self.extra.write_into(map, |key| matches!(key, "code" | "message" | "data"))
    }
}

serde_at_published_revision!(CodedError<K: ErrorKind>);

/// A response that carries an error of one kind.
///
/// ```
/// use mrtr_schema::coded_error::{CodedError, CodedErrorResponse, HeaderMismatch};
///
/// let error = CodedError::<HeaderMismatch>::new("Mcp-Method says otherwise");
/// assert_eq!(
///     serde_json::to_string(&CodedErrorResponse::new(Some(1.into()), error))?,
///     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Method says otherwise"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CodedErrorResponse<K: ErrorKind> {
    /// The id of the request; absent where it could not be read.
    pub id: Option<RequestId>,
    /// The error.
    pub error: CodedError<K>,
    /// Members that this type does not name.
    pub extra: Members,
}

impl<K: ErrorKind> CodedErrorResponse<K> {
    /// A response to the request with this id.
    pub fn new(id: Option<RequestId>, error: CodedError<K>) -> Self {
        Self { id, error, extra: Members::default() }
    }
}

impl<K: ErrorKind> Wire for CodedErrorResponse<K> {
    const NAME: Option<&'static str> = K::RESPONSE;
    const WHEN: Option<Feature> = K::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let mut members = RawMembers::of(value)?;
        members.constant("jsonrpc", "2.0")?;
        let id = members.optional("id", dialect)?;
        let error = members.required("error", dialect)?;
        Ok(Self { id, error, extra: members.rest()? })
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", &InRevision::new(id, revision))?;
        }
        map.serialize_entry("error", &InRevision::new(&self.error, revision))?;
        self.extra.write_into(&mut map, |key| MESSAGE_MEMBERS.contains(&key))?;
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut object = ObjectSchema::new("A response that carries an error of one kind.");
        object.constant("jsonrpc", "2.0");
        object.property("id", Property::of::<RequestId>(definitions, ""), false);
        object.property("error", Property::of::<CodedError<K>>(definitions, ""), true);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        let id = crate::wire::arbitrary::optional(revision, false);
        (id, CodedError::any_value(revision), crate::wire::arbitrary::extra_members())
            .prop_map(|(id, error, extra)| Self { id, error, extra })
            .boxed()
    }
}

serde_at_published_revision!(CodedErrorResponse<K: ErrorKind>);
