//! The figures of a run: as data, as a table, and against their targets.

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::measure::Spread;

/// The figures of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Ours, and of what the figures depend on.
    pub(crate) versions: Vec<Package>,
    pub(crate) compiler: &'static str,
    pub(crate) machine: String,
    /// The day of the run, in UTC.
    pub(crate) date: String,
    /// True if the run measured less, and less precisely.
    pub(crate) quick: bool,
    pub(crate) groups: Vec<Group>,
}

/// Figures about one matter.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    /// The way in which the group was measured, and the meaning of a ratio.
    pub(crate) about: &'static str,
    pub(crate) figures: Vec<Figure>,
}

/// One thing measured.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    /// The work that was measured.
    pub(crate) what: String,
    /// The program or library that did it.
    pub(crate) who: String,
    pub(crate) ratio: Ratio,
    pub(crate) target: Option<Target>,
    /// The figure in units of this machine, for orientation.
    pub(crate) absolute: String,
}

/// The ratio of one measurement to another, or nothing if there is no other. It is never shown as infinite or
/// undefined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Ratio(Option<Spread>);

impl Ratio {
    /// There is nothing to compare with.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn median(self) -> Option<f64> {
        self.0.map(|spread| spread.median)
    }
}

impl From<Spread> for Ratio {
    /// Makes a ratio, unless something was divided by nothing.
    fn from(spread: Spread) -> Self {
        let Spread { median, low, high } = spread;
        Self([median, low, high].iter().all(|number| number.is_finite()).then_some(spread))
    }
}

/// The goal for a ratio.
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
    /// Returns true if it meets its target, or has none. A figure that cannot be compared does not hold.
    pub(crate) fn holds(&self) -> bool {
        self.target.is_none_or(|target| self.ratio.median().is_some_and(|ratio| target.holds(ratio)))
    }

    /// The columns of a table: what, who, ratio, spread, target, absolute.
    pub(crate) fn cells(&self) -> [String; 6] {
        let Self { what, who, ratio, target, absolute } = self;
        let verdict = if self.holds() || *ratio == Ratio::NONE { "" } else { " missed" };
        let target = target.map_or_else(String::new, |target| format!("{target}{verdict}"));
        let (median, spread) = match ratio.0 {
            Some(Spread { median, low, high }) => (format!("{median:.2}"), format!("{low:.2}–{high:.2}")),
            None => ("none".to_owned(), String::new()),
        };
        [what.clone(), who.clone(), median, spread, target, absolute.clone()]
    }
}

/// The headings of a table's columns.
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: String,
}

/// Lists the packages as cargo has locked them.
pub(crate) fn locked(root: &Path) -> Result<Vec<Package>> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    let packages = NAMES.map(|name| {
        let versions: Vec<_> =
            in_lock(&lock).filter(|(package, _)| *package == name).map(|(_, version)| version).collect();
        Package { name, version: versions.join(", ") }
    });
    Ok(packages.into())
}

/// The names and versions in a lock file: cargo writes each on a line of its own, the name first.
fn in_lock(lock: &str) -> impl Iterator<Item = (&str, &str)> {
    lock.split("[[package]]").skip(1).filter_map(|package| Some((value(package, "name")?, value(package, "version")?)))
}

fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    let quoted = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    quoted.strip_prefix('"')?.strip_suffix('"')
}

const NAMES: [&str; 7] = ["mrtr-server", "rmcp", "neva", "axum", "hyper", "tokio", "reqwest"];

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ratio: Ratio) -> Figure {
        let target = Some(Target::AtMost(1.03));
        Figure { what: "call".to_owned(), who: "ours".to_owned(), ratio, target, absolute: "9 µs".to_owned() }
    }

    #[test]
    fn what_was_divided_by_nothing_is_no_ratio_and_holds_nothing() {
        for measurements in [vec![f64::INFINITY], vec![f64::NAN; 3], vec![1.0, 1.0, 1.0, f64::INFINITY, f64::INFINITY]]
        {
            let figure = figure(Spread::of(measurements).into());
            assert_eq!(figure.ratio, Ratio::NONE);
            assert!(!figure.holds());
            assert_eq!(figure.cells(), ["call", "ours", "none", "", "≤ 1.03", "9 µs"]);
        }
        let figure = figure(Spread::of(vec![1.25]).into());
        assert_eq!(figure.cells(), ["call", "ours", "1.25", "1.25–1.25", "≤ 1.03 missed", "9 µs"]);
    }

    #[test]
    fn a_lock_file_names_its_packages() {
        let lock = "version = 4\n\n[[package]]\nname = \"axum\"\nversion = \"0.8.9\"\ndependencies = [\n \"axum-core\",\n]\n\n\
                    [[package]]\nname = \"axum-core\"\nversion = \"0.5.2\"\nsource = \"registry\"\n";
        assert_eq!(in_lock(lock).collect::<Vec<_>>(), [("axum", "0.8.9"), ("axum-core", "0.5.2")]);
    }

    #[test]
    fn every_package_that_is_named_is_locked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for package in locked(&root).unwrap() {
            assert!(!package.version.is_empty(), "{} is not locked", package.name);
        }
    }
}
