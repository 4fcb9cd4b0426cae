//! The payload of a state: what an application keeps in it, besides the claims.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::PayloadError;

/// A value that an application keeps in a state, under a name of its own.
///
/// A state opens only as the kind it was sealed as, so that a value of one type never passes for one of another.
/// Most applications implement [`JsonPayload`] and have this from it.
///
/// ```
/// use mrtr_state::{Payload, PayloadError};
///
/// struct Cursor(u64);
///
/// impl Payload for Cursor {
///     const KIND: &'static str = "com.example/cursor";
///
///     fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
///         out.extend_from_slice(&self.0.to_be_bytes());
///         Ok(())
///     }
///
///     fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
///         Ok(Self(u64::from_be_bytes(bytes.try_into()?)))
///     }
/// }
/// ```
pub trait Payload: Sized {
    /// The name. Change it when old states must no longer open.
    const KIND: &'static str;

    /// Appends the value to the bytes that are sealed.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError>;

    /// Reads the value from all the bytes that `write` appended.
    fn read(bytes: &[u8]) -> Result<Self, PayloadError>;
}

/// A payload that serde writes as JSON.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Cart { items: Vec<String> }
///
/// impl mrtr_state::JsonPayload for Cart {
///     const KIND: &'static str = "com.example/cart";
/// }
/// ```
pub trait JsonPayload: Serialize + DeserializeOwned {
    /// The name. Change it when old states must no longer open.
    const KIND: &'static str;
}

impl<T: JsonPayload> Payload for T {
    const KIND: &'static str = T::KIND;

    fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
        Ok(serde_json::to_writer(out, self)?)
    }

    fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
        // Looked at as text once, and not string by string.
        Ok(serde_json::from_str(std::str::from_utf8(bytes)?)?)
    }
}
