//! One form for each JSON value, written in one pass over its text; objects that come sorted are never moved.
//!
//! | value | canonical bytes |
//! |---|---|
//! | `null`, `true`, `false` | `n`, `t`, `f` |
//! | number | `d`, sign, digits without outer zeros, `e`, exponent, `;` (`-12.50` is `d-125e-1;`, zero is `d0e0;`) |
//! | number whose exponent does not fit 64 bits | `x`, its text, `;` |
//! | string | `s`, length in bytes as 4 bytes, UTF-8 |
//! | array | `[`, its elements, `]` |
//! | object | `{`, key and value of each member in the order of the keys' bytes, `}` |

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::DigestError;

/// Digests an object with these members.
pub(super) fn digest<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>) -> Result<[u8; 32], DigestError> {
    let mut writer = Writer { out: Vec::with_capacity(256), spare: Vec::new() };
    let mut object = writer.begin_object();
    for (key, value) in members {
        let start = writer.out.len();
        let key = writer.string(key);
        let mut text = Text { rest: value.get().as_bytes() };
        writer.value(&mut text, 1)?;
        object.push(start, key, writer.out.len());
    }
    writer.end_object(object)?;
    Ok(Sha256::digest(&writer.out).into())
}

/// As deep as the wire types take free-form JSON.
const DEEPEST: usize = 127;

struct Writer {
    out: Vec<u8>,
    /// Where the members of an object that came unsorted are put in order.
    spare: Vec<u8>,
}

/// The members of one object, as places in what has been written.
struct Members {
    places: Vec<Place>,
    start: usize,
}

struct Place {
    whole: Range<usize>,
    key: Range<usize>,
}

impl Members {
    fn push(&mut self, start: usize, key: Range<usize>, end: usize) {
        self.places.push(Place { whole: start..end, key });
    }
}

impl Writer {
    fn value(&mut self, text: &mut Text<'_>, depth: usize) -> Result<(), DigestError> {
        match text.peek() {
            b'{' | b'[' if depth > DEEPEST => return Err(DigestError::TooDeep),
            b'{' => self.object(text, depth)?,
            b'[' => self.array(text, depth)?,
            b'"' => drop(self.string(&text.string()?)),
            b'-' | b'0'..=b'9' => self.number(text.word()),
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
        while text.peek() != b'}' {
            let start = self.out.len();
            let key = self.string(&text.string()?);
            text.peek();
            text.skip();
            self.value(text, depth + 1)?;
            object.push(start, key, self.out.len());
            text.comma();
        }
        text.skip();
        self.end_object(object)
    }

    fn begin_object(&mut self) -> Members {
        self.out.push(b'{');
        Members { places: Vec::new(), start: self.out.len() }
    }

    fn end_object(&mut self, Members { mut places, start }: Members) -> Result<(), DigestError> {
        let out = &self.out;
        let by_key = |left: &Place, right: &Place| out[left.key.clone()].cmp(&out[right.key.clone()]);
        let sorted = places.is_sorted_by(|left, right| by_key(left, right).is_lt());
        if !sorted {
            places.sort_unstable_by(by_key);
            if places.windows(2).any(|pair| by_key(&pair[0], &pair[1]).is_eq()) {
                return Err(DigestError::DuplicateKey);
            }
            self.spare.clear();
            for place in &places {
                self.spare.extend_from_slice(&out[place.whole.clone()]);
            }
            self.out.truncate(start);
            self.out.extend_from_slice(&self.spare);
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Writes a string, and says where its text is.
    fn string(&mut self, text: &str) -> Range<usize> {
        self.out.push(b's');
        let length = u32::try_from(text.len()).expect("no message is 4 GiB long");
        self.out.extend_from_slice(&length.to_be_bytes());
        let start = self.out.len();
        self.out.extend_from_slice(text.as_bytes());
        start..self.out.len()
    }

    fn number(&mut self, text: &str) {
        let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |unsigned| ("-", unsigned));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let kept = if fraction.is_empty() { whole.trim_end_matches('0') } else { whole };
        let dropped = whole.len() - kept.len();
        if kept.is_empty() && fraction.is_empty() {
            self.out.extend_from_slice(b"d0e0;");
            return;
        }
        let shift = i64::try_from(dropped).ok().zip(i64::try_from(fraction.len()).ok());
        let exponent = exponent
            .parse::<i64>()
            .ok()
            .zip(shift)
            .and_then(|(exponent, (dropped, fraction))| exponent.checked_sub(fraction)?.checked_add(dropped));
        let Some(exponent) = exponent else {
            self.out.push(b'x');
            self.out.extend_from_slice(text.as_bytes());
            self.out.push(b';');
            return;
        };
        self.out.push(b'd');
        self.out.extend_from_slice(sign.as_bytes());
        let start = self.out.len();
        self.out.extend_from_slice(kept.as_bytes());
        self.out.extend_from_slice(fraction.as_bytes());
        let zeros = self.out[start..].iter().take_while(|digit| **digit == b'0').count();
        self.out.drain(start..start + zeros);
        self.out.push(b'e');
        if exponent == 0 {
            self.out.push(b'0');
        } else {
            self.out.extend_from_slice(exponent.to_string().as_bytes());
        }
        self.out.push(b';');
    }
}

/// The rest of a text that is known to be JSON.
struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    /// The next byte that is no space; a closing brace at the end, which ends every loop.
    fn peek(&mut self) -> u8 {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied().unwrap_or(b'}')
    }

    /// Passes the byte just looked at.
    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn comma(&mut self) {
        if self.peek() == b',' {
            self.skip();
        }
    }

    /// A number or a word, up to what ends it.
    fn word(&mut self) -> &'a str {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        std::str::from_utf8(word).unwrap_or_default()
    }

    fn string(&mut self) -> Result<Cow<'a, str>, DigestError> {
        self.peek();
        let mut end = 1;
        let mut plain = true;
        while let Some(byte) = self.rest.get(end) {
            match byte {
                b'"' => break,
                b'\\' => {
                    plain = false;
                    end += 2;
                }
                _ => end += 1,
            }
        }
        let end = end.min(self.rest.len().saturating_sub(1));
        let (quoted, rest) = self.rest.split_at(end + usize::from(!self.rest.is_empty()));
        self.rest = rest;
        if plain {
            let text = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            return std::str::from_utf8(text).map(Cow::Borrowed).map_err(|_| DigestError::NotText);
        }
        serde_json::from_slice(quoted).map(Cow::Owned).map_err(|_| DigestError::NotText)
    }
}
