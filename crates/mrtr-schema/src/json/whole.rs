//! Whole numbers as digits alone: `1.0` is an integer to JSON Schema, and not to serde.

use serde_json::value::RawValue;

use super::number::integer;

/// A value in which every whole number is spelt in digits; `None` if each was already.
pub(super) fn in_digits(value: &RawValue) -> Option<Box<RawValue>> {
    let text = value.get();
    let (mut spelt, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        let end = match byte {
            b'"' => end_of_string(text, at),
            b'-' | b'0'..=b'9' => end_of_number(text, at),
            _ => at + 1,
        };
        if let Some(whole) = whole(&text[at..end]) {
            spelt.push_str(&text[kept..at]);
            spelt.push_str(&whole.to_string());
            kept = end;
        }
        at = end;
    }
    if kept == 0 {
        return None;
    }
    spelt.push_str(&text[kept..]);
    RawValue::from_string(spelt).ok()
}

/// The integer that a token is, if it is a number with a point or an exponent.
fn whole(token: &str) -> Option<i128> {
    let is_number = token.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if is_number && token.contains(['.', 'e', 'E']) { integer(token) } else { None }
}

fn end_of_string(text: &str, start: usize) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(start + 1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |length| start + length + 2)
}

fn end_of_number(text: &str, start: usize) -> usize {
    let goes_on = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    text.bytes().skip(start).position(|byte| !goes_on(byte)).map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(text: &str) -> Option<String> {
        let raw = serde_json::from_str(text).expect("JSON");
        in_digits(raw).map(|raw| raw.get().to_owned())
    }

    #[test]
    fn whole_numbers_are_spelt_in_digits_and_nothing_else_changes() {
        let text = r#"{"a.0": [1.0, -2.50e1, 1.5, 3], "b": "1.0 \" 2.0", "\\": 4E0, "c": -0.0, "d": 1e99}"#;
        let expected = r#"{"a.0": [1, -25, 1.5, 3], "b": "1.0 \" 2.0", "\\": 4, "c": 0, "d": 1e99}"#;
        assert_eq!(spelt(text).as_deref(), Some(expected));
        assert_eq!(spelt("7.0").as_deref(), Some("7"));
        for unchanged in [r#"{"a": 1, "b": 1.5}"#, r#""1.0""#, "[]", "true", "-1", r#"["é 1.0"]"#] {
            assert_eq!(spelt(unchanged), None);
        }
    }
}
