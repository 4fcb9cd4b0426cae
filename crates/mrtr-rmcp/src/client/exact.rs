//! Parameters as the values that rmcp sends, with every number as it was: one that rmcp cannot keep is refused.

use std::fmt;

use mrtr_schema::{Number, RawMembers, ReadError};
use serde_json::Value;
use serde_json::value::RawValue;

/// Why parameters cannot go through rmcp.
#[derive(Debug)]
pub(super) enum Inexact {
    /// rmcp's types would change this number.
    Number(String),
    /// A key stands twice in an object, of which rmcp would send the last; or it is no JSON at all.
    Read(ReadError),
    Deep,
}

/// Reads JSON as rmcp's requests hold it. `serde_json` would round numbers in it, and say nothing.
pub(super) fn value(raw: &RawValue) -> Result<Value, Inexact> {
    nested(raw, MAX_DEPTH)
}

fn nested(raw: &RawValue, depth: usize) -> Result<Value, Inexact> {
    let depth = depth.checked_sub(1).ok_or(Inexact::Deep)?;
    match raw.get().as_bytes().first() {
        Some(b'{') => {
            let members = RawMembers::of(raw).map_err(Inexact::Read)?;
            members.iter().map(|(key, raw)| Ok((key.to_owned(), nested(raw, depth)?))).collect()
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(unread)?;
            elements.into_iter().map(|raw| nested(raw, depth)).collect()
        }
        Some(b'-' | b'0'..=b'9') => number(raw.get()).ok_or_else(|| Inexact::Number(raw.get().to_owned())),
        _ => serde_json::from_str(raw.get()).map_err(unread),
    }
}

/// The number, if it has the same value there and an integer is still written as one.
fn number(text: &str) -> Option<Value> {
    if !text.contains(['.', 'e', 'E']) {
        return text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok();
    }
    // Not read by `serde_json`, which may miss the nearest one.
    let nearest = serde_json::Number::from_f64(text.parse().ok()?)?;
    let is_same = Number::parse(&nearest.to_string()).ok()? == Number::parse(text).ok()?;
    is_same.then(|| nearest.into())
}

fn unread(error: serde_json::Error) -> Inexact {
    Inexact::Read(error.into())
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(
                f,
                "rmcp cannot send the number {number} without changing it, since it keeps integers and floats of 64 bits: \
                 send it as a string, or call through a transport of mrtr's own"
            ),
            Self::Read(error) => write!(f, "rmcp cannot send the parameters as they are: {error}"),
            Self::Deep => write!(f, "rmcp cannot send parameters that are nested more than {MAX_DEPTH} deep"),
        }
    }
}

impl std::error::Error for Inexact {}

/// As deep as `serde_json` reads, with which rmcp reads at the other end.
const MAX_DEPTH: usize = 127;
