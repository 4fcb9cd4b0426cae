//! `cargo xtask validate-examples`: a specification's example JSON, checked against the schemas and the types.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use jsonschema::ValidatorMap;
use mrtr_schema::Revision;
use mrtr_validate::{Document, Example, Judge, Kind, Status, Verdict, closed, compile, folder, report};
use serde_json::{Map, Value, json};

use crate::{Outcome, workspace};

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// A folder laid out as `<Type>/*.json`, instead of the project's own examples
    #[arg(long, value_name = "DIR", requires = "revision")]
    dir: Option<PathBuf>,
    /// The revision of that folder or document, or the only one to look at: draft-2026-02, sep-2322 or 2026-07-28
    #[arg(long, value_name = "REVISION")]
    revision: Option<Revision>,
    /// A Markdown document; its JSON blocks are judged where they stand
    #[arg(long, value_name = "FILE", requires = "revision", conflicts_with_all = ["dir", "self_test"])]
    markdown: Option<PathBuf>,
    /// The document's known mistakes, instead of `schema/errata/<its name>.json`
    #[arg(long, value_name = "FILE", requires = "markdown")]
    errata: Option<PathBuf>,
    /// Rename each field in turn, in examples and in schemas, and report which change went unnoticed
    #[arg(long, conflicts_with = "dir")]
    self_test: bool,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

impl Options {
    pub(crate) fn self_test() -> Self {
        Self { self_test: true, ..Self::default() }
    }
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    if options.self_test {
        return run_self_test(options.revision, options.json);
    }
    if let (Some(file), Some(revision)) = (&options.markdown, options.revision) {
        return judge_document(file, revision, options);
    }
    let verdicts = match (&options.dir, options.revision) {
        (Some(dir), Some(revision)) => Judge::of_strangers(revision).folder(dir, Kind::Example)?,
        _ => own_verdicts(options.revision)?,
    };
    workspace::print(&if options.json {
        report::as_json(&verdicts)?
    } else {
        report::as_table(&verdicts, workspace::root())
    })?;
    if verdicts.iter().all(|verdict| verdict.status == Status::NotDefined) {
        bail!("none of the folders is named for a type of this revision");
    }
    let failed = verdicts.iter().any(Verdict::is_failure);
    Ok(if failed { Outcome::Failed } else { Outcome::Passed })
}

/// Judges the project's own examples, of one revision or of all.
fn own_verdicts(only: Option<Revision>) -> Result<Vec<Verdict>> {
    let mut verdicts = Vec::new();
    for revision in revisions(only) {
        let judge = Judge::of_our_own(revision);
        let folder = workspace::schema_folder(revision);
        verdicts.extend(judge.folder(&folder.join("examples"), Kind::Example)?);
        verdicts.extend(judge.folder(&folder.join("counter-examples"), Kind::CounterExample)?);
    }
    Ok(verdicts)
}

/// One revision, or all of them.
fn revisions(only: Option<Revision>) -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter().filter(move |revision| only.is_none_or(|only| only == *revision))
}

fn judge_document(file: &Path, revision: Revision, options: &Options) -> Result<Outcome> {
    // The project's own errata for a document of that name, if there are any.
    let own = workspace::root().join("schema/errata").join(file.file_stem().unwrap_or_default());
    let own = Some(own.with_added_extension("json")).filter(|own| own.exists());
    let document = Document { file, revision, errata: options.errata.as_deref().or(own.as_deref()) };
    let verdict = document.judge()?;
    workspace::print(&if options.json { verdict.as_json()? } else { verdict.as_text() })?;
    Ok(if verdict.is_failure() { Outcome::Failed } else { Outcome::Passed })
}

fn run_self_test(only: Option<Revision>, as_json: bool) -> Result<Outcome> {
    let mut tally = Tally::default();
    for revision in revisions(only) {
        if own_verdicts(Some(revision))?.iter().any(Verdict::is_failure) {
            bail!("the examples of {revision} do not pass as they are: run `cargo xtask validate-examples`");
        }
        let examples = folder::examples(&workspace::schema_folder(revision).join("examples"), Kind::Example)?;
        let document = closed(&mrtr_schema::json_schema::document(revision.strict()));
        let validators = compile(&document);
        let shown: Vec<_> = examples.iter().filter_map(|example| show(example, &document, &validators)).collect();
        rename_in_examples(revision, &shown, &mut tally);
        rename_in_schema(revision, &shown, &document, &mut tally);
    }
    workspace::print(&if as_json { serde_json::to_string_pretty(&tally.as_json())? } else { tally.as_text() })?;
    Ok(if tally.unnoticed.is_empty() { Outcome::Passed } else { Outcome::Failed })
}

fn show<'a>(example: &'a Example, document: &Value, validators: &ValidatorMap) -> Option<Shown<'a>> {
    let tree = serde_json::from_str(&example.text).ok()?;
    let mut fields = Fields { document, validators, found: Vec::new() };
    fields.walk(&format!("/$defs/{}", example.type_name), &tree, "");
    Some(Shown { example, tree, fields: fields.found })
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

fn rename_in_examples(revision: Revision, shown: &[Shown<'_>], tally: &mut Tally) {
    let judge = Judge::of_our_own(revision);
    for Shown { example, tree, fields } in shown {
        for Field { instance, .. } in fields {
            tally.in_examples += 1;
            let renamed = Example { text: renamed(tree, instance).to_string(), ..(*example).clone() };
            if !judge.judge(&renamed).is_failure() {
                tally.unnoticed.push(format!("{} of {revision}, at {instance}", example.path.display()));
            }
        }
    }
}

/// Renames each property of each definition, one at a time; then some example that passes must fail.
fn rename_in_schema(revision: Revision, shown: &[Shown<'_>], document: &Value, tally: &mut Tally) {
    for name in document["$defs"].as_object().into_iter().flat_map(Map::keys) {
        let mut properties = Vec::new();
        collect_properties(&document["$defs"][name], &format!("/$defs/{name}"), &mut properties);
        for pointer in properties {
            tally.in_schemas += 1;
            // Only an example that uses the property can notice.
            let users = shown.iter().filter(|shown| shown.fields.iter().any(|field| field.schema == pointer));
            if !users.into_iter().any(|user| notices(user, document, &pointer)) {
                tally.unnoticed.push(format!("schema of {revision}, at {pointer}: no example uses it"));
            }
        }
    }
}

/// Returns true if an example fails once a property of the schema is renamed.
fn notices(shown: &Shown<'_>, document: &Value, pointer: &str) -> bool {
    let type_name = &shown.example.type_name;
    let mut changed = json!({ "$ref": reference(type_name), "$defs": definitions_of(document, type_name) });
    rename_property(&mut changed, pointer);
    let validator = jsonschema::draft202012::options().should_validate_formats(false).offline().build(&changed);
    validator.is_ok_and(|validator| !validator.is_valid(&shown.tree))
}

/// The definitions that a type refers to, directly or not: the others only cost time.
fn definitions_of(document: &Value, type_name: &str) -> Value {
    let mut needed = Map::new();
    let mut open = vec![type_name.to_owned()];
    while let Some(name) = open.pop() {
        if !needed.contains_key(&name) {
            let definition = document["$defs"][&name].clone();
            collect_references(&definition, &mut open);
            needed.insert(name, definition);
        }
    }
    Value::Object(needed)
}

fn collect_references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            found.extend(reference.and_then(|reference| reference.strip_prefix("#/$defs/")).map(str::to_owned));
            members.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(elements) => elements.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

/// An example, and the fields that it shows.
struct Shown<'a> {
    example: &'a Example,
    tree: Value,
    fields: Vec<Field>,
}

/// A member of an example that the schema names.
struct Field {
    /// The place in the example, as a JSON pointer.
    instance: String,
    /// The place in the schema.
    schema: String,
}

/// Finds the members of an instance that a schema names.
struct Fields<'a> {
    document: &'a Value,
    validators: &'a ValidatorMap,
    found: Vec<Field>,
}

impl Fields<'_> {
    fn walk(&mut self, schema: &str, instance: &Value, at: &str) {
        let document = self.document;
        let Some(node) = document.pointer(schema) else { return };
        if let Some(reference) = node["$ref"].as_str() {
            self.walk(reference.trim_start_matches('#'), instance, at);
        }
        self.walk_choice(node, schema, instance, at);
        for (index, element) in instance.as_array().into_iter().flatten().enumerate() {
            self.walk(&format!("{schema}/items"), element, &format!("{at}/{index}"));
        }
        for (key, value) in instance.as_object().into_iter().flatten() {
            let (pointer, key) = (format!("{at}/{}", escaped(key)), escaped(key));
            let property = format!("{schema}/properties/{key}");
            if document.pointer(&property).is_some() {
                self.walk(&property, value, &pointer);
                self.found.push(Field { instance: pointer, schema: property });
            } else {
                self.walk(&format!("{schema}/additionalProperties"), value, &pointer);
            }
        }
    }

    /// Follows the alternative that an instance matches.
    ///
    /// Where it may also be an object with members of any name, no name is wrong; nor is the name of a member without
    /// which it would become one.
    fn walk_choice(&mut self, node: &Value, schema: &str, instance: &Value, at: &str) {
        let alternatives: Vec<_> = alternatives(node, schema).collect();
        let (accepting, others): (Vec<_>, Vec<_>) =
            alternatives.into_iter().partition(|part| self.accepts(part, instance));
        let Some(choice) = accepting.first().filter(|_| !accepting[1..].iter().any(|part| self.is_open(part))) else {
            return;
        };
        let before = self.found.len();
        self.walk(choice, instance, at);
        let open: Vec<_> = others.iter().filter(|part| self.is_open(part)).collect();
        let mut followed = self.found.split_off(before);
        followed.retain(|field| {
            let changed = field.instance.strip_prefix(at).map(|own| renamed(instance, own)).unwrap_or_default();
            !open.iter().any(|part| self.accepts(part, &changed))
        });
        self.found.append(&mut followed);
    }

    fn accepts(&self, part: &str, instance: &Value) -> bool {
        self.validators.get(&format!("#{part}")).is_some_and(|validator| validator.is_valid(instance))
    }

    /// Returns true if a part of the schema accepts members of almost any name.
    fn is_open(&self, part: &str) -> bool {
        let schema = self.document.pointer(part).unwrap_or(&Value::Null);
        let target = schema["$ref"].as_str().map(|reference| reference.trim_start_matches('#'));
        let schema = target.and_then(|target| self.document.pointer(target)).unwrap_or(schema);
        schema["additionalProperties"] == json!({}) || schema.get("patternProperties").is_some()
    }
}

/// The alternatives of a schema that are whole types; a condition on one is not.
fn alternatives(node: &Value, schema: &str) -> impl Iterator<Item = String> {
    ["anyOf", "oneOf"].into_iter().flat_map(move |keyword| {
        let choices = node[keyword].as_array().into_iter().flatten().enumerate();
        let whole = choices.filter(|(_, choice)| choice.get("$ref").is_some() || choice.get("type").is_some());
        whole.map(move |(index, _)| format!("{schema}/{keyword}/{index}")).collect::<Vec<_>>()
    })
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
    for keyword in ["anyOf", "oneOf"] {
        let choices = schema[keyword].as_array().into_iter().flatten().enumerate();
        for (index, choice) in choices.filter(|(_, choice)| choice["type"] == "object") {
            collect_properties(choice, &format!("{at}/{keyword}/{index}"), found);
        }
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
