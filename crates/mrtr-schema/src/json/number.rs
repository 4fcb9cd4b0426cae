//! A JSON number that keeps its value, whatever its size.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Json;
use super::cursor::Cursor;
use crate::error::ReadError;

/// A JSON number, kept as its sender wrote it.
///
/// ```
/// use mrtr_schema::Number;
///
/// let exact = Number::parse("0.30000000000000000001")?;
/// assert_eq!(exact.to_string(), "0.30000000000000000001");
/// assert_eq!(Number::parse("1.50e1")?, Number::from(15));
/// assert_eq!(Number::from(15).as_f64(), 15.0);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone)]
pub struct Number(Box<RawValue>);

impl Number {
    /// Reads a number from JSON text.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::from_raw(serde_json::from_str(text)?)
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Result<Self, ReadError> {
        match raw.get().as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => Ok(Self(raw.to_owned())),
            _ => Err(ReadError::expected("a number", raw)),
        }
    }

    /// The nearest floating-point number.
    pub fn as_f64(&self) -> f64 {
        self.0.get().parse().expect("every JSON number is a Rust float literal")
    }

    /// The integer, if it is one that fits, however it is spelt: `100`, `100.0` and `1e2` are the same.
    ///
    /// ```
    /// use mrtr_schema::Number;
    ///
    /// assert_eq!(Number::parse("1e2")?.as_i64(), Some(100));
    /// assert_eq!(Number::parse("1.5")?.as_i64(), None);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        integer(self.as_str())
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        same_number(self.as_str(), other.as_str())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        Self(number.0)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Json::from(serde_json::Value::from(value)).0)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(Json::from(serde_json::Value::from(value)).0)
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self(Json::from(serde_json::Value::from(value)).0)
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::from(u64::from(value))
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::from(i64::from(value))
    }
}

impl TryFrom<f64> for Number {
    type Error = ReadError;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        let number = serde_json::Number::from_f64(value);
        let number = number.ok_or_else(|| ReadError::refused("JSON has no infinity and no NaN"))?;
        Ok(Self(Json::from(serde_json::Value::from(number)).0))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The integer that a JSON number spells, if it is one and fits.
pub(crate) fn integer<T: FromStr>(text: &str) -> Option<T> {
    if let Ok(integer) = text.parse() {
        return Some(integer);
    }
    let Decimal { negative, digits, exponent } = Decimal::of(text)?;
    let zeros = usize::try_from(exponent).ok().filter(|zeros| *zeros < LONGEST_INTEGER)?;
    let sign = if negative { "-" } else { "" };
    let digits = if digits.is_empty() { "0" } else { &digits };
    format!("{sign}{digits}{}", "0".repeat(zeros)).parse().ok()
}

/// Returns true if two spellings mean the same number.
pub(super) fn same_number(left: &str, right: &str) -> bool {
    left == right || Decimal::of(left).is_some_and(|left| Decimal::of(right) == Some(left))
}

/// `digits × 10^exponent` without leading or trailing zeros: one form for each value.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Returns `None` if the exponent itself is beyond counting; such numbers equal only their own spelling.
    fn of(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let trimmed = digits.trim_end_matches('0');
        let dropped = i64::try_from(digits.len() - trimmed.len()).ok()?;
        let fraction = i64::try_from(fraction.len()).ok()?;
        let digits = trimmed.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { negative: false, digits, exponent: 0 });
        }
        let exponent = exponent.parse::<i64>().ok()?.checked_sub(fraction)?.checked_add(dropped)?;
        Some(Self { negative, digits, exponent })
    }
}

/// A count of digits that no machine integer has.
const LONGEST_INTEGER: usize = 40;

/// Spells every whole number of a value in digits; `None` if each was already.
pub(super) fn in_digits(value: &RawValue) -> Option<Box<RawValue>> {
    let text = value.get();
    let (mut spelt, mut kept, mut cursor) = (String::new(), 0, Cursor::new(text, 0));
    while let Some(byte) = cursor.byte() {
        let start = cursor.place();
        match byte {
            b'"' => drop::<bool>(cursor.skip_string()),
            b'-' | b'0'..=b'9' => cursor.skip_word(),
            _ => cursor.advance(),
        }
        if let Some(whole) = cursor.since(start).and_then(whole) {
            spelt.push_str(&text[kept..start]);
            spelt.push_str(&whole.to_string());
            kept = cursor.place();
        }
    }
    if kept == 0 {
        return None;
    }
    spelt.push_str(&text[kept..]);
    RawValue::from_string(spelt).ok()
}

/// The integer that a token is, if it is a number with a point or an exponent.
fn whole(token: &str) -> Option<i128> {
    let is_number = token.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if is_number && token.contains(['.', 'e', 'E']) { integer(token) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(text: &str) -> Option<String> {
        let raw = serde_json::from_str(text).expect("JSON");
        in_digits(raw).map(|raw| raw.get().to_owned())
    }

    #[test]
    fn whole_numbers_are_spelt_in_digits_and_nothing_else_changes() {
        let text = r#"{"a.0": [1.0, -2.50e1, 1.5, 3], "b": "1.0 \" 2.0", "\\": 4E0, "c": -0.0, "d": 1e99}"#;
        let expected = r#"{"a.0": [1, -25, 1.5, 3], "b": "1.0 \" 2.0", "\\": 4, "c": 0, "d": 1e99}"#;
        assert_eq!(spelt(text).as_deref(), Some(expected));
        assert_eq!(spelt("7.0").as_deref(), Some("7"));
        for unchanged in [r#"{"a": 1, "b": 1.5}"#, r#""1.0""#, "[]", "true", "-1", r#"["é 1.0"]"#] {
            assert_eq!(spelt(unchanged), None);
        }
    }
}
