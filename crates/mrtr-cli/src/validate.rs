//! `mrtr validate`: a specification's example JSON, checked against the schemas and the types.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use mrtr::schema::Revision;
use mrtr_validate::{Document, Judge, Kind, Status, Verdict, report};

use crate::failure::{Code, Failure};
use crate::shown::print;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Check this Markdown document, or this folder laid out as `<Type>/*.json`
    path: PathBuf,
    /// Check against this revision: 2025-06-18, 2025-11-25, draft-2026-02, sep-2322 or 2026-07-28
    #[arg(long, default_value_t = Revision::V2026_07_28, value_name = "REVISION")]
    revision: Revision,
    /// Let the document's mistakes that this JSON file lists pass, and fail if one of them is gone
    #[arg(long, value_name = "FILE")]
    errata: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let path = &options.path;
    let has_failed = if path.is_dir() {
        folder(path, options)?
    } else if path.is_file() {
        document(path, options)?
    } else {
        return Err(Failure::usage(format!("there is no {}", path.display()))
            .next("give a Markdown document, or a folder laid out as <Type>/*.json")
            .into());
    };
    Ok(if has_failed { Code::Failed.into() } else { ExitCode::SUCCESS })
}

/// Validates the examples in a folder. Returns true if it found a mistake.
fn folder(path: &Path, options: &Options) -> Result<bool> {
    let verdicts = Judge::of_strangers(options.revision).folder(path, Kind::Example).map_err(|error| {
        Failure::usage(format!("{error:#}")).next("folders are named for types: CallToolRequest/book.json")
    })?;
    let text = if options.json { report::as_json(&verdicts)? } else { report::as_table(&verdicts, path) };
    print(&format!("{text}\n"))?;
    if verdicts.iter().all(|verdict| verdict.status == Status::NotDefined) {
        return Err(Failure::usage(format!("no folder in it is named for a type of {}", options.revision))
            .next("folders are named for types: CallToolRequest/book.json; --revision chooses another")
            .into());
    }
    Ok(verdicts.iter().any(Verdict::is_failure))
}

/// Validates the blocks of a document. Returns true if it found a mistake.
fn document(path: &Path, options: &Options) -> Result<bool> {
    let document = Document { file: path, revision: options.revision, errata: options.errata.as_deref() };
    let verdict = document.judge()?;
    let text = if options.json { verdict.as_json()? } else { verdict.as_text() };
    print(&format!("{text}\n"))?;
    if verdict.blocks() == 0 {
        return Err(Failure::usage(format!("{} has no block of JSON", path.display()))
            .next("give a Markdown document with fenced blocks of `json`")
            .into());
    }
    Ok(verdict.is_failure())
}

const EXAMPLES: &str = "\
Examples:
  mrtr validate docs/specification.md
  mrtr validate schema/2026-07-28/examples
  mrtr validate sep-2322.md --revision sep-2322 --errata known.json --json

--errata takes a list such as [{\"kind\": \"json\", \"block\": 3, \"path\": \"$.id\", \"reason\": \"…\"}].

Exit codes: 0 all is right, 1 a mistake was found, 2 there was nothing to look at.";
