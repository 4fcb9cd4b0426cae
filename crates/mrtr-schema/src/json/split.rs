//! One level of JSON taken apart: members of an object and elements of an array, each still raw.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::cursor::{Cursor, known};
use super::{Json, Members, unique};
use crate::error::ReadError;
use crate::limits::MOST_MEMBERS;

/// The members of one object, in order, each value still raw. Duplicate keys are refused.
///
/// ```
/// use mrtr_schema::RawMembers;
///
/// let members = RawMembers::parse(r#"{"name": "pay", "arguments": {"amount": 1e2}}"#)?;
/// assert_eq!(members.text("name")?.as_deref(), Some("pay"));
/// assert_eq!(members.get("arguments").unwrap().get(), r#"{"amount": 1e2}"#);
/// assert!(RawMembers::parse(r#"{"name": "pay", "name": "steal"}"#).is_err());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RawMembers<'a> {
    members: Vec<Member<'a>>,
}

#[derive(Debug, Clone)]
struct Member<'a> {
    key: Cow<'a, str>,
    /// The value; `None` once it is taken.
    value: Option<&'a RawValue>,
}

impl<'a> RawMembers<'a> {
    /// Takes an object apart.
    pub fn of(value: &'a RawValue) -> Result<Self, ReadError> {
        if !value.get().starts_with('{') {
            return Err(ReadError::expected("an object", value));
        }
        Self::scanned(Cursor::new(value.get(), 0))?.unique()
    }

    fn scanned(mut cursor: Cursor<&'a str>) -> Result<Self, ReadError> {
        let mut members = Vec::with_capacity(USUAL);
        cursor.next();
        while cursor.peek() == Some(b'"') {
            let key = unquoted(cursor.text().ok_or_else(no_json)?)?;
            cursor.next();
            let value = cursor.value().ok_or_else(no_json)?;
            members.push(Member { key, value: Some(value) });
            if cursor.next() != Some(b',') {
                break;
            }
        }
        Ok(Self { members })
    }

    /// Takes apart an object that is still text.
    pub fn parse(text: &'a str) -> Result<Self, ReadError> {
        serde_json::from_str::<Self>(text)?.unique()
    }

    fn unique(self) -> Result<Self, ReadError> {
        match self.duplicate() {
            Some(key) => Err(ReadError::duplicate(key)),
            None => Ok(self),
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|member| member.key == key).and_then(|member| member.value)
    }

    /// The text under a key.
    pub fn text(&self, key: &'static str) -> Result<Option<Cow<'a, str>>, ReadError> {
        self.get(key).map(text).transpose().map_err(|error| error.in_member(key))
    }

    /// The members of the object under a key.
    pub fn object(&self, key: &'static str) -> Result<Option<Self>, ReadError> {
        self.get(key).map(Self::of).transpose().map_err(|error| error.in_member(key))
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().filter_map(|member| Some((&*member.key, member.value?)))
    }

    /// Collects members that were taken apart before; returns `None` if one of them is `None`.
    pub(super) fn known(all: impl ExactSizeIterator<Item = Option<(&'a str, &'a RawValue)>>) -> Option<Self> {
        let mut members = Vec::with_capacity(all.len());
        for member in all {
            let (key, value) = member?;
            members.push(Member { key: Cow::Borrowed(key), value: Some(value) });
        }
        Some(Self { members })
    }

    /// Returns the keys, each borrowed unless it holds an escape, and their values.
    pub(super) fn keys_and_values(&self) -> impl Iterator<Item = (&Cow<'a, str>, &'a RawValue)> {
        self.members.iter().filter_map(|member| Some((&member.key, member.value?)))
    }

    /// Counts the members.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes an empty list, with room for as many members as most objects have.
    pub(crate) fn usual() -> Self {
        Self { members: Vec::with_capacity(USUAL) }
    }

    /// Adds a member, which may have the key of another.
    pub(crate) fn push(&mut self, key: Cow<'a, str>, value: &'a RawValue) {
        self.members.push(Member { key, value: Some(value) });
    }

    /// Checks that there are no more members than may be kept, each with its key.
    pub(crate) fn check_count(&self) -> Result<(), ReadError> {
        if self.members.len() > MOST_MEMBERS { Err(ReadError::too_many(self.members.len())) } else { Ok(()) }
    }

    /// Checks that no key stands twice, and checks the values as [`check_values`](Self::check_values) does.
    pub(crate) fn check_all(&self) -> Result<(), ReadError> {
        match self.duplicate() {
            Some(key) => Err(ReadError::duplicate(key)),
            None => self.check_values(&[]),
        }
    }

    /// Checks the values, except those under the keys `read_elsewhere`: no key stands twice in an object, every string
    /// is text, and nothing is nested too deeply.
    pub(crate) fn check_values(&self, read_elsewhere: &[&str]) -> Result<(), ReadError> {
        self.check_count()?;
        // Most parameters are strings, and checking one is faster than comparing its name.
        let is_short = |value: &RawValue| !value.get().starts_with(['{', '[']);
        let mut unread = self.iter().filter(|(key, value)| is_short(value) || !read_elsewhere.contains(key));
        unread.try_for_each(|(key, value)| unique::check(value).map_err(|error| error.in_member(key.to_owned())))
    }

    /// Takes out the value under a key.
    pub(crate) fn take(&mut self, key: &str) -> Option<&'a RawValue> {
        self.members.iter_mut().find(|member| member.key == key).and_then(|member| member.value.take())
    }

    /// Takes out a member that must be there with exactly this text.
    pub(crate) fn constant(&mut self, key: &'static str, expected: &'static str) -> Result<(), ReadError> {
        let found = self.tag(key)?;
        if found != expected {
            return Err(ReadError::not_one_of(&found, &[expected]).in_member(key));
        }
        self.take(key);
        Ok(())
    }

    /// The text of a member that tells what the object is.
    pub(crate) fn tag(&self, key: &'static str) -> Result<Cow<'a, str>, ReadError> {
        let value = self.get(key).ok_or_else(|| ReadError::missing(key))?;
        text(value).map_err(|error| error.in_member(key))
    }

    /// Returns the members that are left once all known ones are taken.
    pub(crate) fn rest(self) -> Result<Members, ReadError> {
        self.check_count()?;
        let mut kept = Vec::new();
        for member in self.members {
            let Some(value) = member.value else { continue };
            let key = member.key.into_owned();
            match Json::from_raw(value) {
                Ok(value) => kept.push((key, value)),
                Err(error) => return Err(error.in_member(key)),
            }
        }
        Ok(kept.into_iter().collect())
    }

    pub(crate) fn duplicate(&self) -> Option<&str> {
        let members = &self.members;
        if members.len() <= USUAL {
            let again = |(index, member): (usize, &Member<'a>)| {
                members[..index].iter().any(|earlier| earlier.key == member.key)
            };
            let index = (0..members.len()).find(|&index| again((index, &members[index])))?;
            return Some(&members[index].key);
        }
        let mut keys: Vec<&str> = members.iter().map(|member| &*member.key).collect();
        keys.sort_unstable();
        keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = RawMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(USUAL);
        while let Some(Key(key)) = map.next_key()? {
            members.push(Member { key, value: Some(map.next_value()?) });
        }
        Ok(RawMembers { members })
    }
}

/// A string that is borrowed where it holds no escape.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// The elements of an array, each still raw.
pub(crate) fn elements(value: &RawValue) -> Result<Vec<&RawValue>, ReadError> {
    if !value.get().starts_with('[') {
        return Err(ReadError::expected("an array", value));
    }
    let mut cursor = Cursor::new(value.get(), 0);
    let mut elements = Vec::new();
    cursor.next();
    while cursor.peek() != Some(b']') {
        elements.push(cursor.value().ok_or_else(no_json)?);
        if cursor.next() != Some(b',') {
            break;
        }
    }
    Ok(elements)
}

/// Returns the error for a raw value that was made by hand, of text that is not JSON.
pub(super) fn no_json() -> ReadError {
    ReadError::refused("not JSON")
}

/// A string's text, borrowed where it holds no escape.
pub(crate) fn text(value: &RawValue) -> Result<Cow<'_, str>, ReadError> {
    if !value.get().starts_with('"') {
        return Err(ReadError::expected("a string", value));
    }
    unquoted(value.get())
}

/// The text of a string in its quotes: without an escape, it is what stands between them.
pub(super) fn unquoted(quoted: &str) -> Result<Cow<'_, str>, ReadError> {
    if memchr::memchr(b'\\', quoted.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(&quoted[1..quoted.len() - 1]));
    }
    let Key(text) = serde_json::from_str(quoted)?;
    Ok(text)
}

/// Most objects of the protocol have no more members than this.
const USUAL: usize = 8;

/// The places of an object's members in a text.
#[derive(Debug, Clone)]
pub(crate) struct MemberSpans(Vec<(KeyPlace, Range<usize>)>);

#[derive(Debug, Clone)]
enum KeyPlace {
    At(Range<usize>),
    /// The key with its escapes undone: the text does not have it in this form.
    Text(Box<str>),
}

impl MemberSpans {
    /// Finds the places of these members in the text that they borrow from; `None` if they borrow from another.
    pub(crate) fn of(members: &RawMembers<'_>, text: &str) -> Option<Self> {
        let spans = members.keys_and_values().map(|(key, value)| {
            let key = match key {
                Cow::Borrowed(key) => KeyPlace::At(span(key, text)?),
                Cow::Owned(key) => KeyPlace::Text(key.as_str().into()),
            };
            Some((key, span(value.get(), text)?))
        });
        spans.collect::<Option<_>>().map(Self)
    }

    /// Returns the members again, borrowed from that text. The text is sliced without a check: it was checked once.
    pub(crate) fn members<'t>(&'t self, text: &'t str) -> Option<RawMembers<'t>> {
        RawMembers::known(self.0.iter().map(|(key, value)| {
            let key = match key {
                KeyPlace::At(place) => text.get(place.clone())?,
                KeyPlace::Text(key) => key,
            };
            Some((key, known(text.get(value.clone())?)?))
        }))
    }
}

/// Finds the place of a part in the text that it borrows from.
fn span(part: &str, text: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= text.len()).then_some(start..end)
}
