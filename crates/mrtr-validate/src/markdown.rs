//! The JSON of a document, judged where it stands.

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

use crate::judge::Judge;
use errata::Applied;
use judged::{Judged, Status};
use recognise::Recogniser;

/// A document to judge.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "what is to be judged, as what, and what is known of it")]
pub struct Document<'a> {
    /// The file.
    pub file: &'a Path,
    /// The revision that it is about.
    pub revision: Revision,
    /// The file of its known mistakes.
    pub errata: Option<&'a Path>,
}

/// What was found about a document.
#[derive(Debug)]
pub struct DocumentVerdict {
    file: PathBuf,
    revision: Revision,
    blocks: Vec<Judged>,
    errata: Applied,
}

impl Document<'_> {
    /// Judges each block of JSON in it.
    pub fn judge(&self) -> Result<DocumentVerdict> {
        let Self { file, revision, errata } = *self;
        let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
        let blocks = blocks::blocks(&text).with_context(|| format!("in {}", file.display()))?;
        let errata = errata::load(errata)?;

        let judge = Judge::of_our_own(revision);
        let mut recogniser = Recogniser::new(revision);
        let mut blocks: Vec<_> = blocks.iter().map(|block| Judged::of(block, &judge, &mut recogniser)).collect();
        let errata = errata::apply(&errata, &text, &mut blocks);
        Ok(DocumentVerdict { file: file.to_owned(), revision, blocks, errata })
    }
}

impl DocumentVerdict {
    /// Whether there is a mistake that is not known, or a known one that is not there.
    pub fn is_failure(&self) -> bool {
        !self.errata.stale.is_empty() || self.blocks.iter().any(|block| block.status() == Status::Failed)
    }

    /// How many blocks of JSON there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The report as JSON.
    pub fn as_json(&self) -> Result<String> {
        report::as_json(self)
    }

    /// The report for people.
    pub fn as_text(&self) -> String {
        report::as_text(self)
    }
}
