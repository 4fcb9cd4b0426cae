//! Refuses a free-form value in which some object has the same key twice, some string is no text, or that is nested
//! too deeply.
//!
//! Two readers of `{"role":"user","role":"admin"}` see two different messages; what is digested, validated and acted
//! on must be the same. A scan of its own, because it must not touch numbers: the parser would refuse `1e400`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::scan::end_of_string;
use super::split::unquoted;
use crate::ReadError;

pub(super) fn check(raw: &RawValue) -> Result<(), ReadError> {
    let text = raw.get();
    let mut open: Vec<Container> = Vec::new();
    // The keys of all objects that are open, those of the outermost first.
    let mut keys: Vec<Cow<'_, str>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' if open.len() == DEEPEST => {
                return Err(ReadError::refused(format!("nested more than {DEEPEST} levels deep")));
            }
            b'{' => open.push(Container::Object { first: keys.len(), at_key: true }),
            b'[' => open.push(Container::Array { index: 0 }),
            b'}' | b']' => {
                if let Some(Container::Object { first, .. }) = open.pop() {
                    if let Some(key) = duplicate(&mut keys[first..]) {
                        let error = ReadError::duplicate(key);
                        keys.truncate(first);
                        return Err(leading_to(error, &open, &keys));
                    }
                    keys.truncate(first);
                }
            }
            b',' => open.last_mut().into_iter().for_each(Container::next),
            b'"' => {
                let (end, is_escaped) = end_of_string(text, at);
                let string = &text[at..end];
                if let Some(Container::Object { at_key: at_key @ true, .. }) = open.last_mut() {
                    keys.push(if is_escaped { unquoted(string)? } else { string[1..string.len() - 1].into() });
                    *at_key = false;
                } else if is_escaped && string.contains("\\u") {
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

/// An object or an array that is open.
enum Container {
    Object {
        /// Where its keys begin among those of all.
        first: usize,
        at_key: bool,
    },
    Array {
        index: usize,
    },
}

impl Container {
    fn next(&mut self) {
        match self {
            Self::Object { at_key, .. } => *at_key = true,
            Self::Array { index } => *index += 1,
        }
    }
}

fn duplicate<'k>(keys: &'k mut [Cow<'_, str>]) -> Option<&'k str> {
    if keys.len() <= FEW {
        let again = (1..keys.len()).find(|&place| keys[..place].contains(&keys[place]))?;
        return Some(&keys[again]);
    }
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| &*pair[0])
}

/// The error, seen from the outermost of the containers that are still open.
fn leading_to(error: ReadError, open: &[Container], keys: &[Cow<'_, str>]) -> ReadError {
    let mut keys = keys;
    open.iter().rev().fold(error, |error, container| match container {
        Container::Object { first, .. } => {
            let key = keys.last().cloned().unwrap_or_default();
            keys = &keys[..*first];
            error.in_member(key.into_owned())
        }
        Container::Array { index } => error.in_element(*index),
    })
}

/// So many keys are sooner compared with each other than sorted.
const FEW: usize = 8;

/// As deep as the JSON parser itself goes when it builds a tree.
const DEEPEST: usize = 127;
