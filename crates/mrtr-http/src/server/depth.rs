//! How deep JSON is nested: found out before anything is read that would have to follow it down.

/// Whether a text is nested deeper than this. Whether it is JSON at all is found out later.
pub(super) fn is_deeper(text: &[u8], limit: usize) -> bool {
    // Few messages have that many brackets altogether, and to count them is far cheaper than to follow them.
    if brackets(text) <= limit {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// How many brackets open, in strings too: in pieces short enough that a byte can count them, many at a time.
fn brackets(text: &[u8]) -> usize {
    let count = |piece: &[u8]| piece.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum::<u8>();
    text.chunks(usize::from(u8::MAX)).map(|piece| usize::from(count(piece))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ht_8_brackets_count_where_they_nest() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_deeper(nested(8).as_bytes(), 8));
        assert!(is_deeper(nested(9).as_bytes(), 8));
        assert!(!is_deeper("[[],[],[],[],[],[],[],[],[]]".as_bytes(), 8), "side by side");
        assert!(!is_deeper(br#"["[[[[[[[[[[", "\"[[[[[[[[[["]"#, 8), "in strings");
        assert!(is_deeper(br#"["\\",[[[[[[[[["#, 8), "after a string that ends with a backslash");
    }
}
