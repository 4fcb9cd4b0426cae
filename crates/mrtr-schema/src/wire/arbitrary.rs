//! Strategies for property tests: any text, number and JSON, and the combinators that derived strategies use.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::Value;

use crate::json::{Json, JsonObject, Members, Number};
use crate::revision::Revision;
use crate::wire::Wire;

/// Any short text, empty and non-ASCII included.
///
/// ```
/// use proptest::{prop_assert, proptest};
///
/// proptest!(|(text in mrtr_schema::arbitrary::text())| {
///     prop_assert!(text.chars().count() < 8);
/// });
/// ```
pub fn text() -> BoxedStrategy<String> {
    vec(any::<char>(), 0..8).prop_map(String::from_iter).boxed()
}

/// Any number that JSON can spell, those that no machine type holds included.
///
/// ```
/// use mrtr_schema::{Number, arbitrary};
/// use proptest::{prop_assert_eq, proptest};
///
/// proptest!(|(number in arbitrary::number())| {
///     prop_assert_eq!(Number::parse(&number.to_string()), Ok(number));
/// });
/// ```
pub fn number() -> BoxedStrategy<Number> {
    let parse = |text: String| Number::parse(&text).expect("spelt as JSON spells numbers");
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        any::<f64>().prop_filter_map("JSON has no NaN", |value| Number::try_from(value).ok()),
        (any::<u128>(), any::<u128>()).prop_map(move |(whole, part)| parse(format!("{whole}.{part}"))),
        (any::<i32>(), -400..400_i32).prop_map(move |(whole, exponent)| parse(format!("{whole}e{exponent}"))),
    ]
    .boxed()
}

/// Any JSON value, nested a little.
///
/// ```
/// use mrtr_schema::{Json, arbitrary};
/// use proptest::{prop_assert_eq, proptest};
///
/// proptest!(|(value in arbitrary::json())| {
///     prop_assert_eq!(Json::parse(value.as_str()), Ok(value));
/// });
/// ```
pub fn json() -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        number().prop_map(|value| value.to_string()),
        text().prop_map(|value| Value::from(value).to_string()),
    ];
    let tree = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|elements| format!("[{}]", elements.join(", "))),
            object_text(inner),
        ]
    });
    tree.prop_map(|text| Json::parse(&text).expect("built as JSON, with unique keys")).boxed()
}

/// Any JSON object.
///
/// ```
/// use mrtr_schema::{Revision, Wire, arbitrary};
/// use mrtr_schema::tools::CallToolParams;
/// use proptest::{prop_assert_eq, proptest};
///
/// proptest!(|(arguments in arbitrary::json_object())| {
///     let mut params = CallToolParams::new("echo");
///     params.arguments = Some(arguments);
///     let text = params.to_json(Revision::Sep2322).unwrap();
///     prop_assert_eq!(CallToolParams::from_json(&text, Revision::Sep2322.strict()), Ok(params));
/// });
/// ```
pub fn json_object() -> BoxedStrategy<JsonObject> {
    let members = object_text(json().prop_map(|value| value.as_str().to_owned()));
    members.prop_map(|text| JsonObject::parse(&text).expect("built as an object, with unique keys")).boxed()
}

pub(crate) fn optional<T: Wire>(revision: Revision, demanded: bool) -> BoxedStrategy<Option<T>> {
    let value = T::any_value(revision);
    if demanded { value.prop_map(Some).boxed() } else { option::of(value).boxed() }
}

/// Members that no type of the protocol names.
pub(crate) fn extra_members() -> BoxedStrategy<Members> {
    let member = (text().prop_map(|name| format!("x-{name}")), json());
    prop_oneof![3 => Just(Vec::new()), 1 => vec(member, 1..3)].prop_map(Members::from_iter).boxed()
}

pub(crate) fn object_text(value: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    proptest::collection::btree_map(text(), value, 0..3).prop_map(|members| {
        let members = members.iter().map(|(key, value)| format!("{}: {value}", Value::from(key.as_str())));
        format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
    })
}

/// Strategies as one strategy of nested pairs: any number of fields, where tuples stop at twelve.
macro_rules! nest {
    () => { ::proptest::strategy::Just(()) };
    ($first:ident $(, $rest:ident)*) => { ($first, crate::wire::arbitrary::nest!($($rest),*)) };
}
pub(crate) use nest;

/// The pattern that takes a nested value of [`nest!`] apart.
macro_rules! nested {
    () => { () };
    ($first:ident $(, $rest:ident)*) => { ($first, crate::wire::arbitrary::nested!($($rest),*)) };
}
pub(crate) use nested;
