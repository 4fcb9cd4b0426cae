//! Members of an object, read as wire types.

use super::Wire;
use crate::error::ReadError;
use crate::json::RawMembers;
use crate::revision::Dialect;

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

    /// Absent means the default, unless read strictly.
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
