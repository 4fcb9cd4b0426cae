//! Walks through a text that is known to be JSON.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::DigestError;

/// The rest of a text that is known to be JSON.
pub(super) struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    pub(super) fn of(value: &'a RawValue) -> Self {
        Self { rest: value.get().as_bytes() }
    }

    /// The next byte that is no space; a closing bracket at the end, which ends every loop.
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.rest {
                [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] => self.rest = rest,
                [byte, ..] => return *byte,
                [] => return b']',
            }
        }
    }

    /// Passes the byte just looked at.
    pub(super) fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    pub(super) fn colon(&mut self) {
        self.peek();
        self.skip();
    }

    pub(super) fn comma(&mut self) {
        if self.peek() == b',' {
            self.skip();
        }
    }

    /// A number or a word, up to what ends it.
    pub(super) fn word(&mut self) -> &'a [u8] {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The text of the string that begins with the quote just looked at.
    pub(super) fn string(&mut self) -> Result<Cow<'a, [u8]>, DigestError> {
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

/// How many bytes there are before the first quote or backslash: eight at a time, since most of a text is strings.
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
