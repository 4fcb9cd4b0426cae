//! An index of an object that is kept as text: the place of each member, and nothing more.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::cursor::{Cursor, known};
use super::split::{no_json, unquoted};
use crate::error::ReadError;

/// The places of an object's members in its text, to be found by key.
///
/// It stands for the members of an object whose text is kept. It takes four bytes a member, and nothing for a few; a
/// list of short members would take more than the text itself.
///
/// ```
/// use mrtr_schema::MemberIndex;
/// use serde_json::value::RawValue;
///
/// let answers: &RawValue = serde_json::from_str(r#"{"name": {"action": "accept"}, "age": {"action": "decline"}}"#)?;
/// let index = MemberIndex::checked(answers, |_, _| {})?;
/// let text = answers.get().as_bytes();
/// assert_eq!(index.find(text, "age").unwrap().get(), r#"{"action": "decline"}"#);
/// assert!(index.find(text, "role").is_none());
/// assert_eq!(index.len(), 2);
/// assert_eq!(MemberIndex::members(text).map(|(key, _)| key).collect::<Vec<_>>(), ["name", "age"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemberIndex(Order);

#[derive(Debug, Clone)]
enum Order {
    /// The members in the order of the text, and how many of the array are in use. The end of each is kept too, so that
    /// no member is scanned twice.
    Few([Span; FEW], usize),
    Many(Arc<ByHash>),
}

/// The place of a member in the text.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u32,
    end_of_key: u32,
    value: u32,
    end: u32,
    /// True if the key is spelt with escapes, so that it is not what stands in the text.
    is_escaped: bool,
}

/// The members of a large object, by a hash of their keys and then by the keys themselves.
#[derive(Debug)]
struct ByHash {
    /// The slower hasher, with random keys: clients choose the keys of the object.
    hasher: RandomState,
    starts: Box<[u32]>,
}

impl MemberIndex {
    /// Takes an object apart and checks that all readers understand its values alike: no key stands twice in an object,
    /// every string is text, and nothing is nested too deeply. Shows each member to `see`.
    pub fn checked(object: &RawValue, mut see: impl FnMut(&str, &RawValue)) -> Result<Self, ReadError> {
        let text = object.get();
        if !text.starts_with('{') {
            return Err(ReadError::expected("an object", object));
        }
        u32::try_from(text.len()).map_err(|_| ReadError::refused("this is too long"))?;
        let (mut cursor, mut order) = (Cursor::new(text, 0), Building::Few([Span::default(); FEW], 0));
        cursor.next();
        while cursor.peek() == Some(b'"') {
            let start = cursor.place();
            let quoted = cursor.text().ok_or_else(no_json)?;
            let key = unquoted(quoted)?;
            cursor.next();
            let value = match cursor.checked_value() {
                Ok(value) => value.ok_or_else(no_json)?,
                Err(error) => return Err(error.in_member(key.into_owned())),
            };
            see(&key, value);
            let end = cursor.place();
            let span = Span {
                start: place(start),
                end_of_key: place(start + quoted.len()),
                value: place(end - value.get().len()),
                end: place(end),
                is_escaped: matches!(key, Cow::Owned(_)),
            };
            order.push(text.as_bytes(), span, &key);
            if cursor.next() != Some(b',') {
                break;
            }
        }
        order.finish(text.as_bytes())
    }

    /// The value under a key, in the text that the index was made of.
    pub fn find<'t>(&self, text: &'t [u8], key: &str) -> Option<&'t RawValue> {
        match &self.0 {
            Order::Few(spans, count) => spans.iter().take(*count).find(|span| span.has_key(text, key))?.value(text),
            Order::Many(many) => {
                let start = many.find(key, |start| key_at(text, start))?;
                member_at(&mut Cursor::new(text, start as usize)).map(|(_, value)| value)
            }
        }
    }

    /// Counts the members.
    pub fn len(&self) -> usize {
        match &self.0 {
            Order::Few(_, count) => *count,
            Order::Many(many) => many.starts.len(),
        }
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The members of an object, in their order in its text.
    pub fn members(text: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, &RawValue)> {
        let mut cursor = Cursor::new(text, 0);
        std::iter::from_fn(move || {
            // Past the brace or the comma, or past the end.
            cursor.next();
            cursor.peek();
            member_at(&mut cursor)
        })
    }
}

impl Span {
    fn key<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, str>> {
        let quoted = text.get(self.start as usize..self.end_of_key as usize)?;
        unquoted(str::from_utf8(quoted).ok()?).ok()
    }

    fn has_key(&self, text: &[u8], key: &str) -> bool {
        if self.is_escaped {
            return self.key(text).is_some_and(|found| found == key);
        }
        let inside = self.start as usize + 1..self.end_of_key as usize - 1;
        text.get(inside).is_some_and(|found| found == key.as_bytes())
    }

    /// Returns the value; `None` in a text that is another than the index was made of.
    fn value<'t>(&self, text: &'t [u8]) -> Option<&'t RawValue> {
        known(str::from_utf8(text.get(self.value as usize..self.end as usize)?).ok()?)
    }
}

impl ByHash {
    fn find<'t>(&self, key: &str, key_at: impl Fn(u32) -> Option<Cow<'t, str>>) -> Option<u32> {
        let wanted = (hash(&self.hasher, key), key);
        let is_before =
            |start: &u32| key_at(*start).is_some_and(|found| (hash(&self.hasher, &found), &*found) < wanted);
        let start = *self.starts.get(self.starts.partition_point(is_before))?;
        key_at(start).is_some_and(|found| found == key).then_some(start)
    }
}

/// An index that is being made.
enum Building {
    Few([Span; FEW], usize),
    /// Each number is the hash of a key, and the place where its member begins.
    Many(RandomState, Vec<u64>),
}

impl Building {
    fn push(&mut self, text: &[u8], span: Span, key: &str) {
        match self {
            Self::Few(spans, count) if *count < FEW => {
                spans[*count] = span;
                *count += 1;
            }
            Self::Few(spans, _) => {
                let hasher = RandomState::new();
                let known = spans.iter().filter_map(|span| Some(packed(&hasher, &span.key(text)?, span.start)));
                let mut packed_starts: Vec<_> = known.collect();
                packed_starts.push(packed(&hasher, key, span.start));
                *self = Self::Many(hasher, packed_starts);
            }
            Self::Many(hasher, starts) => starts.push(packed(hasher, key, span.start)),
        }
    }

    fn finish(self, text: &[u8]) -> Result<MemberIndex, ReadError> {
        let key = |start: u32| key_at(text, start).unwrap_or_default();
        match self {
            Self::Few(spans, count) => {
                for (later, span) in spans[..count].iter().enumerate().skip(1) {
                    let key = span.key(text).unwrap_or_default();
                    if spans[..later].iter().any(|earlier| earlier.has_key(text, &key)) {
                        return Err(ReadError::duplicate(&key));
                    }
                }
                Ok(MemberIndex(Order::Few(spans, count)))
            }
            Self::Many(hasher, mut starts) => {
                starts.sort_unstable();
                for same in starts.chunk_by_mut(|one, other| one >> 32 == other >> 32).filter(|same| same.len() > 1) {
                    same.sort_unstable_by_key(|packed| key(start_of(*packed)));
                    if let Some(pair) = same.windows(2).find(|pair| key(start_of(pair[0])) == key(start_of(pair[1]))) {
                        return Err(ReadError::duplicate(&key(start_of(pair[0]))));
                    }
                }
                let starts = starts.into_iter().map(start_of).collect();
                Ok(MemberIndex(Order::Many(Arc::new(ByHash { hasher, starts }))))
            }
        }
    }
}

/// Returns a place in the text as 32 bits, which are enough for it.
fn place(place: usize) -> u32 {
    u32::try_from(place).expect("the length of the text is a u32")
}

fn hash(hasher: &RandomState, key: &str) -> u32 {
    let [a, b, c, d, ..] = hasher.hash_one(key).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn packed(hasher: &RandomState, key: &str, start: u32) -> u64 {
    u64::from(hash(hasher, key)) << 32 | u64::from(start)
}

fn start_of(packed: u64) -> u32 {
    let [a, b, c, d, ..] = packed.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn key_at(text: &[u8], start: u32) -> Option<Cow<'_, str>> {
    key_past(&mut Cursor::new(text, start as usize))
}

/// Returns the key and the value of the member that begins here, and goes past them.
fn member_at<'t>(cursor: &mut Cursor<&'t [u8]>) -> Option<(Cow<'t, str>, &'t RawValue)> {
    let key = key_past(cursor)?;
    cursor.next();
    cursor.peek();
    let start = cursor.place();
    cursor.skip_value()?;
    Some((key, known(cursor.since(start)?)?))
}

/// Returns the key that begins here, and goes past it; `None` in a text that is another than the index was made of.
fn key_past<'t>(cursor: &mut Cursor<&'t [u8]>) -> Option<Cow<'t, str>> {
    let start = cursor.place();
    if cursor.byte() != Some(b'"') {
        return None;
    }
    cursor.skip_string();
    let quoted = cursor.since(start).filter(|quoted| quoted.len() > 1 && quoted.ends_with('"'))?;
    unquoted(quoted).ok()
}

/// The most members that need neither a place of their own nor an order.
const FEW: usize = 4;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn object(count: usize) -> Box<RawValue> {
        let members: Vec<_> =
            (0..count).map(|number| format!("\"k\\u0065y{number}\" : {{\"n\":[{number}, \"}}\"]}}")).collect();
        RawValue::from_string(format!("{{ {} }}", members.join(" ,\n"))).unwrap()
    }

    #[test]
    fn every_member_is_found_by_its_key_and_no_other_is() {
        for count in [0, 1, 2, FEW - 1, FEW, FEW + 1, 100, 5000] {
            let object = object(count);
            let (text, mut seen) = (object.get().as_bytes(), 0);
            let index = MemberIndex::checked(&object, |key, value| {
                assert_eq!((key, &value.get()[..5]), (&*format!("key{seen}"), "{\"n\":"));
                seen += 1;
            });
            let index = index.unwrap();
            assert_eq!((index.len(), index.is_empty(), seen), (count, count == 0, count));
            for (number, (key, value)) in MemberIndex::members(text).enumerate() {
                assert_eq!((&*key, value.get()), (&*format!("key{number}"), &*format!("{{\"n\":[{number}, \"}}\"]}}")));
                assert_eq!(index.find(text, &key).unwrap().get(), value.get());
            }
            assert_eq!(MemberIndex::members(text).count(), count);
            for other in ["", "key", "k\\u0065y0", "key5000", "kez"] {
                assert!(index.find(text, other).is_none(), "{other} of {count}");
            }
        }
    }

    #[test]
    fn keys_are_what_they_mean_however_they_are_spelt() {
        let text = r#"{"a\n": 1, "a\\n" : 2, "a\"b": 3, "a": 4, "\u0061b": 5, "a\\": 6, "": 7}"#;
        let object: Box<RawValue> = serde_json::from_str(text).unwrap();
        let index = MemberIndex::checked(&object, |_, _| {}).unwrap();
        let found = |key| index.find(object.get().as_bytes(), key).map(RawValue::get);
        let expected = ["a\n", "a\\n", "a\"b", "a", "ab", "a\\", ""];
        for (key, value) in expected.into_iter().zip(["1", "2", "3", "4", "5", "6", "7"]) {
            assert_eq!(found(key), Some(value), "{key:?}");
        }
        for other in ["a\"", "a\":", "b", "\\u0061b", "a\\\"b", "\\", "\""] {
            assert_eq!(found(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
        for count in [2, FEW, FEW + 1, 1000] {
            for (first, second) in [(0, count - 1), (count / 2 - 1, count / 2)] {
                let key = |number: usize| if number == second { first } else { number };
                let members: Vec<_> = (0..count).map(|number| format!("\"{}\":{{}}", key(number))).collect();
                let object = RawValue::from_string(format!("{{{}}}", members.join(","))).unwrap();
                let error = MemberIndex::checked(&object, |_, _| {}).unwrap_err();
                assert_eq!(error.to_string(), format!("$.{first}: appears twice in its object"));
            }
        }
    }

    #[test]
    fn a_lookup_among_many_looks_at_few() {
        let object = object(100_000);
        let MemberIndex(Order::Many(many)) = MemberIndex::checked(&object, |_, _| {}).unwrap() else { panic!("many") };
        for key in ["key0", "key99999", "key50000", "other"] {
            let looks = Cell::new(0);
            let found = many.find(key, |start| {
                looks.set(looks.get() + 1);
                key_at(object.get().as_bytes(), start)
            });
            assert_eq!(found.is_some(), key != "other");
            assert!(looks.get() < 20, "{} keys looked at for {key}", looks.get());
        }
        assert_eq!(many.starts.len() * size_of::<u32>(), 400_000, "so many bytes it takes");
    }

    #[test]
    fn text_that_is_none_or_another_gives_nothing_and_does_not_panic() {
        let object = object(20);
        let index = MemberIndex::checked(&object, |_, _| {}).unwrap();
        let few = MemberIndex::checked(&serde_json::from_str::<Box<RawValue>>(r#"{"a":1,"b":2}"#).unwrap(), |_, _| {});
        for other in
            ["", "{", "{}", "{\"key1", "{\"key1\"", "{\"key1\":", "\u{fffd}\u{fffd}\u{fffd}", "[[[[[[[[[[[[[[[["]
        {
            assert!(index.find(other.as_bytes(), "key1").is_none(), "{other}");
            assert!(few.as_ref().unwrap().find(other.as_bytes(), "b").is_none(), "{other}");
            MemberIndex::members(other.as_bytes()).for_each(drop);
        }
    }
}
