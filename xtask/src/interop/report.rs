//! What each came to, as a table.

use anyhow::Result;
use comfy_table::{Table, presets};

use super::clients::Seen;

pub(super) struct Row {
    /// The client or server of another SDK.
    pub(super) who: String,
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
    table.set_header(["who", "version", "outcome", "what happened"]);
    for Row { who, seen } in rows {
        let (version, outcome, what) = match seen {
            Ok(seen) => (seen.version.as_str(), "passed", seen.what.to_owned()),
            Err(error) => ("", "FAILED", format!("{error:#}")),
        };
        table.add_row([who.as_str(), version, outcome, &what]);
    }
    let failed = rows.iter().filter(|row| row.has_failed()).count();
    format!("{table}\n\n{} passed, {failed} failed.", rows.len() - failed)
}
