//! `cargo xtask validate-examples`: a specification's example JSON, checked against the schemas and the types.

mod closed;
pub(crate) mod folder;
mod judge;
mod markdown;
mod pinpoint;
mod report;
mod self_test;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use mrtr_schema::Revision;

use crate::{Outcome, workspace};
use folder::{Example, Kind};
pub(crate) use judge::as_text;
use judge::{Judge, Status, Verdict};
use markdown::Document;

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
        let document = Document { file, revision, errata: options.errata.as_deref() };
        return markdown::run(&document, options.json);
    }
    let verdicts = match (&options.dir, options.revision) {
        (Some(dir), Some(revision)) => judge_folder(&Judge::of_strangers(revision), dir, Kind::Example)?,
        _ => own_verdicts(options.revision)?,
    };
    workspace::print(&if options.json { report::as_json(&verdicts)? } else { report::as_table(&verdicts) })?;
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
        verdicts.extend(judge_folder(&judge, &folder.join("examples"), Kind::Example)?);
        verdicts.extend(judge_folder(&judge, &folder.join("counter-examples"), Kind::CounterExample)?);
    }
    Ok(verdicts)
}

/// One revision, or all of them.
fn revisions(only: Option<Revision>) -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter().filter(move |revision| only.is_none_or(|only| only == *revision))
}

fn judge_folder(judge: &Judge, folder: &std::path::Path, kind: Kind) -> Result<Vec<Verdict>> {
    let examples = folder::examples(folder, kind).with_context(|| format!("in {}", folder.display()))?;
    Ok(examples.iter().map(|example: &Example| judge.judge(example)).collect())
}
