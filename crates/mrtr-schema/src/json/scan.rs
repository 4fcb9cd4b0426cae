//! Text that is known to be JSON, taken apart again: where each value begins and ends, and nothing more.
//!
//! A message is nested, and what stands deep inside it is taken out level by level. The parser looked at all of it
//! once; to have it check the same bytes at every level would take longer than all else.

use std::iter::once;

use serde::de::value::{BorrowedStrDeserializer, Error, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

use super::unique;
use crate::error::ReadError;

/// Goes through text that is known to be JSON. Of other text it makes nonsense, or nothing.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(value: &'a RawValue) -> Self {
        Self { text: value.get(), at: 0 }
    }

    /// The next byte that is not space, which it goes past.
    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// The next byte that is not space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.at = skip_space(self.text.as_bytes(), self.at);
        self.text.as_bytes().get(self.at).copied()
    }

    /// Where in the text it is.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// The next value as text. A key is one too.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.at = end_of_value(self.text.as_bytes(), start)?;
        self.text.get(start..self.at)
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Option<&'a RawValue> {
        known(self.text()?)
    }

    /// The next value, once all of it is seen to mean one thing.
    pub(super) fn checked_value(&mut self) -> Result<Option<&'a RawValue>, ReadError> {
        if matches!(self.peek(), Some(b'{' | b'['))
            && let Some(end) = unique::plain_end(self.text, self.at)
        {
            let value = self.text.get(self.at..end);
            self.at = end;
            return Ok(value.and_then(known));
        }
        self.value().map(|value| unique::check(value).map(|()| value)).transpose()
    }
}

/// Where the next byte stands that is not space.
pub(super) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// One past the value that begins here.
pub(super) fn end_of_value(text: &[u8], start: usize) -> Option<usize> {
    Some(match text.get(start)? {
        b'"' => end_of_string(text, start).0,
        b'{' | b'[' => end_of_container(text, start)?,
        _ => end_of_word(text, start),
    })
}

fn end_of_container(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => {
                at = end_of_string(text, at).0;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// Of a number, or of `true`, `false` or `null`.
fn end_of_word(text: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    start + text[start..].iter().take_while(|byte| is_part(byte)).count()
}

/// One past the closing quote of the string that opens at `start`, and whether there is an escape in it.
pub(super) fn end_of_string(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut is_escaped) = (start + 1, false);
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if bytes[at + found] == b'"' {
            return (at + found + 1, is_escaped);
        }
        is_escaped = true;
        at += found + 2;
    }
    (bytes.len(), is_escaped)
}

/// Text that is known to be one JSON value, as a value.
pub(super) fn known(text: &str) -> Option<&RawValue> {
    <&RawValue>::deserialize(Known(text)).ok()
}

/// Text that is known to be one JSON value, as serde hands a raw value over: a map of one text, under the name that a
/// raw value goes by.
struct Known<'a>(&'a str);

impl<'de> Deserializer<'de> for Known<'de> {
    type Error = Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_map(MapDeserializer::new(once((name, BorrowedStrDeserializer::new(self.0)))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_borrowed_str(self.0)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
