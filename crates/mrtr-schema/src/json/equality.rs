//! Whether two JSON texts mean the same.

use serde_json::value::RawValue;

use super::number::same_number;
use super::split::{RawMembers, elements, text};

/// Spacing, the order of keys, and the spelling of strings and numbers do not matter.
///
/// Recurses as deep as the values are nested: what was read is bounded, and what was built was built by recursion.
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
