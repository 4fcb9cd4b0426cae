//! Places in our schema where the values of an example stand.

use serde_json::Value;

use super::comparison::Pair;

/// A value of an example, and the types that it is part of.
#[derive(Clone)]
pub(crate) struct Place {
    steps: Vec<Step>,
    owners: Vec<Owner>,
}

/// One step down from the example's root.
#[derive(Clone)]
struct Step {
    /// The step as a JSON pointer has it.
    token: String,
    /// The step as a schema would name it: `[]` for any element, `*` for any key of a free map.
    shown: String,
}

/// A type that holds the value, and how many steps from the root that type begins.
#[derive(Clone)]
pub(crate) struct Owner {
    pub(crate) type_name: String,
    depth: usize,
}

impl Place {
    /// The JSON pointer of the value.
    pub(crate) fn pointer(&self) -> String {
        pointer(&self.steps)
    }

    /// Returns the JSON pointer of the object or array that holds the value, and the value's key there.
    pub(crate) fn parent(&self) -> (String, String) {
        let Some((last, before)) = self.steps.split_last() else { return Default::default() };
        (pointer(before), last.token.replace("~1", "/").replace("~0", "~"))
    }

    /// The number of steps from the root.
    pub(crate) fn depth(&self) -> usize {
        self.steps.len()
    }

    /// The types that it is itself of.
    pub(crate) fn types_here(&self) -> impl Iterator<Item = &str> {
        let here = self.owners.iter().filter(|owner| owner.depth == self.depth());
        here.map(|owner| owner.type_name.as_str())
    }

    /// A member of it that one of the schemas names.
    pub(crate) fn member(&self, key: &str) -> Self {
        self.then(escaped(key), key.to_owned())
    }

    /// A member of it that no schema names.
    pub(crate) fn any_member(&self, key: &str) -> Self {
        self.then(escaped(key), ANY_KEY.to_owned())
    }

    /// The types that hold it, the innermost first, the example's own last.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.owners.iter().rev()
    }

    /// The JSON pointer of what is of the owner's type.
    pub(crate) fn pointer_of(&self, owner: &Owner) -> String {
        pointer(&self.steps[..owner.depth])
    }

    /// The way from the owner to the value, such as `content[].type`.
    pub(crate) fn path_in(&self, owner: &Owner) -> String {
        let mut path = String::new();
        for step in &self.steps[owner.depth..] {
            if !path.is_empty() && step.shown != ELEMENT {
                path.push('.');
            }
            path.push_str(&step.shown);
        }
        if path.is_empty() { ITSELF.to_owned() } else { path }
    }

    /// Returns true if it is a member of an object.
    pub(crate) fn is_member(&self) -> bool {
        self.steps.last().is_some_and(|step| step.shown != ELEMENT)
    }

    /// The name of the member that holds it, also where that is a list; the example's type at its root.
    pub(crate) fn name(&self) -> &str {
        let member = self.steps.iter().rev().find(|step| step.shown != ELEMENT);
        member.map_or(&self.owners[0].type_name, |step| &step.token)
    }
}

/// Every value of an example, the whole first.
pub(crate) fn places(document: &Value, pair: &Pair, type_name: &str, example: &Value) -> Vec<Place> {
    let mut walk = Walk { document, pair, found: Vec::new() };
    let own = Owner { type_name: type_name.to_owned(), depth: 0 };
    walk.visit(example, &[format!("/$defs/{type_name}")], Place { steps: Vec::new(), owners: vec![own] });
    walk.found
}

struct Walk<'a> {
    document: &'a Value,
    pair: &'a Pair,
    found: Vec<Place>,
}

impl Walk<'_> {
    /// Visits a value to which these parts of our document apply.
    fn visit(&mut self, value: &Value, parts: &[String], mut place: Place) {
        let mut applying = Vec::new();
        for part in parts {
            self.expand(part, value, &mut place, &mut applying);
        }
        self.found.push(place.clone());
        for (index, element) in value.as_array().into_iter().flatten().enumerate() {
            let parts = self.parts(&applying, "items");
            self.visit(element, &parts, place.then(index.to_string(), ELEMENT.to_owned()));
        }
        for (key, member) in value.as_object().into_iter().flatten() {
            let token = escaped(key);
            let named = self.parts(&applying, &format!("properties/{token}"));
            if named.is_empty() {
                // A member that no schema describes is as free as its map.
                let parts = self.parts(&applying, "additionalProperties");
                let is_free = !parts.is_empty() || applying.iter().all(|part| self.says_nothing(part));
                self.visit(member, &parts, place.then(token, if is_free { ANY_KEY.to_owned() } else { key.clone() }));
            } else {
                self.visit(member, &named, place.then(token, key.clone()));
            }
        }
    }

    /// Follows references and choices, and notes the types that they name.
    fn expand(&self, part: &str, value: &Value, place: &mut Place, applying: &mut Vec<String>) {
        let Some(schema) = self.document.pointer(part) else { return };
        applying.push(part.to_owned());
        if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            let type_name = target.trim_start_matches("/$defs/").to_owned();
            place.owners.push(Owner { type_name, depth: place.steps.len() });
            self.expand(target, value, place, applying);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for index in 0..schema[keyword].as_array().map_or(0, Vec::len) {
                let choice = format!("{part}/{keyword}/{index}");
                if self.pair.ours_accepts(&choice, value) {
                    self.expand(&choice, value, place, applying);
                }
            }
        }
    }

    fn parts(&self, applying: &[String], below: &str) -> Vec<String> {
        let parts = applying.iter().map(|part| format!("{part}/{below}"));
        parts.filter(|part| self.document.pointer(part).is_some()).collect()
    }

    fn says_nothing(&self, part: &str) -> bool {
        self.document.pointer(part).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
    }
}

impl Place {
    fn then(&self, token: String, shown: String) -> Self {
        let mut place = self.clone();
        place.steps.push(Step { token, shown });
        place
    }
}

fn pointer(steps: &[Step]) -> String {
    steps.iter().flat_map(|step| ["/", &step.token]).collect()
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

const ELEMENT: &str = "[]";
const ANY_KEY: &str = "*";
/// The path of what is itself of the type.
const ITSELF: &str = "$";
