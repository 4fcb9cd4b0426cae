//! Digests as text.

/// The first 128 bits of a digest, as text.
pub(crate) fn short_hex(digest: &[u8]) -> String {
    digest.iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(nibble.into(), 16));
        }
        text
    })
}
