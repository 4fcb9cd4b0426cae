//! The changes that are made to an example, one at a time.

use serde_json::{Value, json};

use super::place::Place;
use super::words::Words;

/// One change at one place.
pub(crate) struct Mutation {
    /// What kind of change, as the rules call it.
    pub(crate) name: String,
    change: Change,
}

enum Change {
    Remove,
    Replace(Value),
}

impl Mutation {
    /// The example with the change made to what stands at the place.
    pub(crate) fn applied_to(&self, example: &Value, pointer: &str) -> Value {
        let mut changed = example.clone();
        match &self.change {
            Change::Replace(value) => {
                if let Some(place) = changed.pointer_mut(pointer) {
                    place.clone_from(value);
                }
            }
            Change::Remove => remove(&mut changed, pointer),
        }
        changed
    }
}

/// Every change that is tried on a value.
pub(crate) fn mutations(value: &Value, place: &Place, words: &Words) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    if place.is_member() {
        mutations.push(Mutation { name: "removed".to_owned(), change: Change::Remove });
    }
    mutations.extend(other_types(value));
    match value {
        Value::String(text) => mutations.extend(other_texts(text, words.of(place.name()))),
        Value::Number(_) => mutations.extend(other_numbers()),
        Value::Bool(flag) => mutations.push(replaced("flipped", json!(!flag))),
        Value::Array(elements) if !elements.is_empty() => mutations.push(replaced("emptied", json!([]))),
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("memberOfNoType".to_owned(), json!("added"));
            mutations.push(replaced("member added", more.into()));
            if !members.is_empty() {
                mutations.push(replaced("emptied", json!({})));
            }
        }
        Value::Array(_) | Value::Null => {}
    }
    mutations
}

fn other_types(value: &Value) -> impl Iterator<Item = Mutation> {
    let samples = [
        ("to null", Value::Null),
        ("to boolean", json!(true)),
        ("to number", json!(1)),
        ("to string", json!("changed")),
        ("to array", json!([])),
        ("to object", json!({})),
    ];
    let own_type = std::mem::discriminant(value);
    let others = samples.into_iter().filter(move |(_, sample)| std::mem::discriminant(sample) != own_type);
    others.map(|(name, sample)| replaced(name, sample))
}

/// A text that means nothing, none at all, and every word that a member of this name may be somewhere.
fn other_texts<'a>(text: &str, words: impl Iterator<Item = &'a String>) -> Vec<Mutation> {
    let mut mutations = vec![replaced("other text", json!("changed")), replaced("emptied", json!(""))];
    let other_words = words.filter(|word| *word != text);
    mutations.extend(other_words.map(|word| replaced(&format!("to {word:?}"), json!(word))));
    mutations
}

fn other_numbers() -> [Mutation; 3] {
    [replaced("negative", json!(-1)), replaced("fraction", json!(0.5)), replaced("huge", json!(1e20))]
}

fn replaced(name: &str, value: Value) -> Mutation {
    Mutation { name: name.to_owned(), change: Change::Replace(value) }
}

fn remove(example: &mut Value, pointer: &str) {
    let Some((owner, token)) = pointer.rsplit_once('/') else { return };
    let key = token.replace("~1", "/").replace("~0", "~");
    if let Some(members) = example.pointer_mut(owner).and_then(Value::as_object_mut) {
        members.remove(&key);
    }
}
