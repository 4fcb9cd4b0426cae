//! The JSON of an entry.

use std::fmt;

use bytes::Bytes;
use mrtr_schema::Json;
use serde_json::value::RawValue;

/// The JSON of an entry, which is read when it is wanted. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Leaf(Bytes);

impl Leaf {
    /// Text that is known to be JSON.
    pub(super) fn of_text(text: Bytes) -> Self {
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a leaf was looked at as text when it came in")
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value, raw: it was read as JSON when it came in.
    pub(crate) fn raw(&self) -> Result<&RawValue, NotJson> {
        Json::known(self.as_str()).ok_or(NotJson)
    }
}

impl From<Box<RawValue>> for Leaf {
    fn from(value: Box<RawValue>) -> Self {
        Self(Bytes::from(Box::<str>::from(value).into_boxed_bytes()))
    }
}

impl From<&RawValue> for Leaf {
    fn from(value: &RawValue) -> Self {
        Self(Bytes::copy_from_slice(value.get().as_bytes()))
    }
}

/// What was answered or done belongs in no log.
impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leaf({} bytes)", self.len())
    }
}

/// What a store gave back as a leaf is none.
#[derive(Debug, thiserror::Error)]
#[error("what was recorded is not JSON")]
pub(crate) struct NotJson;
