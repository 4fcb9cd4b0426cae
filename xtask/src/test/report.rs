//! The end of a test run: the time of each stage, the failures, and the stages that did not run.

use std::time::Duration;

use comfy_table::{CellAlignment, Table};

use crate::Outcome;

/// A stage, and its end.
pub(super) struct Row {
    pub(super) stage: &'static str,
    /// None for a stage that did not run.
    pub(super) time: Option<Duration>,
    pub(super) ended: Ended,
}

/// The end of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    With(Outcome),
    /// An error ended the stage, and no other stage runs after it.
    Stopped(String),
    NotReached,
    NotSelected,
}

impl Row {
    pub(super) fn unmeasured(stage: &'static str, ended: Ended) -> Self {
        Self { stage, time: None, ended }
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.ended, Ended::With(Outcome::Failed) | Ended::Stopped(_))
    }

    fn words(&self) -> &'static str {
        match self.ended {
            Ended::With(Outcome::Passed) => "passed",
            Ended::With(Outcome::LeftOut(_)) => "left out",
            Ended::With(Outcome::Failed) | Ended::Stopped(_) => "FAILED",
            Ended::NotReached => "not reached",
            Ended::NotSelected => "not selected",
        }
    }
}

/// Stages that were not selected have no row.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["stage", "seconds", "outcome"]);
    for row in rows.iter().filter(|row| row.ended != Ended::NotSelected) {
        table.add_row([row.stage, &row.time.map(seconds).unwrap_or_default(), row.words()]);
    }
    table.add_row(["all", &seconds(rows.iter().filter_map(|row| row.time).sum()), ""]);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("\n{table}")
}

fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64())
}

/// The last lines that a contributor reads: the stages that did not run, which must not pass for passed, and then those
/// that failed.
pub(super) fn last_lines(rows: &[Row]) -> Vec<String> {
    let not_run = |ended: &Ended, reason: &str| {
        let names: Vec<_> = rows.iter().filter(|row| row.ended == *ended).map(|row| row.stage).collect();
        (!names.is_empty()).then(|| format!("{reason}: {}", names.join(", ")))
    };
    let left_out = rows.iter().filter_map(|row| match row.ended {
        Ended::With(Outcome::LeftOut(lack)) => Some(format!("left out: {}, for lack of {lack}", row.stage)),
        _ => None,
    });
    let failed = rows.iter().filter(|row| row.has_failed()).map(|row| match &row.ended {
        Ended::Stopped(error) => format!("failed: {}: {error}", row.stage),
        _ => format!("failed: {}", row.stage),
    });
    let not_selected = not_run(&Ended::NotSelected, "not selected");
    let not_reached = not_run(&Ended::NotReached, "not reached");
    not_selected.into_iter().chain(left_out).chain(not_reached).chain(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stage: &'static str, ended: Ended) -> Row {
        Row { stage, time: Some(Duration::from_millis(1250)), ended }
    }

    #[test]
    fn what_was_left_out_is_named_at_the_end_and_fails_nothing() {
        let rows =
            [row("schema", Ended::With(Outcome::Passed)), row("conformance", Ended::With(Outcome::LeftOut("npm")))];
        assert_eq!(last_lines(&rows), ["left out: conformance, for lack of npm"]);
        assert!(!rows.iter().any(Row::has_failed));
    }

    #[test]
    fn what_failed_is_named_last() {
        let rows = [
            row("format", Ended::NotSelected),
            row("public-api", Ended::With(Outcome::Failed)),
            row("conformance", Ended::With(Outcome::LeftOut("npm"))),
            row("tests", Ended::Stopped("no cargo".to_owned())),
            row("docs", Ended::NotReached),
        ];
        let expected = [
            "not selected: format",
            "left out: conformance, for lack of npm",
            "not reached: docs",
            "failed: public-api",
            "failed: tests: no cargo",
        ];
        assert_eq!(last_lines(&rows), expected);
    }

    #[test]
    fn where_all_passed_nothing_is_said_after_the_table() {
        let rows = [row("public-api", Ended::With(Outcome::Passed)), Row::unmeasured("docs", Ended::NotSelected)];
        assert_eq!(last_lines(&rows[..1]), Vec::<String>::new());
        let table = table(&rows);
        let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        let expected: [&[&str]; 4] =
            [&[], &["stage", "seconds", "outcome"], &["public-api", "1.2", "passed"], &["all", "1.2"]];
        assert_eq!(lines, expected);
    }
}
