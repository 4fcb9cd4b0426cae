//! The id of a request.

use std::fmt;

use schemars::{Schema, json_schema};
use serde::Serializer;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::integer;
use crate::revision::{Dialect, Revision};
use crate::wire::schema::Definitions;
use crate::wire::{Wire, serde_at_published_revision};

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

impl RequestId {
    /// The greatest length in bytes that an id or a progress token may have. There is a limit because the receiver
    /// keeps both until it answers, and repeats them in its answer.
    ///
    /// ```
    /// use mrtr_schema::{Envelope, ErrorCode, RequestId};
    ///
    /// let id = "x".repeat(RequestId::MAX_BYTES + 1);
    /// let message = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
    /// let error = Envelope::parse(message.as_bytes()).unwrap_err();
    /// assert_eq!((error.code(), error.id()), (ErrorCode::INVALID_REQUEST, None));
    /// ```
    pub const MAX_BYTES: usize = 256;

    /// Returns true if it is longer than an id in a message may be.
    ///
    /// ```
    /// use mrtr_schema::RequestId;
    ///
    /// assert!(!RequestId::from(i64::MAX).is_too_long());
    /// assert!(RequestId::from("x".repeat(1000)).is_too_long());
    /// ```
    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::String(id) if id.len() > Self::MAX_BYTES)
    }
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
        prop_oneof![any::<i64>().prop_map(Self::Integer), crate::wire::arbitrary::text().prop_map(Self::String)].boxed()
    }
}

serde_at_published_revision!(RequestId);
