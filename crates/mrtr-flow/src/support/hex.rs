//! Digests as text.

/// The first 128 bits of a digest, as text.
pub fn short_hex(digest: &[u8]) -> String {
    all_hex(&digest[..digest.len().min(16)])
}

/// Bytes as text.
pub fn all_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(nibble.into(), 16));
        }
        text
    })
}
