//! `cargo xtask validate-examples`: a specification's example JSON, checked against the schemas and the types.

mod self_test;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mrtr_schema::Revision;
use mrtr_validate::{Document, Judge, Kind, Status, Verdict, report};

use crate::{Outcome, workspace};

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// A folder laid out as `<Type>/*.json`, instead of the project's own examples
    #[arg(long, value_name = "DIR", requires = "revision")]
    dir: Option<PathBuf>,
    /// The revision of that folder or document, or the only one to look at: draft-2026-02, sep-2322 or 2026-07-28
    #[arg(long, value_name = "REVISION")]
    revision: Option<Revision>,
    /// A document whose JSON blocks are judged where they stand
    #[arg(long, value_name = "FILE", requires = "revision", conflicts_with_all = ["dir", "self_test"])]
    markdown: Option<PathBuf>,
    /// The document's known mistakes, instead of `schema/errata/<its name>.json`
    #[arg(long, value_name = "FILE", requires = "markdown")]
    errata: Option<PathBuf>,
    /// Renames each field in turn, in examples and in schemas, and reports which change went unnoticed
    #[arg(long, conflicts_with = "dir")]
    self_test: bool,
    /// Writes the report as JSON
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
        return self_test::run(options.revision, options.json);
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

/// The project's own examples, of one revision or of all.
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
    // The project's own for a document of that name, if there is one.
    let own = workspace::root().join("schema/errata").join(file.file_stem().unwrap_or_default());
    let own = Some(own.with_added_extension("json")).filter(|own| own.exists());
    let document = Document { file, revision, errata: options.errata.as_deref().or(own.as_deref()) };
    let verdict = document.judge()?;
    workspace::print(&if options.json { verdict.as_json()? } else { verdict.as_text() })?;
    Ok(if verdict.is_failure() { Outcome::Failed } else { Outcome::Passed })
}
