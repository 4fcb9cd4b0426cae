//! `cargo xtask schema`: the JSON Schemas that are generated from the types.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use mrtr_schema::{Dialect, Revision, json_schema};

use crate::{Outcome, workspace};

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Write nothing, and fail where a file is not what would be written
    #[arg(long)]
    check: bool,
}

impl Options {
    pub(crate) fn check() -> Self {
        Self { check: true }
    }
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let mut outcome = Outcome::Passed;
    for (path, text) in documents() {
        let shown = path.strip_prefix(workspace::root()).unwrap_or(&path).display();
        if !options.check {
            let folder = path.parent().context("a schema lies in the folder of its revision")?;
            fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
            fs::write(&path, text).with_context(|| format!("could not write {shown}"))?;
            println!("wrote {shown}");
        } else if fs::read_to_string(&path).ok().as_deref() == Some(&text) {
            println!("as generated: {shown}");
        } else {
            println!("differs from the types: {shown}; run `cargo xtask schema`");
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}

/// The content of each file: for each revision what we send, and what we accept.
fn documents() -> impl Iterator<Item = (PathBuf, String)> {
    let dialects = Revision::ALL.into_iter().flat_map(|revision| [revision.strict(), revision.lenient()]);
    dialects.map(|dialect| (path(dialect), format!("{:#}\n", json_schema::document(dialect))))
}

fn path(dialect: Dialect) -> PathBuf {
    let name = if dialect.strict { "schema.json" } else { "schema.lenient.json" };
    workspace::schema_folder(dialect.revision).join(name)
}
