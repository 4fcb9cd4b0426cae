//! `docs/INTEROP.md`: the matrix, and what explains each cell that does not pass.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use comfy_table::{Table, presets};
use xtask_support::{Outcome, print, root};

use crate::as_they_come::Row;
use crate::evidence::Shown;
use crate::marks;
use crate::marks::Marks;
use crate::matrix::{Cell, Side, Verdict};
use crate::peer::{OURS, PEERS, Peer, node_version, python_version, version_of};
use crate::scenario::{Era, SCENARIOS};

/// The page of a run in which everything is explained.
pub(crate) fn text(cells: &[(Cell, Verdict)], shown: &[Shown], rows: &[Row]) -> Result<String> {
    let marks = Marks::of(cells);
    let mut page = format!("{OPENING}\n{}", legend(&Totals::of(cells)));
    page += &versions_table()?;
    for side in Side::ALL {
        page += match side {
            Side::Client => "\n## Clients of others, our server\n",
            Side::Server => "\n## Servers of others, our client\n",
        };
        for era in Era::ALL {
            page += &matrix(side, era, cells, &marks)?;
        }
    }
    page += &unasked();
    page += &scenarios();
    page += &marks.absences()?;
    page += &marks::faults(shown)?;
    page += &beside(rows);
    Ok(page)
}

/// Writes the page, or compares it with the one that is committed.
pub(crate) fn keep(page: &str, write: bool) -> Result<Outcome> {
    let path: PathBuf = root().join("docs/INTEROP.md");
    if write {
        fs::write(path, page)?;
        return Ok(Outcome::Passed);
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    let differs = |(old, new): &(&str, &str)| old != new;
    if committed == page {
        return Ok(Outcome::Passed);
    }
    let (old, new) = committed.lines().zip(page.lines()).find(differs).unwrap_or(("fewer or more lines", ""));
    print(&format!("docs/INTEROP.md says otherwise (`cargo xtask interop --write` writes it):\n- {old}\n+ {new}"))?;
    Ok(Outcome::Failed)
}

fn legend(totals: &Totals) -> String {
    let Totals { passed, absent, faults, .. } = totals;
    format!(
        "{passed} cells pass, {absent} test something that the other SDK does not have, and {faults} fail because of a \
         fault in the other SDK. Each cell has a mark for HTTP and one for stdio: ✓ passes; – means that the SDK does not \
         have this, and the letter names the reason; ✗ fails because of the fault with that number; · is not part of the \
         scenario.\n"
    )
}

fn versions_table() -> Result<String> {
    let mut table = "\n| SDK | version |\n|---|---|\n".to_owned();
    for peer in &PEERS {
        let _ = writeln!(table, "| {} | {} |", peer.name, version_of(peer)?);
    }
    let with = [
        ("FastMCP's tasks, `fastmcp-tasks`", python_version("python-2", "fastmcp-tasks")?),
        ("TypeScript's tasks, `ext-tasks`", node_version("@modelcontextprotocol/ext-tasks")?),
        ("Inspector", node_version("@modelcontextprotocol/inspector")?),
    ];
    for (name, version) in with {
        let _ = writeln!(table, "| {name} | {version} |");
    }
    Ok(table)
}

fn matrix(side: Side, era: Era, cells: &[(Cell, Verdict)], marks: &Marks<'_>) -> Result<String> {
    let ours = (side == Side::Client).then_some(&OURS);
    let peers: Vec<&Peer> = PEERS.iter().chain(ours).collect();
    let mut table = format!("\n### {}\n\n| scenario |", heading(era));
    for peer in &peers {
        write!(table, " {} |", peer.name)?;
    }
    writeln!(table, "\n|---|{}", "---|".repeat(peers.len()))?;
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.eras.contains(&era)) {
        write!(table, "| `{}` |", scenario.name)?;
        for peer in &peers {
            write!(table, " {} |", marks.of_both(|transport| Cell { peer, side, scenario, era, transport }, cells))?;
        }
        table.push('\n');
    }
    Ok(table)
}

fn heading(era: Era) -> String {
    let word = if era == Era::Modern { "Modern" } else { "Legacy" };
    format!("{word}: {}", era.version())
}

/// Names the clients that have no handler which could say that it was asked.
fn unasked() -> String {
    let named = PEERS.iter().filter(|peer| !peer.unasked.is_empty()).map(|peer| {
        format!(
            "\nThe client of {} answers {} by itself, so only the result shows that it was asked.\n",
            peer.name,
            peer.unasked.join(", ")
        )
    });
    named.collect()
}

fn scenarios() -> String {
    let mut text = "\n## Scenarios\n\n".to_owned();
    for scenario in &SCENARIOS {
        let _ = writeln!(text, "- `{}`: {}", scenario.name, scenario.about);
    }
    text + "\n[`xtask/interop`](../xtask/interop/README.md) describes what the programs of each SDK do in them.\n"
}

fn beside(rows: &[Row]) -> String {
    let mut text = BESIDE.to_owned();
    for Row { who, transport, seen } in rows {
        if let Ok(told) = seen {
            let version = if told.version.is_empty() { "–" } else { &told.version };
            let _ = writeln!(text, "| {who} | {} | {version} | {} |", transport.name(), told.what);
        }
    }
    text
}

const OPENING: &str = "# Interoperability

`cargo xtask interop --write` generates this page, and `cargo xtask interop` checks it: the run fails if a cell has another \
result. For each cell, a client process plays one scenario against a server. The command compares four things with what \
it expects: the questions that the client was asked, the client's result, the protocol version, and the effects of the \
server.
";

const BESIDE: &str = "
## With default settings

Clients with their default settings call the tracker of [`examples/azure_devops.rs`](../examples/azure_devops.rs); our \
command calls the servers of the matrix.

| who | over | version | what happened |
|---|---|---|---|
";

/// The numbers of cells with each result.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) passed: usize,
    pub(crate) absent: usize,
    pub(crate) faults: usize,
    pub(crate) unexplained: usize,
}

impl Totals {
    pub(crate) fn of(cells: &[(Cell, Verdict)]) -> Self {
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

/// The rows beside the matrix, and the results that are not as known.
pub(crate) fn report(cells: &[(Cell, Verdict)], rows: &[Row]) -> String {
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
