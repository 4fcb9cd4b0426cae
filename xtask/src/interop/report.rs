//! What a run came to, for the person who started it.

use std::fmt::Write as _;

use comfy_table::{Table, presets};

use super::as_they_come::Row;
use super::cell::Cell;
use super::verdict::Verdict;

/// How many cells came to what.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) passed: usize,
    pub(super) absent: usize,
    pub(super) faults: usize,
    pub(super) unexplained: usize,
}

impl Totals {
    pub(super) fn of(cells: &[(Cell, Verdict)]) -> Self {
        let mut totals = Self::default();
        for (_, verdict) in cells {
            *match verdict {
                Verdict::Passed => &mut totals.passed,
                Verdict::Absent(_) => &mut totals.absent,
                Verdict::Fault(_) => &mut totals.faults,
                Verdict::Unexpected(_) | Verdict::Failed(_) => &mut totals.unexplained,
            } += 1;
        }
        totals
    }
}

/// The rows beside the matrix, and what did not go as it is known to.
pub(super) fn text(cells: &[(Cell, Verdict)], rows: &[Row]) -> String {
    let mut text = format!("{}\n\n", table(rows));
    for (cell, verdict) in cells.iter().filter(|(_, verdict)| !verdict.is_explained()) {
        let _ = match verdict {
            Verdict::Unexpected(known) => writeln!(text, "PASSES NOW: {cell}\n    was known to fail: {known}"),
            Verdict::Failed(why) => writeln!(text, "FAILED: {cell}\n    {why}"),
            _ => Ok(()),
        };
    }
    let Totals { passed, absent, faults, unexplained } = Totals::of(cells);
    let _ = write!(
        text,
        "{} cells: {passed} passed, {absent} are not in the peer's SDK, {faults} are faults of the peer, {unexplained} \
         unexplained.",
        cells.len()
    );
    text
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["who", "over", "version", "outcome", "what happened"]);
    for Row { who, transport, seen } in rows {
        let (version, outcome, what) = match seen {
            Ok(told) => (told.version.as_str(), "passed", told.what.to_owned()),
            Err(error) => ("", "FAILED", format!("{error:#}")),
        };
        table.add_row([who.as_str(), transport.name(), version, outcome, &what]);
    }
    table
}
