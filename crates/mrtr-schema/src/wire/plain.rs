//! Reads and writes plain values: texts, numbers, lists and maps.

use indexmap::IndexMap;
use schemars::{Schema, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::schema::Definitions;
use super::{InRevision, Wire, serde_at_published_revision};
use crate::error::ReadError;
use crate::json::{self, Json, JsonObject, Number, RawMembers};
use crate::revision::{Dialect, Feature, Revision};

serde_at_published_revision!(Json);
serde_at_published_revision!(JsonObject);

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
        crate::wire::arbitrary::text()
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
        crate::wire::arbitrary::number()
    }
}

impl Wire for Json {
    const NAME: Option<&'static str> = None;
    const IS_FREE_FORM: bool = true;

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
        crate::wire::arbitrary::json()
    }
}

impl Wire for JsonObject {
    const NAME: Option<&'static str> = None;
    const IS_FREE_FORM: bool = true;

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
        crate::wire::arbitrary::json_object()
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
        if T::IS_FREE_FORM {
            members.check_count()?;
        }
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
        proptest::collection::vec((crate::wire::arbitrary::text(), T::any_value(revision)), 0..3)
            .prop_map(|members| members.into_iter().collect())
            .boxed()
    }
}

/// The largest whole number of which a peer that keeps numbers as floats can tell all smaller ones apart.
pub(crate) const LARGEST_COUNT: u64 = (1 << 53) - 1;
