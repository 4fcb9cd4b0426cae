//! The digest of parameters is that of their plain canonical form, for every tree and every honest spelling of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mrtr_schema::RawMembers;
use mrtr_state::{Key, ParamsDigest, ParamsKey};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::member_names;
use crate::spelling::Scribe;
use crate::tree::{Decimal, Tree};

/// Keys and texts with all that needs escaping, and short ones that often meet.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,2}", "[a-z\"\\\\/\u{0}-\u{1f}é\u{7ff}\u{800}\u{ffff}🍪\u{10ffff}]{0,8}", ".{0,12}"]
}

fn number() -> impl Strategy<Value = Decimal> {
    let digits = prop_oneof!["[0-9]{1,3}", "[0-9]{1,40}"];
    let exponent = prop_oneof![-3..4_i64, -400..400_i64, -4_000_000_000..4_000_000_000_i64];
    (any::<bool>(), digits, exponent)
        .prop_map(|(negative, digits, exponent)| Decimal::new(negative, &digits, Some(exponent)).unwrap())
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        number().prop_map(Tree::Number),
        "-?[1-9]\\.[0-9][1-9]e-?[1-9]{20,22}".prop_map(Tree::Beyond),
        text().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Tree::Array),
            btree_map(text(), inner, 0..5).prop_map(Tree::Object),
        ]
    })
}

/// Few values, so that two that were drawn apart are often alike.
fn small_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        Just(Tree::Bool(true)),
        (any::<bool>(), "[01]{1,2}", -1..2_i64).prop_map(|(sign, digits, exponent)| {
            Tree::Number(Decimal::new(sign, &digits, Some(exponent)).unwrap())
        }),
        "[ab]{0,2}".prop_map(Tree::Text),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Tree::Array),
            btree_map("[ab]?", inner, 0..3).prop_map(Tree::Object),
        ]
    })
}

fn members(of: impl Strategy<Value = Tree>) -> impl Strategy<Value = BTreeMap<String, Tree>> {
    btree_map(text(), of, 0..4)
}

static KEY: LazyLock<Key> = LazyLock::new(|| Key::new("k", SECRET).unwrap());
const SECRET: [u8; 32] = [7; 32];

fn digest(text: &str) -> [u8; 16] {
    *ParamsDigest::of(&RawMembers::parse(text).unwrap(), &ParamsKey::of(&KEY)).unwrap().as_bytes()
}

const FREE: [&str; 4] = ["_meta", "inputResponses", "requestState", "task"];

/// A member that belongs to the request: any text, names of the protocol, and names that are nearly free.
fn bound_key() -> impl Strategy<Value = String> {
    let near =
        FREE.map(|free| [format!("{free}s"), format!("{free} "), free.to_uppercase(), free.replacen('_', "", 1)]);
    let near: Vec<String> = near.into_iter().flatten().collect();
    prop_oneof![text(), select(near), select(member_names())].prop_filter("it is free", |key| !FREE.contains(&&**key))
}

proptest! {
    #[test]
    fn every_honest_spelling_has_the_digest_of_the_plain_canonical_form(
        members in members(tree()),
        free in tree(),
        seed in any::<u64>(),
    ) {
        let expected = Tree::Object(members.clone()).digest(&SECRET);
        let mut scribe = Scribe::new(seed);
        for round in 0..4 {
            let mut written: Vec<_> = members.iter().map(|(key, value)| (&**key, value)).collect();
            written.extend(FREE[round..].iter().map(|key| (*key, &free)));
            let text = scribe.object(written);
            prop_assert_eq!(digest(&text), expected, "{}", text);
        }
    }

    #[test]
    fn what_is_written_means_what_it_was_written_from(tree in tree(), seed in any::<u64>()) {
        let text = Scribe::new(seed).value(&tree);
        let parsed: Box<serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(Tree::parse(&parsed), tree, "{}", text);
    }

    #[test]
    fn two_trees_have_one_digest_only_if_they_are_one(
        one in small_tree(),
        other in small_tree(),
        seed in any::<u64>(),
    ) {
        let mut scribe = Scribe::new(seed);
        let one_digest = digest(&scribe.object(vec![("a", &one)]));
        let other_digest = digest(&scribe.object(vec![("a", &other)]));
        prop_assert_eq!(one == other, one_digest == other_digest);
    }

    #[test]
    fn any_member_but_the_four_changes_the_digest_by_coming_going_or_changing(
        members in members(tree()),
        key in bound_key(),
        value in tree(),
        place in any::<prop::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let changed = changed(&value, place.index(size(&value)));
        let mut scribe = Scribe::new(seed);
        let mut with = |value: Option<&Tree>| {
            let others = members.iter().filter(|(other, _)| **other != key).map(|(other, value)| (&**other, value));
            digest(&scribe.object(others.chain(value.map(|value| (&*key, value))).collect()))
        };
        let [without, one, other] = [with(None), with(Some(&value)), with(Some(&changed))];
        prop_assert!(without != one && without != other && one != other, "{}", key);
    }

    #[test]
    fn one_change_anywhere_changes_the_digest(tree in tree(), place in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let changed = changed(&tree, place.index(size(&tree)));
        let mut scribe = Scribe::new(seed);
        prop_assert_ne!(digest(&scribe.object(vec![("a", &tree)])), digest(&scribe.object(vec![("a", &changed)])));
    }
}

/// The number of values in a tree, itself included.
fn size(tree: &Tree) -> usize {
    1 + match tree {
        Tree::Array(elements) => elements.iter().map(size).sum(),
        Tree::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// The tree with its value at this place, counted from the outside, a little different.
fn changed(tree: &Tree, place: usize) -> Tree {
    let mut left = place;
    let mut tree = tree.clone();
    change(&mut tree, &mut left);
    tree
}

/// Says whether it found the place.
fn change(tree: &mut Tree, left: &mut usize) -> bool {
    if *left > 0 {
        *left -= 1;
        return match tree {
            Tree::Array(elements) => elements.iter_mut().any(|element| change(element, left)),
            Tree::Object(members) => members.values_mut().any(|member| change(member, left)),
            _ => false,
        };
    }
    match tree {
        Tree::Null => *tree = Tree::Bool(false),
        Tree::Bool(bool) => *bool = !*bool,
        Tree::Number(number) => {
            // Another sign, and not zero if it was.
            let digits = format!("1{}", number.digits);
            *number = Decimal { negative: !number.negative, digits, ..number.clone() };
        }
        Tree::Beyond(text) | Tree::Text(text) => text.push('1'),
        Tree::Array(elements) => elements.push(Tree::Null),
        Tree::Object(members) => drop(members.insert(format!("{}b", members.len() + 20), Tree::Null)),
    }
    true
}
