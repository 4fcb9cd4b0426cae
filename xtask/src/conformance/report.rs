//! The report: a row a scenario, what was said of those that failed, and a sentence.

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};

use super::checks::Tally;

/// A scenario, and how it went.
pub(super) struct Row {
    side: &'static str,
    scenario: &'static str,
    /// Nothing for one that the suite skips, whatever the server does.
    tally: Option<Tally>,
}

impl Row {
    pub(super) fn expected(side: &'static str, scenario: &'static str, tally: Tally) -> Self {
        Self { side, scenario, tally: Some(tally) }
    }

    pub(super) fn skipped(side: &'static str, scenario: &'static str) -> Self {
        Self { side, scenario, tally: None }
    }

    /// A warning counts as a failure: it is about what the specification says one should do.
    pub(super) fn has_failed(&self) -> bool {
        self.tally.as_ref().is_some_and(|tally| tally.failed + tally.warned > 0)
    }

    fn label(&self) -> (&'static str, Color) {
        match &self.tally {
            None => ("skipped", Color::DarkGrey),
            Some(_) if self.has_failed() => ("FAILED", Color::Red),
            Some(_) => ("passed", Color::Green),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let (label, color) = self.label();
        let mut cells = vec![Cell::new(self.side), Cell::new(self.scenario), Cell::new(label).fg(color)];
        if let Some(Tally { passed, failed, warned, other, .. }) = &self.tally {
            let counts = [passed, failed, warned, other];
            cells.extend(counts.map(|count| Cell::new(count).set_alignment(CellAlignment::Right)));
        }
        cells
    }
}

pub(super) fn as_table(rows: &[Row]) -> String {
    let sections = [table(rows).to_string(), remarks(rows), sentence(rows)];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let headings = ["side", "scenario", "outcome", "passed", "failed", "warned", "other"];
    table.set_header(headings.map(|text| Cell::new(text).add_attribute(Attribute::Bold)));
    table.add_rows(rows.iter().map(Row::cells));
    table
}

fn remarks(rows: &[Row]) -> String {
    let remarks = rows.iter().flat_map(|row| {
        let remarks = row.tally.iter().flat_map(|tally| &tally.remarks);
        remarks.map(|remark| format!("{} {}: {remark}", row.side, row.scenario))
    });
    remarks.collect::<Vec<_>>().join("\n")
}

fn sentence(rows: &[Row]) -> String {
    let tallies = || rows.iter().filter_map(|row| row.tally.as_ref());
    let failed = rows.iter().filter(|row| row.has_failed()).count();
    let passed = tallies().count() - failed;
    let skipped = rows.len() - tallies().count();
    let checks: usize = tallies().map(|tally| tally.passed).sum();
    let failures: usize = tallies().map(|tally| tally.failed).sum();
    let warnings: usize = tallies().map(|tally| tally.warned).sum();
    format!(
        "{passed} scenarios passed, {failed} failed, {skipped} skipped by the suite itself; \
         {checks} checks passed, {failures} failed, {warnings} warned."
    )
}
