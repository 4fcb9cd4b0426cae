//! The report: a table to read at a glance, or JSON.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};
use mrtr_schema::Revision;
use serde_json::json;

use crate::folder::Kind;
use crate::judge::{Status, Verdict};

/// Returns the report as JSON.
pub fn as_json(verdicts: &[Verdict]) -> Result<String> {
    let report = json!({ "files": verdicts, "totals": Totals::of(verdicts.iter()).as_json() });
    Ok(serde_json::to_string_pretty(&report)?)
}

/// Returns the report as a table, with the remarks. Paths are shown as seen from `root`.
pub fn as_table(verdicts: &[Verdict], root: &Path) -> String {
    let sections = [
        table(verdicts).to_string(),
        not_defined(verdicts),
        remarks(verdicts, root),
        Totals::of(verdicts.iter()).sentence(),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Makes a row per type and a column per revision: examples that passed, and counter-examples that were refused.
fn table(verdicts: &[Verdict]) -> Table {
    let revisions: Vec<_> = Revision::ALL.into_iter().filter(|r| verdicts.iter().any(|v| v.revision == *r)).collect();
    let mut rows: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.status != Status::NotDefined) {
        rows.entry(&verdict.type_name).or_default().push(verdict);
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let heading = |text: &str| Cell::new(text).add_attribute(Attribute::Bold);
    table.set_header(std::iter::once(heading("type")).chain(revisions.iter().map(|r| heading(r.as_str()))));
    for (type_name, verdicts) in &rows {
        let cells = revisions.iter().map(|r| cell(verdicts.iter().filter(|v| v.revision == *r).copied()));
        table.add_row(std::iter::once(Cell::new(type_name)).chain(cells));
    }
    let totals = revisions.iter().map(|r| cell(verdicts.iter().filter(|v| v.revision == *r)));
    table.add_row(std::iter::once(heading("total")).chain(totals));
    table
}

fn cell<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Cell {
    let totals = Totals::of(verdicts);
    let (text, color) = match totals {
        Totals { failed: 0, passed: 0, refused: 0, lenient: 0, .. } => ("–".to_owned(), Color::DarkGrey),
        Totals { failed: 0, lenient: 0, .. } => (totals.counts(), Color::Green),
        Totals { failed: 0, lenient, .. } => (format!("{}, {lenient} lenient only", totals.counts()), Color::Yellow),
        Totals { failed, .. } => (format!("{}, {failed} FAILED", totals.counts()), Color::Red),
    };
    Cell::new(text).fg(color).set_alignment(CellAlignment::Right)
}

fn not_defined(verdicts: &[Verdict]) -> String {
    let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.status == Status::NotDefined) {
        *missing.entry(&verdict.type_name).or_default() += 1;
    }
    if missing.is_empty() {
        return String::new();
    }
    let types: Vec<_> = missing.iter().map(|(type_name, files)| format!("{type_name} ({files})")).collect();
    format!("Types that are not defined here, and how many files they have: {}", types.join(", "))
}

fn remarks(verdicts: &[Verdict], root: &Path) -> String {
    let remark = |verdict: &Verdict| {
        let word = match verdict.status {
            Status::Failed => "FAILED",
            Status::LenientOnly => "lenient only",
            Status::Passed | Status::NotDefined => "note",
        };
        let file = verdict.file.strip_prefix(root).unwrap_or(&verdict.file).display();
        let heading = format!("{word}: {file} as {} of {}", verdict.type_name, verdict.revision);
        std::iter::once(&heading).chain(&verdict.remarks).map(String::as_str).collect::<Vec<_>>().join("\n    ")
    };
    let worth_saying = verdicts.iter().filter(|verdict| !verdict.remarks.is_empty());
    worth_saying.map(remark).collect::<Vec<_>>().join("\n")
}

#[derive(Default, Clone, Copy)]
struct Totals {
    passed: usize,
    refused: usize,
    lenient: usize,
    not_defined: usize,
    failed: usize,
}

impl Totals {
    fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut totals = Self::default();
        for verdict in verdicts {
            let count = match (verdict.status, verdict.kind) {
                (Status::Passed, Kind::Example) => &mut totals.passed,
                (Status::Passed, Kind::CounterExample) => &mut totals.refused,
                (Status::LenientOnly, _) => &mut totals.lenient,
                (Status::NotDefined, _) => &mut totals.not_defined,
                (Status::Failed, _) => &mut totals.failed,
            };
            *count += 1;
        }
        totals
    }

    fn counts(&self) -> String {
        if self.refused == 0 { self.passed.to_string() } else { format!("{} + {} refused", self.passed, self.refused) }
    }

    fn sentence(&self) -> String {
        let Self { passed, refused, lenient, not_defined, failed } = self;
        let examples = if *passed == 1 { "example" } else { "examples" };
        let (counter_examples, were) =
            if *refused == 1 { ("counter-example", "was") } else { ("counter-examples", "were") };
        format!(
            "{passed} {examples} passed, {refused} {counter_examples} {were} refused, {lenient} passed leniently only, \
             {not_defined} of types not defined here, {failed} failed"
        )
    }

    fn as_json(&self) -> serde_json::Value {
        let Self { passed, refused, lenient, not_defined, failed } = self;
        json!({
            "passed": passed, "refused": refused, "lenientOnly": lenient, "notDefined": not_defined, "failed": failed,
        })
    }
}
