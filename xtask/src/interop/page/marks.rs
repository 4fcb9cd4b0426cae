//! The marks of cells: letters for what an SDK does not have, numbers for its faults, and what they stand for.

use std::fmt::Write as _;

use super::super::cell::Cell;
use super::super::faults::{FAULTS, Fault};
use super::super::scenario::Transport;
use super::super::verdict::Verdict;

pub(super) struct Marks<'a> {
    /// Each with the SDK that it is about.
    absences: Vec<(&'a str, &'a str)>,
}

impl<'a> Marks<'a> {
    pub(super) fn of(cells: &'a [(Cell, Verdict)]) -> Self {
        let mut absences = Vec::new();
        for (cell, verdict) in cells {
            if let Verdict::Absent(why) = verdict {
                let absence = (cell.peer.name, why.as_str());
                if !absences.contains(&absence) {
                    absences.push(absence);
                }
            }
        }
        absences.sort_unstable();
        Self { absences }
    }

    /// The mark over HTTP, and that over stdio.
    pub(super) fn of_both(&self, cell: impl Fn(Transport) -> Cell, cells: &[(Cell, Verdict)]) -> String {
        let mark = |transport| {
            let cell = cell(transport);
            let found = cells.iter().find(|(other, _)| cell.is(other));
            found.map_or("·".to_owned(), |(cell, verdict)| self.mark(cell, verdict))
        };
        Transport::ALL.map(mark).join(" / ")
    }

    fn mark(&self, cell: &Cell, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Passed => "✓".to_owned(),
            Verdict::Absent(why) => {
                let place = self.absences.iter().position(|absence| *absence == (cell.peer.name, why.as_str()));
                format!("– {}", letter(place.unwrap_or_default()))
            }
            Verdict::Fault(fault) => format!("✗ {}", number(fault)),
            Verdict::Unexpected(_) | Verdict::Failed(_) => "?".to_owned(),
        }
    }

    pub(super) fn absences(&self) -> String {
        let mut text = "\n## What an SDK does not have\n\n".to_owned();
        for (place, (peer, why)) in self.absences.iter().enumerate() {
            let _ = writeln!(text, "- {}: {peer}: {why}", letter(place));
        }
        text
    }

    pub(super) fn faults(&self) -> String {
        String::new()
    }
}

fn letter(place: usize) -> char {
    char::from(b'a' + u8::try_from(place).unwrap_or(u8::MAX).min(25))
}

fn number(fault: &Fault) -> usize {
    FAULTS.iter().position(|other| std::ptr::eq(other, fault)).map_or(0, |place| place + 1)
}
