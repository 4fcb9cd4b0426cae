//! The marks of cells: letters for what an SDK does not have, numbers for its faults, and what they stand for.

use std::fmt::Write as _;

use super::super::cell::Cell;
use super::super::evidence::Shown;
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
}

fn letter(place: usize) -> char {
    char::from(b'a' + u8::try_from(place).unwrap_or(u8::MAX).min(25))
}

fn number(fault: &Fault) -> usize {
    FAULTS.iter().position(|other| std::ptr::eq(other, fault)).map_or(0, |place| place + 1)
}

/// What each number stands for, with the exchange that shows it.
pub(super) fn faults(shown: &[Shown]) -> String {
    let mut text = FAULTS_OPENING.to_owned();
    for (fault, Shown { sent, came, but }) in FAULTS.iter().zip(shown) {
        let (peer, side, number) = (fault.peer, fault.side.word(), number(fault));
        let _ = write!(
            text,
            "\n### {number}. {peer}, as a {side}\n\nIn `{}`, {}: {}.\n\nClause: {}.\n\n```text\nsent: {sent}\ncame: {came}\n```\n{}",
            fault.scenario,
            fault.era.word(),
            fault.what,
            fault.clause,
            indented(but),
        );
    }
    text
}

/// A sentence, and the message that it is about as a block, if there is one.
fn indented(but: &str) -> String {
    match but.split_once('\n') {
        Some((sentence, message)) => format!("\n{sentence}\n\n```text\n{message}\n```\n"),
        None if but.is_empty() => String::new(),
        None => format!("\n{but}\n"),
    }
}

const FAULTS_OPENING: &str = "
## Faults of others

Each was shown once more by the run that wrote this page, in an exchange with the other side alone. Those that need a \
script have it in [`xtask/interop/exchanges`](../xtask/interop/exchanges).
";
