//! `cargo xtask bench`: speed, as ratios within one run.

use anyhow::Result;

use crate::Outcome;
use crate::workspace::cargo;

/// In a process of its own: measurements need an optimized build, and a contributor's other commands do not.
pub(crate) fn run() -> Result<Outcome> {
    cargo(&["run", "--quiet", "--release", "--package", "mrtr-bench"], &[])?;
    Ok(Outcome::Passed)
}
