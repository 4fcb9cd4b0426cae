//! Would a misspelt field be noticed? Renames each field in turn, in the examples and in the schemas, and looks.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use mrtr_schema::Revision;
use serde_json::{Map, Value, json};

use super::closed;
use super::folder::{self, Example, Kind};
use super::judge::{Judge, validator};
use crate::{Outcome, workspace};

pub(crate) fn run(only: Option<Revision>, as_json: bool) -> Result<Outcome> {
    let mut tally = Tally::default();
    for revision in super::revisions(only) {
        if super::own_verdicts(Some(revision))?.iter().any(super::Verdict::is_failure) {
            bail!("the examples of {revision} do not pass as they are: run `cargo xtask validate-examples`");
        }
        let examples = folder::examples(&workspace::schema_folder(revision).join("examples"), Kind::Example)?;
        let document = closed::document(&mrtr_schema::json_schema::document(revision.strict()));
        rename_in_examples(revision, &examples, &document, &mut tally);
        rename_in_schema(revision, &examples, &document, &mut tally);
    }
    workspace::print(&if as_json { serde_json::to_string_pretty(&tally.as_json())? } else { tally.as_text() })?;
    Ok(if tally.unnoticed.is_empty() { Outcome::Passed } else { Outcome::Failed })
}

#[derive(Default)]
struct Tally {
    in_examples: usize,
    in_schemas: usize,
    unnoticed: Vec<String>,
}

impl Tally {
    fn as_text(&self) -> String {
        let Self { in_examples, in_schemas, unnoticed } = self;
        let count = unnoticed.len();
        let summary =
            format!("{in_examples} fields renamed in examples, {in_schemas} in schemas; {count} went unnoticed");
        let lines = unnoticed.iter().map(|change| format!("unnoticed: {change}"));
        lines.chain([summary]).collect::<Vec<_>>().join("\n")
    }

    fn as_json(&self) -> Value {
        json!({ "inExamples": self.in_examples, "inSchemas": self.in_schemas, "unnoticed": self.unnoticed })
    }
}

fn rename_in_examples(revision: Revision, examples: &[Example], document: &Value, tally: &mut Tally) {
    let judge = Judge::of_our_own(revision);
    for example in examples {
        let Ok(tree) = serde_json::from_str::<Value>(&example.text) else { continue };
        let mut fields = Vec::new();
        Fields { document, found: &mut fields }.walk(&json!({ "$ref": reference(&example.type_name) }), &tree, "");
        for pointer in fields {
            tally.in_examples += 1;
            let renamed = Example { text: renamed(&tree, &pointer).to_string(), ..example.clone() };
            if !judge.judge(&renamed).is_failure() {
                tally.unnoticed.push(format!("{} of {}, at {pointer}", example.path.display(), revision));
            }
        }
    }
}

/// Each property of each definition; some example that passes must then fail.
fn rename_in_schema(revision: Revision, examples: &[Example], document: &Value, tally: &mut Tally) {
    let mut by_type: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for example in examples {
        by_type.entry(&example.type_name).or_default().extend(serde_json::from_str(&example.text).ok());
    }
    for name in document["$defs"].as_object().into_iter().flat_map(Map::keys) {
        let mut properties = Vec::new();
        collect_properties(&document["$defs"][name], &format!("/$defs/{name}"), &mut properties);
        for pointer in properties {
            tally.in_schemas += 1;
            let mut changed = document.clone();
            rename_property(&mut changed, &pointer);
            // The type's own examples are the likeliest to notice.
            let own_first = by_type.get_key_value(name.as_str()).into_iter().chain(&by_type);
            let noticed = own_first.into_iter().any(|(type_name, trees)| {
                let validator = validator(&changed, type_name);
                trees.iter().any(|tree| !validator.is_valid(tree))
            });
            if !noticed {
                tally.unnoticed.push(format!("schema of {revision}, at {pointer}: no example uses it"));
            }
        }
    }
}

/// Finds the members of an instance that a schema names, as JSON pointers.
struct Fields<'a> {
    document: &'a Value,
    found: &'a mut Vec<String>,
}

impl Fields<'_> {
    fn walk(&mut self, schema: &Value, instance: &Value, at: &str) {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.resolve(reference).clone();
            self.walk(&target, instance, at);
        }
        let choices = ["anyOf", "oneOf"].iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
        let accepting: Vec<_> = choices.filter(|choice| self.accepts(choice, instance)).collect();
        // An answer that an application defines may have members of any name: there, no name is wrong.
        if !accepting.iter().any(|choice| self.is_free(choice))
            && let Some(choice) = accepting.first()
        {
            self.walk(choice, instance, at);
        }
        for (index, element) in instance.as_array().into_iter().flatten().enumerate() {
            self.walk(&schema["items"], element, &format!("{at}/{index}"));
        }
        for (key, value) in instance.as_object().into_iter().flatten() {
            let pointer = format!("{at}/{}", escaped(key));
            match schema["properties"].get(key) {
                Some(property) => {
                    self.found.push(pointer.clone());
                    self.walk(property, value, &pointer);
                }
                None if schema["additionalProperties"].is_object() => {
                    self.walk(&schema["additionalProperties"], value, &pointer);
                }
                None => {}
            }
        }
    }

    fn is_free(&self, schema: &Value) -> bool {
        let schema = schema["$ref"].as_str().map_or(schema, |reference| self.resolve(reference));
        schema["additionalProperties"] == json!({}) && schema["properties"].as_object().is_none_or(Map::is_empty)
    }

    fn resolve(&self, reference: &str) -> &Value {
        self.document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null)
    }

    fn accepts(&self, schema: &Value, instance: &Value) -> bool {
        let mut schema = schema.clone();
        schema["$defs"] = self.document["$defs"].clone();
        jsonschema::draft202012::new(&schema).is_ok_and(|validator| validator.is_valid(instance))
    }
}

fn collect_properties(schema: &Value, at: &str, found: &mut Vec<String>) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let pointer = format!("{at}/properties/{}", escaped(key));
        collect_properties(property, &pointer, found);
        found.push(pointer);
    }
    for keyword in ["items", "additionalProperties"].iter().filter(|keyword| schema[**keyword].is_object()) {
        collect_properties(&schema[*keyword], &format!("{at}/{keyword}"), found);
    }
}

/// Renames a property and its mention in `required`.
fn rename_property(document: &mut Value, pointer: &str) {
    let Some((properties, key)) = pointer.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    let owner = properties.trim_end_matches("/properties").to_owned();
    rename_member(document, properties, &key);
    let required = document.pointer_mut(&format!("{owner}/required")).and_then(Value::as_array_mut);
    for name in required.into_iter().flatten().filter(|name| **name == key) {
        *name = format!("{key}{SUFFIX}").into();
    }
}

fn renamed(tree: &Value, pointer: &str) -> Value {
    let mut tree = tree.clone();
    if let Some((owner, key)) = pointer.rsplit_once('/') {
        rename_member(&mut tree, owner, &key.replace("~1", "/").replace("~0", "~"));
    }
    tree
}

fn rename_member(tree: &mut Value, owner: &str, key: &str) {
    if let Some(members) = tree.pointer_mut(owner).and_then(Value::as_object_mut)
        && let Some(value) = members.remove(key)
    {
        members.insert(format!("{key}{SUFFIX}"), value);
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

const SUFFIX: &str = "Renamed";
