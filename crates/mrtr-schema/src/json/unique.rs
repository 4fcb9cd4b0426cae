//! Refuses a free-form value if an object in it has a key twice, a string in it is not text, or it is nested too
//! deeply.
//!
//! Two readers of `{"role":"user","role":"admin"}` see two different messages, but the message that is digested,
//! validated and acted on must be one. The scan is our own because it must not touch numbers: the parser would refuse
//! `1e400`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::cursor::Cursor;
use super::split::unquoted;
use crate::error::ReadError;

pub(super) fn check(raw: &RawValue) -> Result<(), ReadError> {
    let text = raw.get();
    match text.as_bytes() {
        [b'{' | b'[', ..] if plain_end(text, 0).is_some() => return Ok(()),
        [b'"', rest @ ..] if memchr::memchr(b'\\', rest).is_none() => return Ok(()),
        _ => {}
    }
    check_any(text)
}

/// Returns the place behind the object or array that opens at `start`, if it is flat, small and plainly spelt, as
/// nearly all are, and has no key twice. This takes hardly longer than a search for the end alone.
pub(super) fn plain_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    // The keys of all objects that are open, and for each container how many there were before it.
    let (mut keys, mut count) = ([&[] as &[u8]; PLAIN_KEYS], 0);
    let (mut before, mut is_object, mut depth) = ([0; PLAIN_DEPTH], [false; PLAIN_DEPTH], 0);
    let (mut cursor, mut at_key) = (Cursor::new(bytes, start), false);
    loop {
        match cursor.byte()? {
            b'"' => {
                let start = cursor.place();
                if cursor.skip_string() {
                    return None;
                }
                if at_key {
                    let key = bytes.get(start..cursor.place())?;
                    let own = keys.get(*before.get(depth - 1)?..count)?;
                    if own.contains(&key) {
                        return None;
                    }
                    *keys.get_mut(count)? = key;
                    (count, at_key) = (count + 1, false);
                }
                continue;
            }
            opening @ (b'{' | b'[') => {
                at_key = opening == b'{';
                *before.get_mut(depth)? = count;
                is_object[depth] = at_key;
                depth += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                (count, at_key) = (before[depth], false);
                if depth == 0 {
                    return Some(cursor.place() + 1);
                }
            }
            b',' => at_key = is_object[depth - 1],
            _ => {}
        }
        cursor.advance();
    }
}

const PLAIN_KEYS: usize = 16;
const PLAIN_DEPTH: usize = 8;

fn check_any(text: &str) -> Result<(), ReadError> {
    let mut open: Vec<Container> = Vec::new();
    // The keys of all objects that are open, those of the outermost first.
    let mut keys: Vec<Cow<'_, str>> = Vec::new();
    let mut cursor = Cursor::new(text, 0);
    while let Some(byte) = cursor.byte() {
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
                let start = cursor.place();
                let is_escaped = cursor.skip_string();
                let string = &text[start..cursor.place()];
                if let Some(Container::Object { at_key: at_key @ true, .. }) = open.last_mut() {
                    keys.push(if is_escaped { unquoted(string)? } else { string[1..string.len() - 1].into() });
                    *at_key = false;
                } else if is_escaped && string.contains("\\u") {
                    unquoted(string)?; // half a surrogate pair is no text
                }
                continue;
            }
            _ => {}
        }
        cursor.advance();
    }
    Ok(())
}

/// An object or an array that is open.
enum Container {
    Object {
        /// The place of its first key among the keys of all.
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

/// Returns the error with its path from the outermost of the containers that are still open.
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

/// The most keys that are compared with each other: more of them are sooner sorted.
const FEW: usize = 8;

/// The depth to which the JSON parser itself goes when it builds a tree.
const DEEPEST: usize = 127;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// JSON in which keys are few, so that many stand twice, and some are escaped.
    fn any_text() -> impl Strategy<Value = String> {
        let key =
            || prop::sample::select(vec!["\"a\"", "\"b\"", "\"c,}\"", "\"\"", r#""\u0061""#, "\"é\"", "\"\\\"\""]);
        let leaf = prop::sample::select(vec!["1", "null", "\"{\"", "\"a\"", "-1e3", r#""\ud83d\ude00""#, "[]", "{}"]);
        leaf.prop_map(ToOwned::to_owned).prop_recursive(10, 64, 4, move |inner| {
            let member = (key(), inner.clone()).prop_map(|(key, value)| format!("{key} : {value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|elements| format!("[{}]", elements.join(" , "))),
                prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_plain_look_sees_what_a_thorough_one_does(text in any_text()) {
            if let Some(end) = text.starts_with(['{', '[']).then(|| plain_end(&text, 0)).flatten() {
                prop_assert_eq!(end, text.len());
                prop_assert!(check_any(&text).is_ok(), "{}", text);
            }
            let raw = RawValue::from_string(text.clone()).expect("it is JSON");
            prop_assert_eq!(check(&raw).is_ok(), check_any(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn what_is_usual_is_plain_up_to_its_bounds() {
        let object = |keys: usize| {
            let members: Vec<_> = (0..keys).map(|key| format!("\"{key}\":[{{\"a\":1}},{{\"a\":2}}]")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert_eq!(plain_end(&object(15), 0), Some(object(15).len()));
        assert_eq!(plain_end(&object(17), 0), None);
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!((plain_end(&nested(8), 0), plain_end(&nested(9), 0)), (Some(16), None));
        assert_eq!(plain_end(r#"{"a":1,"b":{"a":1},"a":2}"#, 0), None);
        assert_eq!(plain_end(r#"x{"a":{"b":1},"b":2},"#, 1), Some(20));
    }
}
