//! What each client came to, as a table.

use anyhow::Result;
use comfy_table::{Table, presets};

use super::clients::Seen;

pub(super) struct Row {
    pub(super) client: String,
    pub(super) seen: Result<Seen>,
}

impl Row {
    pub(super) fn has_failed(&self) -> bool {
        self.seen.is_err()
    }
}

pub(super) fn as_table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["client", "version", "outcome", "what happened"]);
    for Row { client, seen } in rows {
        let (version, outcome, what) = match seen {
            Ok(seen) => (seen.version.as_str(), "passed", seen.what.to_owned()),
            Err(error) => ("", "FAILED", format!("{error:#}")),
        };
        table.add_row([client.as_str(), version, outcome, &what]);
    }
    let failed = rows.iter().filter(|row| row.has_failed()).count();
    format!("{table}\n\n{} clients passed, {failed} failed.", rows.len() - failed)
}
