//! Refuses a free-form value in which some object has the same key twice, some string is no text, or that is nested
//! too deeply.
//!
//! Two readers of `{"role":"user","role":"admin"}` see two different messages; what is digested, validated and acted
//! on must be the same. A scan of its own, because it must not touch numbers: the parser would refuse `1e400`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::split::unquoted;
use crate::ReadError;

pub(super) fn check(raw: &RawValue) -> Result<(), ReadError> {
    let text = raw.get();
    let mut open: Vec<Container<'_>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' if open.len() == DEEPEST => {
                return Err(ReadError::refused(format!("nested more than {DEEPEST} levels deep")));
            }
            b'{' => open.push(Container::Object { keys: Vec::new(), at_key: true }),
            b'[' => open.push(Container::Array { index: 0 }),
            b'}' | b']' => {
                if let Some(key) = open.pop().and_then(Container::duplicate) {
                    return Err(leading_to(ReadError::duplicate(&key), &open));
                }
            }
            b',' => open.last_mut().into_iter().for_each(Container::next),
            b'"' => {
                let end = end_of_string(text, at);
                let string = &text[at..end];
                if let Some(Container::Object { keys, at_key: at_key @ true }) = open.last_mut() {
                    keys.push(unquoted(string)?);
                    *at_key = false;
                } else if string.contains("\\u") {
                    unquoted(string)?; // half a surrogate pair is no text
                }
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

enum Container<'a> {
    Object { keys: Vec<Cow<'a, str>>, at_key: bool },
    Array { index: usize },
}

impl<'a> Container<'a> {
    fn next(&mut self) {
        match self {
            Self::Object { at_key, .. } => *at_key = true,
            Self::Array { index } => *index += 1,
        }
    }

    fn duplicate(self) -> Option<Cow<'a, str>> {
        let Self::Object { mut keys, .. } = self else { return None };
        keys.sort_unstable();
        keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
    }
}

/// The error, seen from the outermost of the containers that are still open.
fn leading_to(error: ReadError, open: &[Container<'_>]) -> ReadError {
    open.iter().rev().fold(error, |error, container| match container {
        Container::Object { keys, .. } => error.in_member(keys.last().cloned().unwrap_or_default().into_owned()),
        Container::Array { index } => error.in_element(*index),
    })
}

/// One past the closing quote of the string that opens at `start`; the text is known to be JSON.
fn end_of_string(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        match bytes[at + found] {
            b'"' => return at + found + 1,
            _ => at += found + 2,
        }
    }
    bytes.len()
}

/// As deep as the JSON parser itself goes when it builds a tree.
const DEEPEST: usize = 127;
