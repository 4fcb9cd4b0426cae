//! JSON kept as its sender wrote it: free-form values, objects and numbers that lose nothing.
//!
//! Free-form parts of a message (arguments, structured content, unknown members) are held as text. That keeps every
//! number's value, costs nothing until a caller looks, and goes out as it came in.

mod cursor;
mod index;
mod number;
mod plain;
mod split;
mod unique;

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

pub use index::MemberIndex;
pub use number::Number;
pub(crate) use number::integer;
use number::same_number;
pub(crate) use plain::PlainScanner;
pub use split::RawMembers;
pub(crate) use split::{Key, MemberSpans, elements, text};

use crate::error::ReadError;
use crate::printable::Printable;

/// Any JSON value, kept as text.
///
/// Two values are equal when they mean the same: spacing, the order of keys and the spelling of strings and numbers
/// aside.
///
/// ```
/// use mrtr_schema::Json;
///
/// let value = Json::parse(r#"{"big": 123456789012345678901234567890, "small": 0.10}"#)?;
/// assert_eq!(value.as_str(), r#"{"big": 123456789012345678901234567890, "small": 0.10}"#);
/// assert_eq!(value, Json::parse(r#"{"small":0.1,"big":123456789012345678901234567890}"#)?);
/// assert!(Json::parse(r#"{"a": 1, "a": 2}"#).is_err(), "duplicate keys are refused");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Makes a raw value of text that is known to be JSON, because it was read as JSON before: it is not checked again.
    ///
    /// Other text gives a raw value that is not JSON, or `None`.
    ///
    /// ```
    /// use mrtr_schema::Json;
    ///
    /// let kept = Json::parse(r#"{"action": "accept"}"#)?.as_str().to_owned();
    /// assert_eq!(Json::known(&kept).unwrap().get(), kept);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn known(text: &str) -> Option<&RawValue> {
        cursor::known(text)
    }

    /// Spells every whole number of the value in digits; `None` if each is already.
    ///
    /// JSON Schema takes `1.0` and `1e2` for integers. serde does not, so that a value that a schema has accepted is
    /// spelt anew where serde refuses it.
    ///
    /// ```
    /// use mrtr_schema::Json;
    ///
    /// let sent = Json::parse(r#"{"copies": 2.0, "scale": 1.5}"#)?;
    /// assert_eq!(Json::in_digits(sent.as_raw()).unwrap().get(), r#"{"copies": 2, "scale": 1.5}"#);
    /// assert!(Json::in_digits(Json::parse("[2, 1.5]")?.as_raw()).is_none());
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn in_digits(value: &RawValue) -> Option<Box<RawValue>> {
        number::in_digits(value)
    }

    /// Reads one JSON value from text.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::from_raw(serde_json::from_str(text)?)
    }

    /// Takes over a raw value, after checking that it holds no duplicate key and is not nested too deeply.
    pub fn from_raw(raw: &RawValue) -> Result<Self, ReadError> {
        unique::check(raw)?;
        Ok(Self(raw.to_owned()))
    }

    /// Writes a Rust value as JSON.
    ///
    /// ```
    /// use mrtr_schema::Json;
    ///
    /// assert_eq!(Json::of(&[1, 2, 3]).unwrap().as_str(), "[1,2,3]");
    /// ```
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, ReadError> {
        Self::from_raw(&serde_json::value::to_raw_value(value)?)
    }

    /// Reads it as a Rust type.
    ///
    /// ```
    /// use mrtr_schema::Json;
    ///
    /// assert_eq!(Json::parse("[1, 2, 3]")?.to::<Vec<u8>>().unwrap(), [1, 2, 3]);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The raw value.
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// The object, if it is one.
    ///
    /// ```
    /// use mrtr_schema::Json;
    ///
    /// assert!(Json::parse("{}")?.into_object().is_some());
    /// assert!(Json::parse("[]")?.into_object().is_none());
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn into_object(self) -> Option<JsonObject> {
        self.as_str().starts_with('{').then_some(JsonObject(self))
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        text(&self.0).ok()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

/// Writes the JSON text as it came. A peer's text may act on a terminal: show a person the `Debug` form instead.
///
/// ```
/// use mrtr_schema::Json;
///
/// assert_eq!(Json::parse(r#"{"n": 1.50}"#)?.to_string(), r#"{"n": 1.50}"#);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Shows the text, with nothing in it that acts on a terminal.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable::text(self.as_str()).up_to(usize::MAX).fmt(f)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        let raw = serde_json::value::to_raw_value(&value).expect("a Value is JSON: its keys are unique strings");
        Self(raw)
    }
}

/// A free-form JSON object, kept as text.
///
/// ```
/// use mrtr_schema::JsonObject;
///
/// let arguments = JsonObject::parse(r#"{"location": "New York", "days": 3}"#)?;
/// assert_eq!(arguments.get("location").unwrap().as_text().unwrap(), "New York");
/// assert!(JsonObject::parse("[]").is_err());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JsonObject(Json);

impl JsonObject {
    /// Reads one JSON object from text.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::from_raw(serde_json::from_str(text)?)
    }

    /// Takes over a raw value, if it is an object.
    pub fn from_raw(raw: &RawValue) -> Result<Self, ReadError> {
        if !raw.get().starts_with('{') {
            return Err(ReadError::expected("an object", raw));
        }
        Json::from_raw(raw).map(Self)
    }

    /// Writes a Rust value as JSON, which must make an object.
    ///
    /// ```
    /// use mrtr_schema::JsonObject;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Place {
    ///     city: &'static str,
    /// }
    ///
    /// assert_eq!(JsonObject::of(&Place { city: "Paris" })?.as_str(), r#"{"city":"Paris"}"#);
    /// assert!(JsonObject::of("Paris").is_err());
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, ReadError> {
        Self::from_raw(&serde_json::value::to_raw_value(value)?)
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<Json> {
        // The whole object was checked, and with it every part.
        RawMembers::of(self.0.as_raw()).ok()?.get(key).map(|raw| Json(raw.to_owned()))
    }

    /// Reads it as a Rust type.
    ///
    /// ```
    /// use mrtr_schema::JsonObject;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Place {
    ///     city: String,
    /// }
    ///
    /// let arguments = JsonObject::parse(r#"{"city": "Paris"}"#)?;
    /// assert_eq!(arguments.to::<Place>().unwrap().city, "Paris");
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.0.to()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The raw value.
    pub fn as_raw(&self) -> &RawValue {
        self.0.as_raw()
    }
}

impl Default for JsonObject {
    fn default() -> Self {
        Self(Json::from(serde_json::Value::Object(serde_json::Map::new())))
    }
}

impl From<serde_json::Map<String, serde_json::Value>> for JsonObject {
    fn from(map: serde_json::Map<String, serde_json::Value>) -> Self {
        Self(Json::from(serde_json::Value::Object(map)))
    }
}

impl From<JsonObject> for Json {
    fn from(object: JsonObject) -> Self {
        object.0
    }
}

/// Members of an object that its type does not name: kept, and written back as they came (TY-8).
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::roots::Root;
///
/// let root = Root::from_json(r#"{"uri": "file:///src", "x-colour": "red"}"#, Revision::V2026_07_28.strict())?;
/// assert_eq!(root.extra.get("x-colour").unwrap().as_text().unwrap(), "red");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Members(
    /// The map is never empty. Nearly every type has such members and nearly no value does, so that they take one word.
    pub(crate) Option<Box<IndexMap<String, Json>>>,
);

impl Members {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.as_ref()?.get(key)
    }

    /// Puts a value under a key, in place of the one that was there.
    ///
    /// ```
    /// use mrtr_schema::Json;
    /// use mrtr_schema::roots::Root;
    ///
    /// let mut root = Root::new("file:///src");
    /// root.extra.set("x-colour", Json::of("red").unwrap());
    /// root.extra.set("uri", Json::of("file:///etc").unwrap());
    /// let text = serde_json::to_string(&root)?;
    /// assert_eq!(text, r#"{"uri":"file:///src","x-colour":"red"}"#, "what the type names is not overridden");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        self.0.get_or_insert_default().insert(key.into(), value.into());
    }

    /// Keys and values, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().flat_map(|members| members.iter()).map(|(key, value)| (key.as_str(), value))
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the members whose keys are not `taken`, so that no object is written with a key twice.
    pub(crate) fn write_into<M: SerializeMap>(
        &self,
        map: &mut M,
        taken: impl Fn(&str) -> bool,
    ) -> Result<(), M::Error> {
        let mut free = self.iter().filter(|(key, _)| !taken(key));
        free.try_for_each(|(key, value)| map.serialize_entry(key, value))
    }
}

impl FromIterator<(String, Json)> for Members {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        let mut members = members.into_iter().peekable();
        Self(members.peek().is_some().then(|| Box::new(members.collect())))
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Returns true if two texts mean the same. Spacing, the order of keys, and the spelling of strings and numbers do not
/// matter.
///
/// Recurses as deep as the values are nested: the depth of a value that was read is bounded, and a value that was built
/// was built by recursion.
pub(super) fn same(left: &RawValue, right: &RawValue) -> bool {
    if left.get() == right.get() {
        return true;
    }
    match (left.get().as_bytes().first(), right.get().as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => same_object(left, right),
        (Some(b'['), Some(b'[')) => same_array(left, right),
        (Some(b'"'), Some(b'"')) => text(left).is_ok_and(|left| text(right).is_ok_and(|right| left == right)),
        (Some(b'-' | b'0'..=b'9'), Some(b'-' | b'0'..=b'9')) => same_number(left.get(), right.get()),
        _ => false,
    }
}

fn same_object(left: &RawValue, right: &RawValue) -> bool {
    let (Ok(left), Ok(right)) = (RawMembers::of(left), RawMembers::of(right)) else { return false };
    let (left, right) = (by_key(&left), by_key(&right));
    left.len() == right.len()
        && left.iter().zip(&right).all(|((key, value), (other, second))| key == other && same(value, second))
}

fn by_key<'a>(members: &'a RawMembers<'a>) -> Vec<(&'a str, &'a RawValue)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    members
}

fn same_array(left: &RawValue, right: &RawValue) -> bool {
    let (Ok(left), Ok(right)) = (elements(left), elements(right)) else { return false };
    left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| same(left, right))
}
