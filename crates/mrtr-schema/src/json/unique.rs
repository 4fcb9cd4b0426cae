//! Refuses a free-form value in which some object has the same key twice, or that is nested too deeply.
//!
//! Two readers of `{"role":"user","role":"admin"}` see two different messages; what is digested, validated and acted
//! on must be the same. A scan of its own, because it must not touch numbers: the parser would refuse `1e400`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::split::Key;
use crate::ReadError;
use crate::error::Problem;

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
            b'[' => open.push(Container::Array),
            b'}' | b']' => open.pop().map_or(Ok(()), Container::close)?,
            b',' => {
                if let Some(Container::Object { at_key, .. }) = open.last_mut() {
                    *at_key = true;
                }
            }
            b'"' => {
                let end = end_of_string(text, at);
                if let Some(Container::Object { keys, at_key: at_key @ true }) = open.last_mut() {
                    let Key(key) = serde_json::from_str(&text[at..end])?;
                    keys.push(key);
                    *at_key = false;
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
    Array,
}

impl Container<'_> {
    fn close(self) -> Result<(), ReadError> {
        let Self::Object { mut keys, .. } = self else { return Ok(()) };
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ReadError::new(Problem::Duplicate).in_member(pair[0].clone().into_owned())),
            None => Ok(()),
        }
    }
}

/// One past the closing quote of the string that opens at `start`; the text is known to be JSON.
fn end_of_string(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// As deep as the JSON parser itself goes when it builds a tree.
const DEEPEST: usize = 127;
