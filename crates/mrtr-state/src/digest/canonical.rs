//! One form for each JSON value, written in one pass over its text; what comes unsorted is put in order where it stands
//! if it is short, and otherwise copied out in order once, at the end.
//!
//! | value | canonical bytes |
//! |---|---|
//! | `null`, `true`, `false` | `n`, `t`, `f` |
//! | number | `d`, sign, digits without outer zeros, `e`, exponent, `;` (`-12.50` is `d-125e-1;`, zero is `d0e0;`) |
//! | number whose exponent does not fit 64 bits | `x`, its text, `;` |
//! | string | `s`, length in bytes as 4 bytes, UTF-8 |
//! | array | `[`, its elements, `]` |
//! | object | `{`, key and value of each member in the order of the keys' bytes, `}` |

mod order;

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::DigestError;
use order::{Key, Object, Order};

/// Gives the canonical bytes of an object with these members to a digest.
pub(super) fn digest<'a, D>(
    members: impl Iterator<Item = (&'a str, &'a RawValue)>,
    digest: impl FnOnce(&[u8]) -> D,
) -> Result<D, DigestError> {
    let mut writer = Writer { out: Vec::with_capacity(USUAL), order: Order::new() };
    let mut object = writer.begin_object();
    for (key, value) in members {
        writer.member(&mut object, key.as_bytes(), &mut Text::of(value), 1)?;
    }
    writer.end_object(&object)?;
    Ok(digest(&writer.order.in_order(&writer.out)))
}

/// The deepest nesting that is digested: as deep as the wire types take free-form JSON.
const DEEPEST: usize = 127;

/// A capacity that the parameters of most calls do not exceed, in bytes.
const USUAL: usize = 512;

struct Writer {
    /// The canonical bytes, but with the members of each long object in the order in which they came.
    out: Vec<u8>,
    order: Order,
}

impl Writer {
    fn value(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        match text.peek() {
            b'"' => self.string(&text.string()?),
            b'{' | b'[' if depth > DEEPEST => return Err(DigestError::TooDeep),
            b'{' => self.object(text, depth)?,
            b'[' => self.array(text, depth)?,
            b'-' | b'0'..=b'9' => write_number(&mut self.out, text.word()),
            // The text is known to be JSON: what is left is told by its first letter.
            letter => {
                text.word();
                self.out.push(letter);
            }
        }
        Ok(())
    }

    fn array(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        self.out.push(b'[');
        text.skip();
        while text.peek() != b']' {
            self.value(text, depth + 1)?;
            text.comma();
        }
        text.skip();
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        let mut object = self.begin_object();
        text.skip();
        while text.peek() == b'"' {
            let key = text.string()?;
            text.colon();
            self.member(&mut object, &key, text, depth + 1)?;
            text.comma();
        }
        text.skip();
        self.end_object(&object)
    }

    fn begin_object(&mut self) -> Object {
        let object = self.order.begin(self.out.len());
        self.out.push(b'{');
        object
    }

    fn member(
        &mut self,
        object: &mut Object,
        key: &[u8],
        text: &mut Text<'_>,
        depth: usize,
    ) -> Result<(), DigestError> {
        let start = self.out.len();
        self.string(key);
        let key = Key::new(key, self.out.len());
        self.value(text, depth)?;
        self.order.member(object, start, key, &self.out);
        Ok(())
    }

    fn end_object(&mut self, object: &Object) -> Result<(), DigestError> {
        self.order.end(object, &mut self.out)?;
        self.out.push(b'}');
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        let length = u32::try_from(text.len()).expect("no message is 4 GiB long");
        let [a, b, c, d] = length.to_be_bytes();
        self.out.extend_from_slice(&[b's', a, b, c, d]);
        self.out.extend_from_slice(text);
    }
}

/// Writes a JSON number, in one spelling for each value.
fn write_number(out: &mut Vec<u8>, text: &[u8]) {
    // Most numbers are spelt as they are written here.
    if let [b'1'..=b'9'] | [b'1'..=b'9', .., b'1'..=b'9'] = text
        && text.iter().all(u8::is_ascii_digit)
    {
        out.push(b'd');
        out.extend_from_slice(text);
        out.extend_from_slice(b"e0;");
        return;
    }
    write_any_number(out, std::str::from_utf8(text).unwrap_or_default());
}

fn write_any_number(out: &mut Vec<u8>, text: &str) {
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

/// The exponent after the decimal point has moved `right` digits to the right and `left` digits to the left.
fn shifted(exponent: &str, right: usize, left: usize) -> Option<i64> {
    let exponent: i64 = exponent.parse().ok()?;
    exponent.checked_sub(right.try_into().ok()?)?.checked_add(left.try_into().ok()?)
}

/// The digits of the largest integer of 64 bits.
const LONGEST_INTEGER: usize = 20;

/// The rest of a text that is known to be JSON.
struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    fn of(value: &'a RawValue) -> Self {
        Self { rest: value.get().as_bytes() }
    }

    /// Returns the next byte that is not whitespace. At the end of the text it returns a closing bracket, which ends
    /// every loop.
    fn peek(&mut self) -> u8 {
        loop {
            match self.rest {
                [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] => self.rest = rest,
                [byte, ..] => return *byte,
                [] => return b']',
            }
        }
    }

    /// Passes the byte just looked at.
    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn colon(&mut self) {
        self.peek();
        self.skip();
    }

    fn comma(&mut self) {
        if self.peek() == b',' {
            self.skip();
        }
    }

    /// A number or a word, up to what ends it.
    fn word(&mut self) -> &'a [u8] {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The text of the string that begins with the quote just looked at.
    fn string(&mut self) -> Result<Cow<'a, [u8]>, DigestError> {
        let inside = self.rest.get(1..).unwrap_or_default();
        let end = plain(inside);
        match inside.split_at(end) {
            (text, [b'"', rest @ ..]) => {
                self.rest = rest;
                Ok(Cow::Borrowed(text))
            }
            _ => self.escaped().map(Cow::Owned),
        }
    }

    /// Reads a string that has escapes, which the JSON parser knows how to read.
    #[cold]
    fn escaped(&mut self) -> Result<Vec<u8>, DigestError> {
        let mut end = 1;
        while let Some(byte) = self.rest.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let (quoted, rest) = self.rest.split_at_checked(end + 1).unwrap_or((self.rest, &[]));
        self.rest = rest;
        serde_json::from_slice(quoted).map(String::into_bytes).map_err(|_| DigestError::NotText)
    }
}

/// Counts the bytes before the first quote or backslash, eight at a time, since most of a text is strings.
fn plain(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let eight = u64::from_le_bytes(*eight);
        let found = lowest_zero(eight ^ (EACH * u64::from(b'"'))) | lowest_zero(eight ^ (EACH * u64::from(b'\\')));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len())
}

/// Sets the highest bit of the lowest byte that is zero, and of none below it.
fn lowest_zero(eight: u64) -> u64 {
    eight.wrapping_sub(EACH) & !eight & EACH << 7
}

const EACH: u64 = u64::from_ne_bytes([1; 8]);
