//! Numbers, in one spelling for each value.

/// Writes a JSON number.
pub(super) fn write(out: &mut Vec<u8>, text: &[u8]) {
    // Most numbers are spelt as they are written here.
    if let [b'1'..=b'9'] | [b'1'..=b'9', .., b'1'..=b'9'] = text
        && text.iter().all(u8::is_ascii_digit)
    {
        out.push(b'd');
        out.extend_from_slice(text);
        out.extend_from_slice(b"e0;");
        return;
    }
    write_any(out, std::str::from_utf8(text).unwrap_or_default());
}

fn write_any(out: &mut Vec<u8>, text: &str) {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let kept = if fraction.is_empty() { whole.trim_end_matches('0') } else { whole };
    if kept.is_empty() && fraction.is_empty() {
        out.extend_from_slice(b"d0e0;");
        return;
    }
    let Some(exponent) = shifted(exponent, fraction.len(), whole.len() - kept.len()) else {
        out.push(b'x');
        out.extend_from_slice(text.as_bytes());
        out.push(b';');
        return;
    };
    let whole = kept.trim_start_matches('0');
    let fraction = if whole.is_empty() { fraction.trim_start_matches('0') } else { fraction };
    for part in ["d", sign, whole, fraction, "e"] {
        out.extend_from_slice(part.as_bytes());
    }
    write_integer(out, exponent);
    out.push(b';');
}

fn write_integer(out: &mut Vec<u8>, integer: i64) {
    if integer < 0 {
        out.push(b'-');
    }
    let mut digits = [0; LONGEST_INTEGER];
    let mut rest = integer.unsigned_abs();
    let mut start = digits.len();
    while rest > 0 || start == digits.len() {
        start -= 1;
        digits[start] = b"0123456789"[(rest % 10) as usize];
        rest /= 10;
    }
    out.extend_from_slice(&digits[start..]);
}

/// The exponent once the point has moved to the right by so many digits, and to the left by so many.
fn shifted(exponent: &str, right: usize, left: usize) -> Option<i64> {
    let exponent: i64 = exponent.parse().ok()?;
    exponent.checked_sub(right.try_into().ok()?)?.checked_add(left.try_into().ok()?)
}

/// The digits of the largest integer of 64 bits.
const LONGEST_INTEGER: usize = 20;
