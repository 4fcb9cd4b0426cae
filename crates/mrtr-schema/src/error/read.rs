//! Errors of reading a message, each with the path to the value at fault.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::limits::MOST_MEMBERS;
use crate::printable::Printable;

/// The reason why JSON could not be read as a wire type: the path to the offending member, and what is wrong there.
///
/// The peer that sent the message is to blame.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::tools::CallToolParams;
///
/// let error = CallToolParams::from_json(r#"{"name": 7}"#, Revision::Sep2322.strict()).unwrap_err();
/// assert_eq!(error.to_string(), "$.name: expected a string, found a number");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ReadError {
    path: JsonPath,
    problem: Problem,
}

/// The problem at a path.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::error::Problem;
/// use mrtr_schema::roots::Root;
///
/// let error = Root::from_json(r#"{"name": "Sources"}"#, Revision::V2026_07_28.strict()).unwrap_err();
/// assert_eq!(error.problem(), &Problem::Missing);
/// assert_eq!(error.to_string(), "$.uri: required, but absent");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not JSON.
    NotJson(String),
    /// A required member is absent.
    Missing,
    /// An object has the same key twice.
    Duplicate,
    /// Another kind of JSON value was expected.
    Mismatch {
        /// The kind of value that the type needs here, in words.
        expected: &'static str,
        /// The kind of value that stands here, in words.
        found: &'static str,
    },
    /// The value is of the right kind but not an allowed one.
    Refused(String),
}

impl ReadError {
    /// Makes an error at the value itself; [`in_member`](Self::in_member) and [`in_element`](Self::in_element) add the
    /// path.
    pub fn new(problem: Problem) -> Self {
        let problem = match problem {
            Problem::NotJson(reason) => Problem::NotJson(shortened(&reason, LONGEST_REASON)),
            Problem::Refused(reason) => Problem::Refused(shortened(&reason, LONGEST_REASON)),
            other => other,
        };
        Self { path: JsonPath::default(), problem }
    }

    /// A required member is absent.
    pub fn missing(key: &'static str) -> Self {
        Self::new(Problem::Missing).in_member(key)
    }

    /// The value is of the right kind but not an allowed one.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::new(Problem::Refused(reason.into()))
    }

    pub(crate) fn expected(expected: &'static str, found: &RawValue) -> Self {
        Self::new(Problem::Mismatch { expected, found: kind(found) })
    }

    #[cold]
    pub(crate) fn too_many(found: usize) -> Self {
        Self::refused(format!("has {found} members; at most {MOST_MEMBERS} are allowed"))
    }

    pub(crate) fn not_one_of(found: &str, allowed: &[&str]) -> Self {
        Self::refused(format!("`{}` is not one of {}", quoted(found), allowed.join(", ")))
    }

    pub(crate) fn duplicate(key: &str) -> Self {
        Self::new(Problem::Duplicate).in_member(key.to_owned())
    }

    /// Puts the member `key` in front of the error's path, for an error from the value of that member.
    ///
    /// ```
    /// use mrtr_schema::ReadError;
    ///
    /// let error = ReadError::refused("too small").in_member("amount").in_element(2).in_member("lines");
    /// assert_eq!(error.to_string(), "$.lines[2].amount: too small");
    /// ```
    #[must_use]
    pub fn in_member(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        let key = match key.into() {
            Cow::Owned(key) => Cow::Owned(quoted(&key)), // a key that is not ours is the peer's
            ours @ Cow::Borrowed(_) => ours,
        };
        self.path.0.push(Segment::Member(key));
        self
    }

    /// Puts the element at `index` in front of the error's path, for an error from that element.
    #[must_use]
    pub fn in_element(mut self, index: usize) -> Self {
        self.path.0.push(Segment::Element(index));
        self
    }

    /// The path in the message.
    pub fn path(&self) -> &JsonPath {
        &self.path
    }

    /// The problem at that path.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Problem::NotJson(error.to_string()))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(reason) => write!(f, "not JSON: {reason}"),
            Self::Missing => f.write_str("required, but absent"),
            Self::Duplicate => f.write_str("appears twice in its object"),
            Self::Mismatch { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Refused(reason) => f.write_str(reason),
        }
    }
}

/// A path from the root of a message to one of its values, such as `$.params.content[0].type`.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::roots::ListRootsResult;
///
/// let roots = r#"{"roots": [{"uri": "file:///src"}, {"uri": null}]}"#;
/// let error = ListRootsResult::from_json(roots, Revision::V2026_07_28.strict()).unwrap_err();
/// assert_eq!(error.path().to_string(), "$.roots[1].uri");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonPath(Vec<Segment>); // innermost first: errors travel outwards

impl JsonPath {
    /// Reads the path that a JSON pointer (RFC 6901) spells; a number is taken for the index of an element.
    ///
    /// ```
    /// assert_eq!(mrtr_schema::error::JsonPath::from_pointer("/content/0/a~1b").to_string(), r#"$.content[0]["a/b"]"#);
    /// ```
    pub fn from_pointer(pointer: &str) -> Self {
        let segment = |text: &str| match text.parse() {
            Ok(index) => Segment::Element(index),
            Err(_) => Segment::Member(text.replace("~1", "/").replace("~0", "~").into()),
        };
        Self(pointer.split('/').skip(1).map(segment).collect::<Vec<_>>().into_iter().rev().collect())
    }

    /// The path of a member of the root.
    #[cfg(feature = "validate")]
    pub(crate) fn of_member(key: &str) -> Self {
        Self(vec![Segment::Member(key.to_owned().into())])
    }

    /// Returns the member of the root that the path leads into.
    #[cfg(feature = "validate")]
    pub(crate) fn root_member(&self) -> Option<Cow<'_, str>> {
        Some(match self.0.last()? {
            Segment::Member(key) => Cow::Borrowed(&**key),
            Segment::Element(index) => Cow::Owned(index.to_string()),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Member(Cow<'static, str>),
    Element(usize),
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for segment in self.0.iter().rev() {
            match segment {
                Segment::Member(key) if is_plain(key) => write!(f, ".{key}")?,
                Segment::Member(key) => write!(f, "[{key:?}]")?,
                Segment::Element(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Quotes a peer's text in an error, but not at any length.
pub(crate) fn quoted(text: &str) -> String {
    shortened(text, LONGEST_QUOTE)
}

/// The text as it may be shown, or its beginning and a sign that there was more.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    Printable::line(text).up_to(longest).into_text().into_owned()
}

pub(crate) const LONGEST_REASON: usize = 400;

const LONGEST_QUOTE: usize = 64;
