//! Counts the checks that the suite wrote down for each scenario, and writes the report: a row for each scenario, and a
//! sentence.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};
use serde::Deserialize;

/// The checks of a scenario by their outcome, and the remarks on those that did not pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) warned: usize,
    /// Checks that were skipped, or that only note something.
    pub(crate) other: usize,
    pub(crate) remarks: Vec<String>,
    nothing_was_checked: bool,
}

/// One check as the suite writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: Status,
    error_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

impl Tally {
    /// Counts a scenario's checks. A scenario without any did not run, and has failed.
    pub(crate) fn of(results: &Path, scenario: &str) -> Result<Self> {
        let Some(file) = checks_file(results, scenario)? else {
            let mut tally = Self::default();
            tally.note("it did not run");
            return Ok(tally);
        };
        let text = fs::read_to_string(&file)?;
        Self::read(&text).with_context(|| format!("{} cannot be read", file.display()))
    }

    fn read(text: &str) -> Result<Self> {
        let mut tally = Self::default();
        for Check { id, status, error_message } in serde_json::from_str::<Vec<Check>>(text)? {
            let remark = || format!("{id}: {}", error_message.as_deref().unwrap_or("no reason given"));
            match status {
                Status::Success => tally.passed += 1,
                Status::Failure => tally.note(remark()),
                Status::Warning => {
                    tally.warned += 1;
                    tally.remarks.push(remark());
                }
                Status::Skipped | Status::Info => tally.other += 1,
            }
        }
        if tally.passed == 0 && tally.failed == 0 {
            tally.nothing_was_checked = true;
            tally.note("nothing was checked");
        }
        Ok(tally)
    }

    /// Returns true if the suite ran the scenario and skipped all that is in it.
    pub(crate) fn was_skipped(&self) -> bool {
        self.nothing_was_checked && self.other > 0 && self.warned == 0
    }

    /// Counts a failure.
    pub(crate) fn note(&mut self, remark: impl Into<String>) {
        self.failed += 1;
        self.remarks.push(remark.into());
    }
}

/// The checks of a scenario, in a folder that is named for it and the time.
fn checks_file(results: &Path, scenario: &str) -> Result<Option<PathBuf>> {
    if !results.is_dir() {
        return Ok(None);
    }
    for entry in fs::read_dir(results)? {
        let folder = entry?.path();
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let file = folder.join("checks.json");
        if is_of(name, scenario) && file.is_file() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Returns true if a folder such as `server-tools-list-2026-11-16T05-20-19-326Z` is of this scenario.
fn is_of(folder: &str, scenario: &str) -> bool {
    let is_time = |rest: &str| rest.len() == TIME.len() && rest.starts_with('-') && rest.ends_with('Z');
    let names = [folder, folder.strip_prefix("server-").unwrap_or(folder)];
    names.iter().any(|name| name.strip_prefix(scenario).is_some_and(is_time))
}

const TIME: &str = "-2026-11-16T05-20-19-326Z";

/// A scenario, and its result.
pub(crate) struct Row {
    side: &'static str,
    scenario: &'static str,
    /// None for a scenario that the suite skips, whatever the server does.
    tally: Option<Tally>,
}

impl Row {
    pub(crate) fn expected(side: &'static str, scenario: &'static str, tally: Tally) -> Self {
        Self { side, scenario, tally: Some(tally) }
    }

    pub(crate) fn skipped(side: &'static str, scenario: &'static str) -> Self {
        Self { side, scenario, tally: None }
    }

    /// A warning counts as a failure: it is about what the specification says one should do.
    pub(crate) fn has_failed(&self) -> bool {
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

pub(crate) fn as_table(rows: &[Row]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_counted_and_the_bad_ones_told() {
        let text = r#"[
            { "id": "a", "status": "SUCCESS", "name": "A" },
            { "id": "b", "status": "FAILURE", "errorMessage": "no b" },
            { "id": "c", "status": "WARNING" },
            { "id": "d", "status": "SKIPPED" },
            { "id": "e", "status": "INFO" }
        ]"#;
        let remarks = vec!["b: no b".to_owned(), "c: no reason given".to_owned()];
        let expected = Tally { passed: 1, failed: 1, warned: 1, other: 2, remarks, nothing_was_checked: false };
        assert_eq!(Tally::read(text).ok(), Some(expected));
        assert!(Tally::read(r#"[{ "id": "a", "status": "MAYBE" }]"#).is_err());
    }

    #[test]
    fn a_scenario_that_checked_nothing_has_failed() {
        for text in ["[]", r#"[{ "id": "d", "status": "SKIPPED" }]"#] {
            assert_eq!(Tally::read(text).map(|tally| tally.failed).ok(), Some(1), "{text}");
        }
        let results = tempfile::tempdir().expect("a folder can be made");
        assert_eq!(Tally::of(results.path(), "tools-list").map(|tally| tally.failed).ok(), Some(1));
    }

    #[test]
    fn a_folder_belongs_to_the_scenario_that_it_is_named_for() {
        assert!(is_of("server-tools-list-2026-11-16T05-20-19-326Z", "tools-list"));
        assert!(is_of("server-server-stateless-2026-11-16T05-20-17-196Z", "server-stateless"));
        assert!(is_of("tools_call-2026-11-16T05-20-31-102Z", "tools_call"));
        assert!(!is_of("json-schema-2020-12-preservation-2026-11-16T05-20-37-414Z", "json-schema-2020-12"));
    }
}
