//! The digest of a request, against a hash of its text and against a generic canonicaliser.

use std::collections::BTreeMap;
use std::hint::black_box;

use mrtr_schema::RawMembers;
use mrtr_state::{Key, ParamsDigest, ParamsKey};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{PARAMS, params};
use crate::Scale;
use crate::measure::compare;
use crate::report::{Figure, Target};

pub(super) fn figures(scale: Scale) -> [Figure; 2] {
    let (params, key) = (params(), ParamsKey::of(&Key::new("2026-11", [7; 32]).expect("long enough")));
    let what = format!("digest of {} B of params", PARAMS.len());
    [
        compare(scale, hash_of_text, || ParamsDigest::of(&params, &key)).figure(
            &*what,
            "against SHA-256 of the text",
            Some(Target::AtMost(4.0)),
        ),
        compare(scale, generic_digest, || ParamsDigest::of(&RawMembers::parse(black_box(PARAMS)).expect("JSON"), &key))
            .figure(what, "against Value and BTreeMap", Some(Target::AtMost(1.0))),
    ]
}

fn hash_of_text() -> [u8; 32] {
    Sha256::digest(black_box(PARAMS)).into()
}

/// What is left once all is parsed into a tree: sort, write, hash. Both sides begin with text.
fn generic_digest() -> [u8; 32] {
    let value: Value = serde_json::from_str(black_box(PARAMS)).expect("JSON");
    let text = serde_json::to_string(&Sorted::from(value)).expect("a tree can be written");
    Sha256::digest(text).into()
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sorted {
    Object(BTreeMap<String, Sorted>),
    Array(Vec<Sorted>),
    Scalar(Value),
}

impl From<Value> for Sorted {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            Value::Array(elements) => Self::Array(elements.into_iter().map(Self::from).collect()),
            scalar => Self::Scalar(scalar),
        }
    }
}
