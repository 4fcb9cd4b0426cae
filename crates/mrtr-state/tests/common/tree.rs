//! JSON as a tree, and its canonical bytes written down plainly from the table in `docs/STATE_FORMAT.md`.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::BTreeMap;

use hkdf::Hkdf;
use serde_json::value::RawValue;
use sha2::Sha256;

use super::siphash::siphash128;

/// A value: equal when it means the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(Decimal),
    /// A number whose exponent does not fit 64 bits, as it was written.
    Beyond(String),
    Text(String),
    Array(Vec<Tree>),
    Object(BTreeMap<String, Tree>),
}

/// A number: digits without outer zeros, times a power of ten. Zero has the digit 0, no sign and no exponent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decimal {
    pub(crate) negative: bool,
    pub(crate) digits: String,
    pub(crate) exponent: i64,
}

impl Decimal {
    /// Any digits, outer zeros included; `None` if there is no exponent for them.
    pub(crate) fn new(negative: bool, digits: &str, exponent: Option<i64>) -> Option<Self> {
        let significant = digits.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Some(Self { negative: false, digits: "0".into(), exponent: 0 });
        }
        let dropped = i64::try_from(significant.len() - trimmed.len()).unwrap();
        Some(Self { negative, digits: trimmed.into(), exponent: exponent?.checked_add(dropped)? })
    }

    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
        let exponent = exponent.parse::<i64>().ok();
        let shifted = exponent.and_then(|exponent| exponent.checked_sub(i64::try_from(fraction.len()).unwrap()));
        Self::new(whole.starts_with('-'), &digits, shifted)
    }
}

impl Tree {
    /// Reads JSON in which no key stands twice.
    pub(crate) fn parse(json: &RawValue) -> Self {
        let text = json.get();
        match text.as_bytes()[0] {
            b'n' => Self::Null,
            b't' => Self::Bool(true),
            b'f' => Self::Bool(false),
            b'"' => Self::Text(serde_json::from_str(text).unwrap()),
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap();
                Self::Array(elements.into_iter().map(Self::parse).collect())
            }
            b'{' => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
                Self::Object(members.into_iter().map(|(key, value)| (key, Self::parse(value))).collect())
            }
            _ => Decimal::parse(text).map_or_else(|| Self::Beyond(text.to_owned()), Self::Number),
        }
    }

    /// Its canonical bytes.
    pub(crate) fn canonical(&self) -> Vec<u8> {
        match self {
            Self::Null => b"n".to_vec(),
            Self::Bool(true) => b"t".to_vec(),
            Self::Bool(false) => b"f".to_vec(),
            Self::Number(Decimal { negative, digits, exponent }) => {
                format!("d{}{digits}e{exponent};", if *negative { "-" } else { "" }).into_bytes()
            }
            Self::Beyond(text) => format!("x{text};").into_bytes(),
            Self::Text(text) => canonical_text(text),
            Self::Array(elements) => {
                let inner: Vec<u8> = elements.iter().flat_map(Self::canonical).collect();
                [b"[", &*inner, b"]"].concat()
            }
            // A map of strings iterates in the order of their bytes.
            Self::Object(members) => {
                let pairs = members.iter().flat_map(|(key, value)| [canonical_text(key), value.canonical()].concat());
                [b"{", &*pairs.collect::<Vec<u8>>(), b"}"].concat()
            }
        }
    }

    /// The digest of parameters that consist of these members, under a key with this secret.
    pub(crate) fn digest(&self, secret: &[u8]) -> [u8; 16] {
        let mut key = [0; 32];
        Hkdf::<Sha256>::new(Some(b"mrtr-state/1"), secret).expand(b"params", &mut key).unwrap();
        siphash128(key.first_chunk().unwrap(), &self.canonical())
    }
}

fn canonical_text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    [b"s", &length[..], text.as_bytes()].concat()
}
