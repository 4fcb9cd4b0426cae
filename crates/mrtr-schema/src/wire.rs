//! The trait of every wire type, and how plain values go over the wire.

use std::fmt;

use indexmap::IndexMap;
use schemars::{Schema, json_schema};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{self, Json, JsonObject, Number, RawMembers};
use crate::json_schema::{Definitions, ObjectSchema};
use crate::revision::{Dialect, Feature, Revision};

/// Something that goes over the wire: read, written and described by JSON Schema, in any revision, from one definition.
///
/// Wire types also have serde's `Serialize` and `Deserialize`, at the published revision. Reading needs a deserializer
/// of `serde_json` itself: inside types that serde buffers (tagged, untagged, flattened) it is not at hand.
///
/// ```
/// use mrtr_schema::{InputRequiredResult, RequestState, Revision, Wire};
///
/// let interim = InputRequiredResult::carry(RequestState::new("sealed"));
/// assert_eq!(interim.to_json(Revision::Draft202602)?, r#"{"requestState":"sealed"}"#);
/// assert_eq!(interim.to_json(Revision::Published)?, r#"{"resultType":"input_required","requestState":"sealed"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Wire: Sized + fmt::Debug + Clone + PartialEq + 'static {
    /// The name of its definition in the published specification, if it has one of its own.
    const NAME: Option<&'static str>;
    /// The feature without which a revision has no such type.
    const WHEN: Option<Feature> = None;

    /// What a revision calls it, if it has a type of that name.
    ///
    /// ```
    /// use mrtr_schema::{InputRequiredResult, ListRootsRequest, Revision, Wire};
    ///
    /// assert_eq!(InputRequiredResult::name_in(Revision::Draft202602), Some("IncompleteResult"));
    /// assert_eq!(ListRootsRequest::name_in(Revision::Draft202602), None, "roots were no input yet");
    /// ```
    fn name_in(revision: Revision) -> Option<&'static str> {
        let exists = Self::WHEN.is_none_or(|feature| revision.has(feature));
        Self::NAME.filter(|_| exists).map(|name| revision.type_name(name))
    }

    /// Reads it.
    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError>;

    /// Writes it. Fails where the revision requires a member that is not set.
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error>;

    /// Its JSON Schema; `definitions` takes the schemas of the types within.
    fn schema(definitions: &mut Definitions) -> Schema;

    /// Generates any value that `revision` allows.
    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self>;

    /// Reads it from JSON text.
    fn from_json(text: &str, dialect: Dialect) -> Result<Self, ReadError> {
        Self::read(serde_json::from_str(text)?, dialect)
    }

    /// Writes it as JSON text.
    fn to_json(&self, revision: Revision) -> Result<String, serde_json::Error> {
        serde_json::to_string(&InRevision::new(self, revision))
    }
}

/// A wire type that is an object, and so can be read from members that were already taken apart.
///
/// ```
/// use mrtr_schema::{RawMembers, Revision, Root, WireObject};
///
/// let members = RawMembers::parse(r#"{"uri": "file:///src"}"#)?;
/// assert!(members.get("uri").is_some(), "looked at before it is read");
/// let root = Root::read_members(members, Revision::Published.strict())?;
/// assert_eq!(root.uri, "file:///src");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
pub trait WireObject: Wire {
    /// Reads it.
    fn read_members(members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError>;

    /// Writes its members into an object.
    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error>;
}

/// Members that several objects share.
pub(crate) trait Part: Sized {
    /// Whether `key` is one of its members.
    fn names(key: &str, revision: Revision) -> bool;

    /// Takes its members out, and leaves the others.
    fn take(members: &mut RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError>;

    /// Writes its members into an object.
    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error>;

    /// Adds its members to the schema of an object.
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
/// use mrtr_schema::{InRevision, Revision, Role};
///
/// assert_eq!(serde_json::to_string(&InRevision::new(&Role::User, Revision::Sep2322)).unwrap(), r#""user""#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct InRevision<'a, T> {
    value: &'a T,
    revision: Revision,
}

impl<'a, T: Wire> InRevision<'a, T> {
    /// Pairs them.
    pub const fn new(value: &'a T, revision: Revision) -> Self {
        Self { value, revision }
    }
}

impl<T: Wire> Serialize for InRevision<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.write(self.revision, serializer)
    }
}

/// serde's traits for a wire type: written in the published revision, and read from it leniently.
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

/// How a text that keeps some rule goes over the wire: read through its one door, written as it is.
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

            fn schema(_: &mut crate::json_schema::Definitions) -> ::schemars::Schema {
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

impl Wire for String {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        json::text(value).map(std::borrow::Cow::into_owned)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "string" })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        crate::arbitrary::text()
    }
}

impl Wire for bool {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        match value.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(ReadError::expected("a boolean", value)),
        }
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "boolean" })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        proptest::bool::ANY.boxed()
    }
}

/// A count or a length: a whole number that is not negative, and that every peer can hold.
impl Wire for u64 {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        let not_a_count = || ReadError::expected("a whole number from 0 to 2^53 - 1", value);
        json::integer(value.get()).filter(|count| *count <= LARGEST_COUNT).ok_or_else(not_a_count)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(*self)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": LARGEST_COUNT })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (0..=LARGEST_COUNT).boxed()
    }
}

impl Wire for Number {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        Self::from_raw(value)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "number" })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        crate::arbitrary::number()
    }
}

impl Wire for Json {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        Self::from_raw(value)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_raw().serialize(serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({})
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        crate::arbitrary::json()
    }
}

impl Wire for JsonObject {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, _: Dialect) -> Result<Self, ReadError> {
        Self::from_raw(value)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_raw().serialize(serializer)
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": {} })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        crate::arbitrary::json_object()
    }
}

impl<T: Wire> Wire for Box<T> {
    const NAME: Option<&'static str> = T::NAME;
    const WHEN: Option<Feature> = T::WHEN;

    fn name_in(revision: Revision) -> Option<&'static str> {
        T::name_in(revision)
    }

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        T::read(value, dialect).map(Self::new)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        T::write(self, revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        T::schema(definitions)
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        T::any_value(revision).prop_map(Self::new).boxed()
    }
}

impl<T: Wire> Wire for Vec<T> {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let elements = json::elements(value)?.into_iter().enumerate();
        elements.map(|(index, value)| T::read(value, dialect).map_err(|error| error.in_element(index))).collect()
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|value| InRevision::new(value, revision)))
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        json_schema!({ "type": "array", "items": definitions.reference::<T>() })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        proptest::collection::vec(T::any_value(revision), 0..3).boxed()
    }
}

/// An object whose keys are data: in the order in which they came.
impl<T: Wire> Wire for IndexMap<String, T> {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let members = RawMembers::of(value)?;
        let read = |(key, value): (&str, &RawValue)| match T::read(value, dialect) {
            Ok(value) => Ok((key.to_owned(), value)),
            Err(error) => Err(error.in_member(key.to_owned())),
        };
        members.iter().map(read).collect()
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, &InRevision::new(value, revision))?;
        }
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": definitions.reference::<T>() })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        proptest::collection::vec((crate::arbitrary::text(), T::any_value(revision)), 0..3)
            .prop_map(|members| members.into_iter().collect())
            .boxed()
    }
}

/// The largest whole number of which a peer that keeps numbers as floats can tell all smaller ones apart.
pub(crate) const LARGEST_COUNT: u64 = (1 << 53) - 1;
