//! `validate-examples --markdown`: the JSON of a document, judged where it stands.

mod blocks;
mod conversation;
mod errata;
mod inputs;
mod judged;
mod places;
mod recognise;
mod relaxed;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mrtr_schema::Revision;

use super::judge::Judge;
use crate::{Outcome, workspace};
use errata::Applied;
use judged::{Judged, Status};
use recognise::Recogniser;

/// A document to judge.
pub(crate) struct Document<'a> {
    pub(crate) file: &'a Path,
    pub(crate) revision: Revision,
    pub(crate) errata: Option<&'a Path>,
}

/// What was found about a document.
struct Verdict {
    file: PathBuf,
    revision: Revision,
    blocks: Vec<Judged>,
    errata: Applied,
}

pub(crate) fn run(document: &Document<'_>, as_json: bool) -> Result<Outcome> {
    let verdict = judge(document)?;
    workspace::print(&if as_json { report::as_json(&verdict)? } else { report::as_text(&verdict) })?;
    Ok(if verdict.is_failure() { Outcome::Failed } else { Outcome::Passed })
}

fn judge(document: &Document<'_>) -> Result<Verdict> {
    let Document { file, revision, errata } = *document;
    let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let blocks = blocks::blocks(&text).with_context(|| format!("in {}", file.display()))?;
    let errata = errata::load(file, errata)?;

    let judge = Judge::of_our_own(revision);
    let mut recogniser = Recogniser::new(revision);
    let mut blocks: Vec<_> = blocks.iter().map(|block| Judged::of(block, &judge, &mut recogniser)).collect();
    let errata = errata::apply(&errata, &text, &mut blocks);
    Ok(Verdict { file: file.to_owned(), revision, blocks, errata })
}

impl Verdict {
    fn is_failure(&self) -> bool {
        !self.errata.stale.is_empty() || self.blocks.iter().any(|block| block.status() == Status::Failed)
    }
}
