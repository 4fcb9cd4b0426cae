//! The marks of cells: letters for what an SDK does not have, numbers for its faults, and their meanings.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use crate::evidence::Shown;
use crate::faults::{FAULTS, Fault};
use crate::matrix::{Cell, Verdict};
use crate::peer::{PEERS, version_of};
use crate::scenario::Transport;

pub(crate) struct Marks<'a> {
    /// Reasons, each with the SDK that it is about.
    absences: Vec<(&'a str, &'a str)>,
}

impl<'a> Marks<'a> {
    pub(crate) fn of(cells: &'a [(Cell, Verdict)]) -> Self {
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
    pub(crate) fn of_both(&self, cell: impl Fn(Transport) -> Cell, cells: &[(Cell, Verdict)]) -> String {
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

    /// Explains each letter, with the version of the SDK and the place where it was looked at.
    pub(crate) fn absences(&self) -> Result<String> {
        let mut text = "\n## What an SDK does not have\n\n".to_owned();
        for (mark, (peer, why)) in self.absences.iter().enumerate() {
            let place = looked_at(peer, why).with_context(|| format!("where was it seen of {peer} that {why}?"))?;
            let _ = writeln!(text, "- {}: {peer} {}: {why} ({place})", letter(mark), version(peer)?);
        }
        Ok(text)
    }
}

/// The version that a peer is pinned to, by its name.
fn version(peer: &str) -> Result<String> {
    let peer = PEERS.iter().find(|known| known.name == peer).with_context(|| format!("there is no peer {peer}"))?;
    version_of(peer)
}

/// The place in a peer's source or package that shows that it does not have something.
fn looked_at(peer: &str, why: &str) -> Option<&'static str> {
    let found = LOOKED_AT.iter().find(|(its, says, _)| *its == peer && why.contains(says));
    found.map(|(.., place)| *place)
}

/// The places, by the peer and some words of the reason.
const LOOKED_AT: [(&str, &str, &str); 7] = [
    ("Python 1.x", "legacy era alone", "`mcp/shared/version.py`: `SUPPORTED_PROTOCOL_VERSIONS`"),
    ("Python 2.x", "no tasks", "`mcp/server/extension.py`: methods such as `tasks/get` are an extension's"),
    ("TypeScript", "no tasks", "`@modelcontextprotocol/server`, and the README of `ext-tasks`: \"requester APIs\""),
    ("neva", "one era", "`src/lib.rs`: the feature `legacy-spec` chooses `LATEST_PROTOCOL_VERSION`"),
    ("neva", "modern era first", "`src/client.rs`, without the feature `legacy-spec`"),
    ("neva", "asks nothing", "`src/app/mrtr.rs`: `build_input_required` fails without a question"),
    ("neva", "params.task", "`src/app/context.rs`, with `src/types/tool.rs`: `CallToolRequestParams`"),
];

fn letter(place: usize) -> char {
    char::from(b'a' + u8::try_from(place).unwrap_or(u8::MAX).min(25))
}

fn number(fault: &Fault) -> usize {
    FAULTS.iter().position(|other| std::ptr::eq(other, fault)).map_or(0, |place| place + 1)
}

/// Explains each number, with the exchange that shows it.
pub(crate) fn faults(shown: &[Shown]) -> Result<String> {
    let mut text = FAULTS_OPENING.to_owned();
    for (fault, Shown { sent, came, but }) in FAULTS.iter().zip(shown) {
        let (peer, side, number) = (fault.peer, fault.side.word(), number(fault));
        let _ = write!(
            text,
            "\n### {number}. {peer} {}, as a {side}\n\nIn `{}`, {}: {}.\n\nClause: {}.\n\n```text\nsent: {sent}\ncame: {came}\n```\n{}",
            version(peer)?,
            fault.scenario,
            fault.era.word(),
            fault.what,
            fault.clause,
            indented(but),
        );
    }
    Ok(text)
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

The run that wrote this page showed each fault again, in an exchange with the other side alone. The scripts of these \
exchanges are in [`xtask/interop/exchanges`](../xtask/interop/exchanges).
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::LACKS;

    #[test]
    fn all_that_an_sdk_does_not_have_was_looked_at_in_a_place_of_its_own() {
        for lack in &LACKS {
            let place = looked_at(lack.peer, lack.why).expect(lack.why);
            let same = LOOKED_AT.iter().filter(|(peer, says, _)| *peer == lack.peer && lack.why.contains(says));
            assert_eq!(same.count(), 1, "{place}");
        }
        for (peer, ..) in LOOKED_AT {
            version(peer).expect(peer);
        }
    }

    /// The page that is committed names a version and a place for each.
    #[test]
    fn the_page_has_versions_and_places() {
        let page = include_str!("../../../docs/INTEROP.md");
        let (_, absences) = page.split_once("## What an SDK does not have\n\n").expect("it has that part");
        let absences: Vec<_> = absences.lines().take_while(|line| line.starts_with("- ")).collect();
        assert_eq!(absences.len(), LOOKED_AT.len());
        for (line, (mark, peer)) in absences.iter().zip(["a", "b", "c", "d", "e", "f", "g"].into_iter().zip([
            "Python 1.x",
            "Python 2.x",
            "TypeScript",
            "neva",
            "neva",
            "neva",
            "neva",
        ])) {
            let version = version(peer).expect(peer);
            assert!(line.starts_with(&format!("- {mark}: {peer} {version}: ")), "{line}");
            let (_, says, place) =
                LOOKED_AT.iter().find(|(its, says, _)| *its == peer && line.contains(says)).expect(line);
            assert!(line.ends_with(&format!("({place})")), "{says}: {line}");
        }
    }
}
