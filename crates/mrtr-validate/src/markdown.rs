//! The JSON of a document, judged where it stands, and the report on it.

mod blocks;
mod conversation;
mod judged;
mod recognise;
mod relaxed;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};
use mrtr_schema::Revision;
use serde_json::{Value, json};

use crate::judge::Judge;
use judged::{Applied, Finding, Judged, Status, apply_errata, load_errata};
use recognise::Recogniser;

/// A document to judge.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "what is to be judged, as what, and what is known of it")]
pub struct Document<'a> {
    /// The file of the document.
    pub file: &'a Path,
    /// The revision that the document is about.
    pub revision: Revision,
    /// The file with the document's known mistakes.
    pub errata: Option<&'a Path>,
}

/// The verdict on a document.
#[derive(Debug)]
pub struct DocumentVerdict {
    file: PathBuf,
    revision: Revision,
    blocks: Vec<Judged>,
    errata: Applied,
}

impl Document<'_> {
    /// Judges each block of JSON in the document.
    pub fn judge(&self) -> Result<DocumentVerdict> {
        let Self { file, revision, errata } = *self;
        let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
        let blocks = blocks::blocks(&text).with_context(|| format!("in {}", file.display()))?;
        let errata = load_errata(errata)?;

        let judge = Judge::of_our_own(revision);
        let mut recogniser = Recogniser::new(revision);
        let mut blocks: Vec<_> = blocks.iter().map(|block| Judged::of(block, &judge, &mut recogniser)).collect();
        let errata = apply_errata(&errata, &text, &mut blocks);
        Ok(DocumentVerdict { file: file.to_owned(), revision, blocks, errata })
    }
}

impl DocumentVerdict {
    /// Returns true if there is a mistake that is not known, or a known one that is not there.
    pub fn is_failure(&self) -> bool {
        !self.errata.stale.is_empty() || self.blocks.iter().any(|block| block.status() == Status::Failed)
    }

    /// Counts the blocks of JSON.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the report as JSON.
    pub fn as_json(&self) -> Result<String> {
        as_json(self)
    }

    /// Returns the report for people.
    pub fn as_text(&self) -> String {
        as_text(self)
    }
}

pub(crate) fn as_json(verdict: &DocumentVerdict) -> Result<String> {
    let report = json!({
        "file": verdict.file,
        "revision": verdict.revision.as_str(),
        "blocks": verdict.blocks.iter().map(block_as_json).collect::<Vec<_>>(),
        "prose": verdict.errata.prose,
        "staleErrata": verdict.errata.stale,
        "unconfirmedErrata": verdict.errata.unconfirmed,
        "totals": Totals::of(verdict).as_json(),
    });
    Ok(serde_json::to_string_pretty(&report)?)
}

pub(crate) fn as_text(verdict: &DocumentVerdict) -> String {
    let blocks = if verdict.blocks.is_empty() { "no JSON blocks".to_owned() } else { table(verdict).to_string() };
    let sections = [
        format!("{} as {}", verdict.file.display(), verdict.revision),
        blocks,
        findings(verdict),
        errata(verdict),
        Totals::of(verdict).sentence(),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn block_as_json(block: &Judged) -> Value {
    json!({
        "block": block.block,
        "line": block.line,
        "type": block.type_name,
        "status": block.status(),
        "notDefined": block.not_defined,
        "findings": block.findings,
    })
}

fn table(verdict: &DocumentVerdict) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let heading = |text: &str| Cell::new(text).add_attribute(Attribute::Bold);
    table.set_header(["line", "block", "type", "verdict"].map(heading));
    for block in &verdict.blocks {
        let number = |number: usize| Cell::new(number).set_alignment(CellAlignment::Right);
        let (text, color) = shown(block);
        table.add_row([
            number(block.line),
            number(block.block),
            Cell::new(&block.type_name),
            Cell::new(text).fg(color),
        ]);
    }
    table
}

fn shown(block: &Judged) -> (String, Color) {
    match block.status() {
        Status::Passed => ("passed".to_owned(), Color::Green),
        Status::Erratum => ("erratum".to_owned(), Color::Yellow),
        Status::NotDefined => (format!("not defined here: {}", block.not_defined.join(", ")), Color::DarkGrey),
        Status::Failed => ("FAILED".to_owned(), Color::Red),
    }
}

/// Lists each finding with its file and line, as compilers do, so that an editor can jump there.
fn findings(verdict: &DocumentVerdict) -> String {
    let with_findings = verdict.blocks.iter().filter(|block| !block.findings.is_empty());
    with_findings.map(|block| block_findings(verdict, block)).collect::<Vec<_>>().join("\n")
}

fn block_findings(verdict: &DocumentVerdict, block: &Judged) -> String {
    let label = if block.status() == Status::Failed { "FAILED: " } else { "" };
    let mut text = format!("{label}block {}, {}", block.block, block.type_name);
    for Finding { line, path, reason, erratum } in &block.findings {
        let said = erratum.as_ref().map_or_else(String::new, |erratum| format!("\n        erratum: {erratum}"));
        let _ = write!(text, "\n    {}:{line}: {path}: {reason}{said}", verdict.file.display());
    }
    text
}

fn errata(verdict: &DocumentVerdict) -> String {
    let file = verdict.file.display();
    let prose = verdict.errata.prose.iter();
    let prose = prose.map(|prose| format!("{file}:{}: {:?}\n    erratum: {}", prose.line, prose.text, prose.reason));
    let stale = verdict.errata.stale.iter().map(|erratum| format!("FAILED: erratum that matches nothing: {erratum}"));
    let unconfirmed = verdict.errata.unconfirmed.iter();
    let unconfirmed = unconfirmed.map(|erratum| format!("erratum of a type that is not defined here: {erratum}"));
    prose.chain(stale).chain(unconfirmed).collect::<Vec<_>>().join("\n")
}

#[derive(Default)]
struct Totals {
    passed: usize,
    with_errata: usize,
    not_defined: usize,
    failed: usize,
    prose: usize,
    stale: usize,
}

impl Totals {
    fn of(verdict: &DocumentVerdict) -> Self {
        let mut totals =
            Self { prose: verdict.errata.prose.len(), stale: verdict.errata.stale.len(), ..Self::default() };
        for block in &verdict.blocks {
            let count = match block.status() {
                Status::Passed => &mut totals.passed,
                Status::Erratum => &mut totals.with_errata,
                Status::NotDefined => &mut totals.not_defined,
                Status::Failed => &mut totals.failed,
            };
            *count += 1;
        }
        totals
    }

    fn sentence(&self) -> String {
        let Self { passed, with_errata, not_defined, failed, prose, stale } = self;
        format!(
            "{passed} blocks passed, {with_errata} with known errata, {not_defined} of types not defined here, \
             {failed} failed; {prose} errata of prose, {stale} errata that match nothing"
        )
    }

    fn as_json(&self) -> Value {
        let Self { passed, with_errata, not_defined, failed, prose, stale } = self;
        json!({
            "passed": passed, "errata": with_errata, "notDefined": not_defined, "failed": failed,
            "prose": prose, "staleErrata": stale,
        })
    }
}
