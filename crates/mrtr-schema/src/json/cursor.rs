//! A cursor through JSON text: it skips whitespace, strings and words, and finds the end of each value.
//!
//! Most text is known to be JSON when it is taken apart again: a message is nested, and its inner values are read level
//! by level. The parser has checked all of it once; to check the same bytes again at every level would take longer than
//! all the rest.

use std::iter::once;

use serde::de::value::{BorrowedStrDeserializer, Error, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

use super::unique;
use crate::error::ReadError;

/// A place in text that is JSON, or may be; all code that walks through bytes of JSON uses it. It looks at spelling
/// alone: for text that is not JSON it returns nonsense, or nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<T> {
    text: T,
    at: usize,
}

impl<T: AsRef<[u8]> + Copy> Cursor<T> {
    pub(super) fn new(text: T, at: usize) -> Self {
        Self { text, at }
    }

    /// The place in the text.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Returns the byte at this place, even if it is whitespace.
    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_ref().get(self.at).copied()
    }

    /// Goes past one byte.
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// The next byte that is not whitespace.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// The next byte that is not a space, in text that has no other whitespace.
    pub(super) fn peek_plain(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                b' ' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Returns the next byte that is not space, and goes past it.
    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Goes past one of these, and says whether one stood here.
    pub(super) fn skip_any_of(&mut self, bytes: &[u8]) -> bool {
        let is_there = self.byte().is_some_and(|byte| bytes.contains(&byte));
        self.at += usize::from(is_there);
        is_there
    }

    /// Goes past these bytes, and says whether they stood here.
    pub(super) fn skip_exactly(&mut self, bytes: &[u8]) -> bool {
        let is_there = self.rest().starts_with(bytes);
        self.at += bytes.len();
        is_there
    }

    /// Goes past bytes of a kind, and says how many there were.
    pub(super) fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) -> usize {
        let count = self.rest().iter().take_while(|byte| is_part(**byte)).count();
        self.at += count;
        count
    }

    /// Goes past the next byte of this kind, however far it is; `None` if there is none.
    pub(super) fn skip_past(&mut self, byte: u8) -> Option<()> {
        self.at += memchr::memchr(byte, self.text.as_ref().get(self.at..)?)? + 1;
        Some(())
    }

    /// Goes past the string that opens here, and says whether there is an escape in it.
    pub(super) fn skip_string(&mut self) -> bool {
        let bytes = self.text.as_ref();
        let (mut at, mut is_escaped) = (self.at + 1, false);
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            if bytes[at + found] == b'"' {
                self.at = at + found + 1;
                return is_escaped;
            }
            is_escaped = true;
            at += found + 2;
        }
        self.at = bytes.len();
        is_escaped
    }

    /// Goes past a number, or `true`, `false` or `null`.
    pub(super) fn skip_word(&mut self) {
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    }

    /// Goes past the value that begins here.
    pub(super) fn skip_value(&mut self) -> Option<()> {
        match self.byte()? {
            b'"' => drop::<bool>(self.skip_string()),
            b'{' | b'[' => self.skip_container()?,
            _ => self.skip_word(),
        }
        Some(())
    }

    fn skip_container(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.byte()? {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 1 => {
                    self.at += 1;
                    return Some(());
                }
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn rest(&self) -> &[u8] {
        self.text.as_ref().get(self.at..).unwrap_or_default()
    }
}

impl<'a> Cursor<&'a str> {
    /// The text from a place up to here.
    pub(super) fn since(&self, start: usize) -> Option<&'a str> {
        self.text.get(start..self.at)
    }

    /// Returns the text between the quotes of the string that began at a place and ends here.
    pub(super) fn inside(&self, start: usize) -> Option<&'a str> {
        self.text.get(start + 1..self.at - 1)
    }

    /// The next value as text. A key is one too.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip_value()?;
        self.since(start)
    }

    /// The next value, from text that is known to be JSON.
    pub(super) fn value(&mut self) -> Option<&'a RawValue> {
        known(self.text()?)
    }

    /// Returns the next value, after checking that all readers understand it alike: see [`unique`].
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

impl<'a> Cursor<&'a [u8]> {
    /// The text from a place up to here; `None` if it is not UTF-8.
    pub(super) fn since(&self, start: usize) -> Option<&'a str> {
        str::from_utf8(self.text.get(start..self.at)?).ok()
    }
}

/// Text that is known to be one JSON value, as a value.
pub(super) fn known(text: &str) -> Option<&RawValue> {
    <&RawValue>::deserialize(Known(text)).ok()
}

/// Text that is known to be one JSON value, in the shape in which serde hands over a raw value: a map of one text,
/// under the name of raw values.
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
