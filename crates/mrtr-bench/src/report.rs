//! What was measured, as data, as a table, and against its targets.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::statistics::Spread;
use crate::versions::Package;

/// What a run measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Ours, and of what the figures depend on.
    pub(crate) versions: Vec<Package>,
    pub(crate) compiler: &'static str,
    pub(crate) machine: String,
    /// The day of the run, in UTC.
    pub(crate) date: String,
    /// Whether less was measured, and less precisely.
    pub(crate) quick: bool,
    pub(crate) groups: Vec<Group>,
}

/// Figures about one matter.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    /// How it was measured, and what a ratio says.
    pub(crate) about: &'static str,
    pub(crate) figures: Vec<Figure>,
}

/// One thing measured.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    /// What was done.
    pub(crate) what: String,
    /// Who did it.
    pub(crate) who: String,
    pub(crate) ratio: Spread,
    pub(crate) target: Option<Target>,
    /// The figure in units of this machine, for orientation.
    pub(crate) absolute: String,
}

/// What a ratio should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    pub(crate) fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "≥ {least:.2}"),
            Self::AtMost(most) => write!(f, "≤ {most:.2}"),
        }
    }
}

impl Figure {
    /// Whether it is what it should be, if anybody said what that is.
    pub(crate) fn holds(&self) -> bool {
        self.target.is_none_or(|target| target.holds(self.ratio.median))
    }

    /// The columns of a table: what, who, ratio, spread, target, absolute.
    pub(crate) fn cells(&self) -> [String; 6] {
        let Self { what, who, ratio, target, absolute } = self;
        let verdict = if self.holds() { "" } else { " missed" };
        let target = target.map_or_else(String::new, |target| format!("{target}{verdict}"));
        let spread = format!("{:.2}–{:.2}", ratio.low, ratio.high);
        [what.clone(), who.clone(), format!("{:.2}", ratio.median), spread, target, absolute.clone()]
    }
}

/// What the columns of a table hold.
pub(crate) const HEADINGS: [&str; 6] = ["what", "who", "ratio", "spread", "target", "absolute"];

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.figures.is_empty() {
            return writeln!(f, "{}\n{}", self.title, self.about);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(HEADINGS);
        for figure in &self.figures {
            table.add_row(figure.cells());
        }
        for numbers in 2..5 {
            if let Some(column) = table.column_mut(numbers) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(f, "{}\n{}\n\n{table}", self.title, self.about)
    }
}
