//! The name of the schema that holds the tables.

use std::fmt;
use std::str::FromStr;

/// The name of the schema that holds the tables: `mrtr`, unless the operator names another.
///
/// ```
/// use mrtr_postgres::Schema;
///
/// assert_eq!(Schema::default().as_str(), "mrtr");
/// assert!("mrtr_staging".parse::<Schema>().is_ok());
/// assert!("mrtr\"; DROP".parse::<Schema>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schema(String);

impl Schema {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The channel on which instances tell each other that something has changed.
    pub(crate) fn channel(&self) -> String {
        format!("{}_changed", self.0)
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self("mrtr".to_owned())
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Accepts only names that need no quoting, since statements contain them as they are, and that are short enough for a
/// suffix in the name of a channel.
impl FromStr for Schema {
    type Err = NoSchemaName;

    fn from_str(name: &str) -> Result<Self, NoSchemaName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins_well = name.bytes().next().is_some_and(|byte| is_plain(byte) && !byte.is_ascii_digit());
        if begins_well && name.bytes().all(is_plain) && name.len() <= LONGEST && !name.starts_with("pg_") {
            return Ok(Self(name.to_owned()));
        }
        Err(NoSchemaName)
    }
}

/// The error of a text that cannot be the name of a schema.
///
/// ```
/// use mrtr_postgres::Schema;
///
/// let error = "Mrtr".parse::<Schema>().unwrap_err();
/// assert_eq!(error.to_string(), "a schema's name is 1 to 48 of a-z, 0-9 and _, begins with no digit and not with pg_");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a schema's name is 1 to 48 of a-z, 0-9 and _, begins with no digit and not with pg_")]
#[non_exhaustive]
pub struct NoSchemaName;

const LONGEST: usize = 48;
