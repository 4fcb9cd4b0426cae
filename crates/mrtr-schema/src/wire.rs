//! The trait of every wire type, and what reading, writing and describing one takes.

#[cfg(feature = "proptest")]
pub mod arbitrary;
mod plain;
pub(crate) mod schema;

use std::fmt;

use schemars::Schema;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use self::schema::{Definitions, ObjectSchema};
use crate::error::ReadError;
use crate::json::RawMembers;
use crate::revision::{Dialect, Feature, Revision};

pub(crate) use self::plain::LARGEST_COUNT;

/// Something that goes over the wire: read, written and described by JSON Schema, in any revision, from one definition.
///
/// Wire types also have serde's `Serialize` and `Deserialize`, at the published revision. Reading needs a deserializer
/// of `serde_json` itself: types that serde buffers (tagged, untagged, flattened) do not pass it on to those within.
///
/// ```
/// use mrtr_schema::{InputRequiredResult, RequestState, Revision, Wire};
///
/// let interim = InputRequiredResult::carry(RequestState::new("sealed"));
/// assert_eq!(interim.to_json(Revision::Draft202602)?, r#"{"requestState":"sealed"}"#);
/// assert_eq!(interim.to_json(Revision::V2026_07_28)?, r#"{"resultType":"input_required","requestState":"sealed"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Wire: Sized + fmt::Debug + Clone + PartialEq + 'static {
    /// The name of the type's definition in the published specification, if it has one of its own.
    const NAME: Option<&'static str>;
    /// The feature that a revision must have for this type to exist in it; `None` if every revision has the type.
    const WHEN: Option<Feature> = None;
    /// True if senders choose such values freely, so that a map of them has at most
    /// [`MOST_MEMBERS`](crate::MOST_MEMBERS): servers keep those. A map of a known type has the limits of its reader.
    const IS_FREE_FORM: bool = false;

    /// Returns a revision's name for the type, if the revision has it.
    ///
    /// ```
    /// use mrtr_schema::{InputRequiredResult, Revision, Wire};
    /// use mrtr_schema::roots::ListRootsRequest;
    ///
    /// assert_eq!(InputRequiredResult::name_in(Revision::Draft202602), Some("IncompleteResult"));
    /// assert_eq!(ListRootsRequest::name_in(Revision::Draft202602), None, "roots were no input yet");
    /// ```
    fn name_in(revision: Revision) -> Option<&'static str> {
        let exists = Self::WHEN.is_none_or(|feature| revision.has(feature));
        Self::NAME.filter(|_| exists).map(|name| revision.type_name(name))
    }

    /// Reads a value of the type.
    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError>;

    /// Writes the value. Fails if the revision requires a member that is not set.
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error>;

    /// Returns the JSON Schema of the type; `definitions` takes the schemas of the types within.
    fn schema(definitions: &mut Definitions) -> Schema;

    /// Generates any value that `revision` allows.
    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self>;

    /// Reads a value of the type from JSON text.
    fn from_json(text: &str, dialect: Dialect) -> Result<Self, ReadError> {
        Self::read(serde_json::from_str(text)?, dialect)
    }

    /// Writes the value as JSON text.
    fn to_json(&self, revision: Revision) -> Result<String, serde_json::Error> {
        serde_json::to_string(&InRevision::new(self, revision))
    }
}

/// A wire type that is an object, and so can be read from members that were already taken apart.
///
/// ```
/// use mrtr_schema::{RawMembers, Revision, WireObject};
/// use mrtr_schema::roots::Root;
///
/// let members = RawMembers::parse(r#"{"uri": "file:///src"}"#)?;
/// assert!(members.get("uri").is_some(), "looked at before it is read");
/// let root = Root::read_members(members, Revision::V2026_07_28.strict())?;
/// assert_eq!(root.uri, "file:///src");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
pub trait WireObject: Wire {
    /// Reads it.
    fn read_members(members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError>;

    /// Writes the members into an object.
    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error>;
}

/// Members that several objects share.
pub(crate) trait Part: Sized {
    /// Returns true if `key` is one of the part's members.
    fn names(key: &str, revision: Revision) -> bool;

    /// Takes the part's members out, and leaves the others.
    fn take(members: &mut RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError>;

    /// Writes its members into an object.
    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error>;

    /// Adds the part's members to the schema of an object.
    fn describe(object: &mut ObjectSchema, definitions: &mut Definitions);

    /// Generates any value that `revision` allows.
    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self>;
}

pub(crate) fn write_object<T: WireObject, S: Serializer>(
    object: &T,
    revision: Revision,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    object.write_members(revision, &mut map)?;
    map.end()
}

/// A wire type paired with the revision in which serde is to write it.
///
/// ```
/// use mrtr_schema::{InRevision, Revision};
/// use mrtr_schema::content::Role;
///
/// assert_eq!(serde_json::to_string(&InRevision::new(&Role::User, Revision::Sep2322)).unwrap(), r#""user""#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct InRevision<'a, T> {
    value: &'a T,
    revision: Revision,
}

impl<'a, T: Wire> InRevision<'a, T> {
    /// Pairs a value with a revision.
    pub const fn new(value: &'a T, revision: Revision) -> Self {
        Self { value, revision }
    }
}

impl<T: Wire> Serialize for InRevision<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.write(self.revision, serializer)
    }
}

/// Implements serde's traits for a wire type: written in the published revision, and read from it leniently.
macro_rules! serde_at_published_revision {
    ($name:ident $(<$parameter:ident: $bound:path>)?) => {
        impl $(<$parameter: $bound>)? ::serde::Serialize for $name $(<$parameter>)? {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                crate::wire::Wire::write(self, crate::Revision::default(), serializer)
            }
        }

        impl<'de $(, $parameter: $bound)?> ::serde::Deserialize<'de> for $name $(<$parameter>)? {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                let value = <::std::boxed::Box<::serde_json::value::RawValue>>::deserialize(deserializer)?;
                crate::wire::Wire::read(&value, crate::Revision::default().lenient())
                    .map_err(<D::Error as ::serde::de::Error>::custom)
            }
        }
    };
}
pub(crate) use serde_at_published_revision;

/// Defines how a text that keeps some rule goes over the wire: read through its one door, written as it is.
macro_rules! wire_text {
    ($name:ident, $read:expr, $schema:expr, $any_value:expr) => {
        impl crate::wire::Wire for $name {
            const NAME: Option<&'static str> = None;

            fn read(
                value: &::serde_json::value::RawValue,
                dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                ($read)(<String as crate::wire::Wire>::read(value, dialect)?)
            }

            fn write<S: ::serde::Serializer>(
                &self,
                _: crate::Revision,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }

            fn schema(_: &mut crate::wire::schema::Definitions) -> ::schemars::Schema {
                $schema
            }

            #[cfg(feature = "proptest")]
            fn any_value(_: crate::Revision) -> ::proptest::strategy::BoxedStrategy<Self> {
                use ::proptest::prelude::*;
                $any_value
            }
        }

        crate::wire::serde_at_published_revision!($name);
    };
}
pub(crate) use wire_text;

pub(crate) fn missing_member<E: Error>(key: &str, revision: Revision) -> E {
    E::custom(format_args!("`{key}` is required in {revision}, and is not set"))
}

impl RawMembers<'_> {
    pub(crate) fn optional<T: Wire>(&mut self, key: &'static str, dialect: Dialect) -> Result<Option<T>, ReadError> {
        self.take(key).map(|value| T::read(value, dialect).map_err(|error| error.in_member(key))).transpose()
    }

    /// A peer that is read leniently may spell absence as null.
    pub(crate) fn optional_or_null<T: Wire>(
        &mut self,
        key: &'static str,
        dialect: Dialect,
    ) -> Result<Option<T>, ReadError> {
        if !dialect.strict && self.get(key).is_some_and(|value| value.get() == "null") {
            self.take(key);
        }
        self.optional(key, dialect)
    }

    pub(crate) fn required<T: Wire>(&mut self, key: &'static str, dialect: Dialect) -> Result<T, ReadError> {
        self.optional(key, dialect)?.ok_or_else(|| ReadError::missing(key))
    }

    /// Reads a member, and takes the default where it is absent, unless it reads strictly.
    pub(crate) fn or_default<T: Wire + Default>(
        &mut self,
        key: &'static str,
        dialect: Dialect,
    ) -> Result<T, ReadError> {
        match self.optional(key, dialect)? {
            None if dialect.strict => Err(ReadError::missing(key)),
            value => Ok(value.unwrap_or_default()),
        }
    }
}
