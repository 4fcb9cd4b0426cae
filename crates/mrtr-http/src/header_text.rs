//! Text in a header: as it is where a header can hold it, and in base64 between `=?base64?` and `?=` where not.

#[cfg(feature = "server")]
use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Returns the text of a header's value, or `None` if it claims to be base64 and is not.
#[cfg(feature = "server")]
pub(crate) fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

/// Returns a header's value for a text.
#[cfg(feature = "client")]
pub(crate) fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_sentinel = text.starts_with(OPEN) && text.ends_with(CLOSE);
    if plain && text.trim() == text && !is_sentinel {
        text.to_owned()
    } else {
        format!("{OPEN}{}{CLOSE}", STANDARD.encode(text))
    }
}

#[cfg(all(test, feature = "client", feature = "server"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_header_can_hold_goes_as_it_is() {
        assert_eq!(encode("get_time"), "get_time");
        assert_eq!(encode("file:///a%20b"), "file:///a%20b");
        assert_eq!(encode(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encode("Straße"), "=?base64?U3RyYcOfZQ==?=");
    }

    #[test]
    fn base64_that_is_none_is_noticed() {
        assert_eq!(decode("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decode("=?base64?SGVsbG8?="), None, "without its padding");
        assert_eq!(decode("=?base64?SGVs!!!?="), None, "with other letters");
        assert_eq!(decode("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="), "not closed: as it is");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in any::<String>()) {
            let value = encode(&text);
            prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(decode(&value), Some(text.into()));
        }
    }
}
