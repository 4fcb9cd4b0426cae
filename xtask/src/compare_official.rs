//! `cargo xtask compare-official`: do our schemas and the official ones accept the same messages?
//!
//! Each example is judged by both, as it is and with one thing changed at a time. Where the verdicts differ, a rule in
//! `schema/differences.json` must say why.

mod comparison;
mod mutation;
mod place;
mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mrtr_schema::{Feature, Revision};
use mrtr_validate::folder;
use mrtr_validate::folder::{Example, Kind};
use serde_json::{Map, Value};

use crate::{Outcome, workspace};
use report::Report;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// The official schemas and examples, laid out as `<revision>/schema.json` and `<revision>/examples/<Type>/*.json`
    #[arg(long, value_name = "DIR")]
    spec: Option<PathBuf>,
    /// The differences that are meant to be there, and why
    #[arg(long, value_name = "FILE")]
    differences: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let default_spec = workspace::root().join("../shared/spec");
    if options.spec.is_none() && !default_spec.is_dir() {
        workspace::print("there are no official schemas in ../shared/spec: nothing was compared")?;
        return Ok(Outcome::LeftOut("the official schemas in ../shared/spec"));
    }
    let spec = options.spec.as_ref().unwrap_or(&default_spec);
    let rules = options.differences.clone().unwrap_or_else(|| workspace::root().join("schema/differences.json"));
    let rules = report::read(&rules).with_context(|| format!("in {}", rules.display()))?;

    let mut found = comparison::Tally::default();
    for source in sources(spec).with_context(|| format!("in {}", spec.display()))? {
        found.compare(&source).with_context(|| format!("in {}", source.name))?;
    }
    if found.examples == 0 {
        bail!("no example was found of a type that both sides define");
    }
    let report = Report::new(&found, &rules);
    workspace::print(&if options.json { report.as_json()? } else { report.as_text() })?;
    Ok(if report.is_clean() { Outcome::Passed } else { Outcome::Failed })
}

/// One official document.
struct Source {
    /// The folder that holds it.
    name: String,
    /// The revision of ours that the official schema describes.
    revision: Revision,
    document: Value,
    /// The types to compare, where we have them.
    types: BTreeSet<String>,
    /// The specification's examples and our own.
    examples: Vec<Example>,
}

/// The documents in a folder: one for each revision, and the tasks extension of the one that has it.
fn sources(spec: &Path) -> Result<Vec<Source>> {
    if !spec.is_dir() {
        bail!("there is no such folder");
    }
    let present = |name: &&str| spec.join(name).join("schema.json").is_file();
    let mut sources = Vec::new();
    for revision in Revision::ALL.into_iter().filter(|revision| present(&revision.as_str())) {
        sources.push(source(spec, revision.as_str(), revision)?);
    }
    let with_tasks = Revision::ALL.into_iter().find(|revision| revision.has(Feature::TasksExtension));
    if let (Some(name), Some(revision)) = (Some(TASKS).filter(present), with_tasks) {
        let mut tasks = source(spec, name, revision)?;
        // The extension repeats the types of the core that it uses. Those are compared with the core.
        for core in sources.iter().filter(|source| source.revision == revision) {
            tasks.types.retain(|name| !core.types.contains(name));
        }
        sources.push(tasks);
    }
    if sources.is_empty() {
        bail!("it holds no <revision>/schema.json");
    }
    Ok(sources)
}

fn source(spec: &Path, name: &str, revision: Revision) -> Result<Source> {
    let folder = spec.join(name);
    let path = folder.join("schema.json");
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let document: Value = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let document = in_our_dialect(document);
    let types: BTreeSet<_> = document["$defs"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
    if types.is_empty() {
        bail!("{} defines no types", path.display());
    }
    let mut examples = folder::examples(&workspace::schema_folder(revision).join("examples"), Kind::Example)?;
    let official = folder.join("examples");
    if official.is_dir() {
        examples.extend(folder::examples(&official, Kind::Example)?);
    }
    Ok(Source { name: name.to_owned(), revision, document, types, examples })
}

/// The oldest document is in an older dialect of JSON Schema, which has the types under `definitions`.
fn in_our_dialect(mut document: Value) -> Value {
    let Some(types) = document.as_object_mut().and_then(|members| members.remove("definitions")) else {
        return document;
    };
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    document["$defs"] = types;
    name_references_anew(&mut document);
    document
}

fn name_references_anew(schema: &mut Value) {
    match schema {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix("#/definitions/") {
                *text = format!("#/$defs/{name}");
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(name_references_anew),
        Value::Object(members) => members.values_mut().for_each(name_references_anew),
        _ => {}
    }
}

/// The extension's schema is published apart from the revision's.
const TASKS: &str = "tasks-extension";
