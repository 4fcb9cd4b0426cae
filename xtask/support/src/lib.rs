//! Helpers that `cargo xtask` and the programs that it starts share: places, exits of programs, and packages of others.

pub mod packages;

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask/support lies in the workspace")
}

/// The folder that this program was built into, with those that were built with it.
pub fn programs() -> Result<PathBuf> {
    let program = env::current_exe().context("this program does not know where it is")?;
    Ok(program.parent().context("a program lies in a folder")?.to_owned())
}

/// The folder where cargo puts what it builds: the one above that of a profile.
pub fn target() -> Result<PathBuf> {
    Ok(programs()?.parent().context("a profile has a folder")?.to_owned())
}

/// Empties a folder, or makes it: a result of an earlier run must not pass for one of this run.
pub fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be emptied", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}

/// Prints a report. A reader that has seen enough, such as `head`, is no error.
pub fn print(report: &str) -> Result<()> {
    match writeln!(io::stdout(), "{report}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// The end of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a fourth ending is a change of every command")]
pub enum Outcome {
    /// All checks hold.
    Passed,
    /// A check does not hold; the program has said which.
    Failed,
    /// The program did nothing, for lack of this.
    LeftOut(&'static str),
}

impl Outcome {
    /// Reads the outcome of a program that ended by [`exit`], which is left out for lack of this alone. A program
    /// without an outcome has said why.
    pub fn of_program(status: ExitStatus, lack: &'static str) -> Result<Self> {
        match status.code() {
            Some(0) => Ok(Self::Passed),
            Some(code) if code == i32::from(FAILED) => Ok(Self::Failed),
            Some(code) if code == i32::from(LEFT_OUT) => Ok(Self::LeftOut(lack)),
            _ => bail!("it came to no outcome ({status})"),
        }
    }
}

/// Ends a program that `cargo xtask` starts, so that [`Outcome::of_program`] can tell how.
pub fn exit(outcome: Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => FAILED.into(),
        Ok(Outcome::LeftOut(_)) => LEFT_OUT.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            BROKEN.into()
        }
    }
}

/// A panic ends with 101, and what clap refuses with 2: neither is an outcome.
const FAILED: u8 = 1;
const BROKEN: u8 = 2;
const LEFT_OUT: u8 = 3;

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_program_tells_its_outcome_by_the_code_that_it_ends_with() {
        let of = |code: i32| Outcome::of_program(ExitStatus::from_raw(code << 8), "npm").ok();
        let outcomes = [Outcome::Passed, Outcome::Failed, Outcome::LeftOut("npm")].map(Some);
        assert_eq!([0, 1, 3].map(of), outcomes);
        assert_eq!([2, 101].map(of), [None, None], "it stopped before it came to one");
        let killed = Outcome::of_program(ExitStatus::from_raw(9), "npm");
        assert!(killed.is_err(), "{killed:?}");
    }

    #[test]
    fn the_root_has_the_manifest_of_the_workspace() {
        assert!(root().join("Cargo.lock").is_file(), "{}", root().display());
    }
}
