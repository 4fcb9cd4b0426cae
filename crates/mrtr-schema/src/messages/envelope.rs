//! Takes a message apart in one borrowing pass: its kind, and the raw parts that owned types are read from.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{LONGEST_REASON, ReadError, shortened};
use crate::json::{Key as Text, MemberIndex, PlainScanner, RawMembers};
use crate::limits::MOST_MEMBERS;
use crate::revision::{Dialect, Revision};
use crate::types::error_object::ErrorCode;
use crate::types::request_id::RequestId;
use crate::wire::{Wire, WireObject};

/// A JSON-RPC message, borrowed from the bytes it came in.
///
/// ```
/// use mrtr_schema::{Envelope, Revision};
/// use mrtr_schema::tools::CallToolParams;
///
/// let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_time"}}"#;
/// let Envelope::Request { id, method, params } = Envelope::parse(bytes)? else { panic!("a request") };
/// assert_eq!((id, &*method), (1.into(), "tools/call"));
/// assert_eq!(params.text("name").unwrap().as_deref(), Some("get_time"));
/// let owned: CallToolParams = params.read(Revision::Sep2322.strict()).unwrap();
/// assert_eq!(owned.name, "get_time");
/// # Ok::<(), mrtr_schema::EnvelopeError>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has these four")]
pub enum Envelope<'a> {
    /// The peer wants something done, and a response.
    Request {
        /// The id that the response will carry.
        id: RequestId,
        /// The name of the request's method.
        method: Cow<'a, str>,
        /// The parameters of the request.
        params: RawParams<'a>,
    },
    /// The peer says something, and wants no response.
    Notification {
        /// The name of the notification's method.
        method: Cow<'a, str>,
        /// The parameters of the notification.
        params: RawParams<'a>,
    },
    /// The result of a request.
    Result {
        /// The request's id.
        id: RequestId,
        /// The result.
        result: &'a RawValue,
    },
    /// The error that a request ended in.
    Error {
        /// The request's id; absent where it could not be read.
        id: Option<RequestId>,
        /// The error.
        error: &'a RawValue,
    },
}

impl<'a> Envelope<'a> {
    /// Takes a message apart, in one pass.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, EnvelopeError> {
        let text = std::str::from_utf8(bytes).map_err(|error| EnvelopeError::NotJson(error.to_string()))?;
        match Outline::plain(text) {
            Some(outline) => outline.classify(),
            None => Self::parse_any(text),
        }
    }

    fn parse_any(text: &'a str) -> Result<Self, EnvelopeError> {
        match serde_json::from_str::<Outline<'a>>(text) {
            Ok(outline) => outline.classify(),
            Err(error) => Err(EnvelopeError::of(&error, text)),
        }
    }
}

/// The parameters of a message: the members of an object, each value still raw.
///
/// ```
/// use mrtr_schema::Envelope;
///
/// let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7,"_meta":{"a":1}}}"#;
/// let Envelope::Request { params, .. } = Envelope::parse(bytes)? else { panic!("a request") };
/// assert_eq!(params.text("name").unwrap_err().to_string(), "$.name: expected a string, found a number");
/// assert_eq!(params.meta().unwrap().unwrap().get("a").unwrap().get(), "1");
/// # Ok::<(), mrtr_schema::EnvelopeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RawParams<'a>(pub(super) RawMembers<'a>);

impl<'a> RawParams<'a> {
    /// Reads the parameters as an owned type.
    pub fn read<T: WireObject>(self, dialect: Dialect) -> Result<T, ReadError> {
        T::read_members(self.0, dialect)
    }

    /// The raw value under a key.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key)
    }

    /// Returns the text under a key, such as the `name` of a tool, the `uri` of a resource or the `requestState`.
    pub fn text(&self, key: &'static str) -> Result<Option<Cow<'a, str>>, ReadError> {
        self.0.text(key)
    }

    /// The members of the object under a key, such as `inputResponses`.
    pub fn object(&self, key: &'static str) -> Result<Option<RawMembers<'a>>, ReadError> {
        self.0.object(key)
    }

    /// Returns the object under a key, and the places of its members. In the same pass it checks each value, as
    /// [`check_values`](Self::check_values) does, and shows it to `see`.
    ///
    /// ```
    /// use mrtr_schema::Envelope;
    ///
    /// let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":{"a":{"b":1,"b":2}}}}"#;
    /// let Envelope::Request { params, .. } = Envelope::parse(bytes)? else { panic!("a request") };
    /// let error = params.indexed_object("inputResponses", |_, _| {}).unwrap_err();
    /// assert_eq!(error.to_string(), "$.inputResponses.a.b: appears twice in its object");
    /// # Ok::<(), mrtr_schema::EnvelopeError>(())
    /// ```
    pub fn indexed_object(
        &self,
        key: &'static str,
        see: impl FnMut(&str, &RawValue),
    ) -> Result<Option<(&'a RawValue, MemberIndex)>, ReadError> {
        let Some(object) = self.get(key) else { return Ok(None) };
        let index = MemberIndex::checked(object, see).and_then(|index| {
            if index.len() > MOST_MEMBERS { Err(ReadError::too_many(index.len())) } else { Ok(index) }
        });
        Ok(Some((object, index.map_err(|error| error.in_member(key))?)))
    }

    /// The members of `_meta`.
    pub fn meta(&self) -> Result<Option<RawMembers<'a>>, ReadError> {
        self.object("_meta")
    }

    /// All members, in order.
    pub fn members(&self) -> &RawMembers<'a> {
        &self.0
    }

    /// Checks that all readers understand the values alike: no key stands twice in an object, every string is text, and
    /// nothing is nested too deeply. Leaves out values under the keys `read_elsewhere`, for a caller that reads those
    /// as types: reading a value as a type of this crate checks all of it too.
    ///
    /// ```
    /// use mrtr_schema::Envelope;
    ///
    /// let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":[{"a":1,"a":2}]}}"#;
    /// let Envelope::Request { params, .. } = Envelope::parse(bytes)? else { panic!("a request") };
    /// assert_eq!(params.check_values(&["_meta"]).unwrap_err().to_string(), "$.x[0].a: appears twice in its object");
    /// assert!(params.check_values(&["_meta", "x"]).is_ok());
    /// # Ok::<(), mrtr_schema::EnvelopeError>(())
    /// ```
    pub fn check_values(&self, read_elsewhere: &[&str]) -> Result<(), ReadError> {
        self.0.check_values(read_elsewhere)
    }
}

/// The reason why bytes are not a message. The sender is to blame.
///
/// ```
/// use mrtr_schema::{Envelope, ErrorCode};
///
/// assert_eq!(Envelope::parse(b"{").unwrap_err().code(), ErrorCode::PARSE_ERROR);
/// let error = Envelope::parse(br#"{"id": 7, "method": "ping"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "not a message: `jsonrpc` is not \"2.0\"");
/// assert_eq!(error.id(), Some(&7.into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The bytes are not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The JSON is not a JSON-RPC message, or is a batch of them.
    #[error("not a message: {reason}")]
    NotAMessage {
        /// The id, where it could be read: the error has to carry it.
        id: Option<RequestId>,
        /// The reason for the refusal.
        reason: String,
    },
}

impl EnvelopeError {
    /// Returns the error code that the sender is to get.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotJson(_) => ErrorCode::PARSE_ERROR,
            Self::NotAMessage { .. } => ErrorCode::INVALID_REQUEST,
        }
    }

    /// The id that the error is to carry.
    pub fn id(&self) -> Option<&RequestId> {
        match self {
            Self::NotJson(_) => None,
            Self::NotAMessage { id, .. } => id.as_ref(),
        }
    }

    /// Looks again, now that something is known to be wrong: tells if the text is JSON, and finds its id.
    fn of(error: &serde_json::Error, text: &str) -> Self {
        if let Err(error) = serde_json::from_str::<&RawValue>(text) {
            return Self::NotJson(error.to_string());
        }
        let members = RawMembers::parse(text).ok();
        let id = members.and_then(|members| read_id(members.get("id")?).ok());
        let reason =
            if text.trim_start().starts_with('[') { "batches are not supported".to_owned() } else { error.to_string() };
        Self::NotAMessage { id, reason: shortened(&reason, LONGEST_REASON) }
    }
}

fn read_id(value: &RawValue) -> Result<RequestId, ReadError> {
    let id = RequestId::read(value, Revision::default().strict())?;
    if id.is_too_long() {
        Err(ReadError::refused(format!("longer than {} bytes", RequestId::MAX_BYTES)))
    } else {
        Ok(id)
    }
}

/// The members of a message that say what it is.
#[derive(Default)]
struct Outline<'a> {
    version: Option<Cow<'a, str>>,
    id: Option<&'a RawValue>,
    method: Option<Cow<'a, str>>,
    params: Option<RawParams<'a>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// Members that a message does not have. They mean nothing, but must not mean two things either.
    others: Option<Box<RawMembers<'a>>>,
}

impl<'a> Outline<'a> {
    /// Reads a request or notification that is plainly spelt, as nearly all are; `None` leaves it to the parser.
    fn plain(text: &'a str) -> Option<Self> {
        let (mut scanner, mut outline) = (PlainScanner::new(text)?, Self::default());
        scanner.members(|key, scanner| match key {
            "jsonrpc" => fill_once(&mut outline.version, Cow::Borrowed(scanner.string()?)),
            "id" => fill_once(&mut outline.id, scanner.value()?),
            "method" => fill_once(&mut outline.method, Cow::Borrowed(scanner.string()?)),
            "params" => {
                let mut members = RawMembers::usual();
                scanner.members(|key, scanner| {
                    members.push(Cow::Borrowed(key), scanner.value()?);
                    Some(())
                })?;
                fill_once(&mut outline.params, RawParams(members))
            }
            _ => None,
        })?;
        scanner.skip_to_end().then_some(outline)
    }

    fn classify(self) -> Result<Envelope<'a>, EnvelopeError> {
        // JSON-RPC itself has an error answer `null` where it could not read the request's id.
        let unreadable = self.error.is_some() && self.id.is_some_and(|id| id.get() == "null");
        let id = self.id.filter(|_| !unreadable).map(read_id).transpose();
        let refuse = |reason: &str| EnvelopeError::NotAMessage {
            id: id.as_ref().ok().cloned().flatten(),
            reason: shortened(reason, LONGEST_REASON),
        };
        if self.version.as_deref() != Some("2.0") {
            return Err(refuse("`jsonrpc` is not \"2.0\""));
        }
        if let Some(key) = self.params.as_ref().and_then(|params| params.0.duplicate()) {
            return Err(refuse(&format!("`{key}` appears twice in `params`")));
        }
        if let Some(Err(error)) = self.others.as_ref().map(|others| others.check_all()) {
            return Err(refuse(&error.to_string()));
        }
        let params = self.params.unwrap_or_default();
        match (id.clone(), self.method, self.result, self.error) {
            (Err(error), ..) => Err(refuse(&format!("`id`: {error}"))),
            (Ok(Some(id)), Some(method), None, None) => Ok(Envelope::Request { id, method, params }),
            (Ok(None), Some(method), None, None) => Ok(Envelope::Notification { method, params }),
            (Ok(Some(id)), None, Some(result), None) => Ok(Envelope::Result { id, result }),
            (Ok(id), None, None, Some(error)) => Ok(Envelope::Error { id, error }),
            _ => Err(refuse("exactly one of `method`, `result` and `error` is required, and a result needs an `id`")),
        }
    }
}

impl<'de> Deserialize<'de> for Outline<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OutlineVisitor;

        impl<'de> Visitor<'de> for OutlineVisitor {
            type Value = Outline<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut outline = Outline::default();
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        "jsonrpc" => fill(&mut outline.version, "jsonrpc", map.next_value::<Text<'de>>()?.0)?,
                        "id" => fill(&mut outline.id, "id", map.next_value()?)?,
                        "method" => fill(&mut outline.method, "method", map.next_value::<Text<'de>>()?.0)?,
                        "params" => fill(&mut outline.params, "params", RawParams(map.next_value()?))?,
                        "result" => fill(&mut outline.result, "result", map.next_value()?)?,
                        "error" => fill(&mut outline.error, "error", map.next_value()?)?,
                        _ => outline.others.get_or_insert_default().push(key, map.next_value()?),
                    }
                }
                Ok(outline)
            }
        }

        deserializer.deserialize_map(OutlineVisitor)
    }
}

fn fill_once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// Fills the place of a member, which may stand only once.
fn fill<T, E: Error>(place: &mut Option<T>, key: &'static str, value: T) -> Result<(), E> {
    if place.replace(value).is_some() { Err(E::duplicate_field(key)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bits of messages, of which many orders are JSON and more are nearly so.
    fn any_text() -> impl Strategy<Value = String> {
        let bits = [
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            " ",
            "\"",
            "{}",
            "[]",
            "\"\"",
            "1",
            "-0",
            "01",
            "1.5e+3",
            "1.",
            "-",
            "2E",
            "true",
            "nul",
            "null",
            "false",
            "\"é\"",
            "\"\\u0061\"",
            "\\",
            "\t",
            "\u{1}",
            "\"a\":1",
            "\"a\":",
            "\"id\":1",
            "\"id\":\"x\"",
            "\"jsonrpc\":\"2.0\"",
            "\"method\":\"m\"",
            "\"params\":{",
            "\"params\":",
            "\"result\":{}",
            "\"error\":{}",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":{",
        ];
        prop::collection::vec(prop::sample::select(bits.to_vec()), 0..14).prop_map(|bits| bits.concat())
    }

    /// A value, well formed but for what was left out of it and put into it.
    fn any_params() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec!["1", "-0.5e-7", "null", "true", "\"{\"", "\"\"", "{}", "[ ]", "0"]);
        let value = leaf.prop_map(ToOwned::to_owned).prop_recursive(8, 40, 4, |inner| {
            let member = (prop::sample::select(vec!["a", "b", "c,}", ""]), inner.clone());
            let member = member.prop_map(|(key, value)| format!("\"{key}\" : {value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|elements| format!("[{}]", elements.join(" , "))),
                prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
            ]
        });
        let change =
            prop::option::of((any::<prop::sample::Index>(), prop::sample::select(vec!["", ",", "]", "}", "0"])));
        (value, change).prop_map(|(value, change)| {
            let mut text =
                format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "m", "params": {{"x": {value}, "y":[]}}}}"#);
            if let Some((place, put)) = change {
                let place = place.index(text.len());
                text.replace_range(place..=place, put);
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn what_is_read_by_hand_is_what_the_parser_reads(text in prop_oneof![any_text(), any_params()]) {
            if let Some(plain) = Outline::plain(&text) {
                let (plain, parsed) = (plain.classify(), Envelope::parse_any(&text));
                prop_assert_eq!(format!("{plain:?}"), format!("{parsed:?}"), "{}", text);
            }
        }
    }

    #[test]
    fn a_usual_message_is_read_by_hand_and_an_odd_one_is_not() {
        let usual = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"é","arguments":{"a":[1,{}]}}}"#;
        assert!(Outline::plain(usual).is_some());
        for odd in [r#"{"a":"\n"}"#, "{\"jsonrpc\":\n\"2.0\"}", r#"{"id":1,"id":1}"#, r#"{"result":{}}"#, "[]", "{} {}"]
        {
            assert!(Outline::plain(odd).is_none(), "{odd}");
        }
        let deep = |depth| format!(r#"{{"params":{{"a":{}{}}}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(Outline::plain(&deep(64)).is_some() && Outline::plain(&deep(65)).is_none());
    }
}
