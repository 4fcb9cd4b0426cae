//! The opaque string that carries a server's context through the client.

use std::fmt;

use schemars::json_schema;

use crate::wire::wire_text;

/// The state that a server wants back with the retry: clients echo and compare it, and never read it (CL-2).
///
/// Its text is reachable only as [`untrusted_text`](Self::untrusted_text), for the server that must open it.
///
/// ```
/// use mrtr_schema::RequestState;
///
/// let state = RequestState::new("v1.abc");
/// assert_eq!(state, state.clone());
/// assert_eq!(format!("{state:?}"), "RequestState(6 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestState(String);

impl RequestState {
    /// Takes a state as a server made it, or as it came over the wire.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, which any peer may have made: for opening and echoing only.
    pub fn untrusted_text(&self) -> &str {
        &self.0
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the state is the empty string.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Shows only the length: a state may carry what does not belong in a log.
impl fmt::Debug for RequestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestState({} bytes)", self.0.len())
    }
}

wire_text!(
    RequestState,
    |text| Ok(Self(text)),
    json_schema!({ "type": "string" }),
    crate::wire::arbitrary::text().prop_map(Self).boxed()
);
