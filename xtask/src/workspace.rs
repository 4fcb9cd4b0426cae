//! Where things are, and how cargo is called.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Crates that nobody depends on.
const PRIVATE: [&str; 2] = ["mrtr-bench", "mrtr-schema-derive"];

/// The folders of the crates that others use, each named as its crate, in order.
pub(crate) fn published_crates() -> Result<Vec<(String, PathBuf)>> {
    let mut crates = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !PRIVATE.contains(&name.as_str()) {
            crates.push((name, entry.path()));
        }
    }
    crates.sort();
    Ok(crates)
}

/// The folder of a revision's schemas and examples.
pub(crate) fn schema_folder(revision: mrtr_schema::Revision) -> PathBuf {
    root().join("schema").join(revision.as_str())
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let mut command = Command::new(cargo_program());
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root());
    let output = command.output().context("could not start `cargo metadata`")?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("`cargo metadata` failed")?;
    Ok(metadata.target_directory)
}

/// Prints a report. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(report: &str) -> Result<()> {
    match writeln!(io::stdout(), "{report}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Runs cargo in the workspace, and fails if it does.
pub(crate) fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let shown = format!("cargo {}", arguments.join(" "));
    eprintln!("\n=== {shown}");
    let mut command = Command::new(cargo_program());
    command.args(arguments).envs(environment.iter().copied()).current_dir(root());
    let status = command.status().with_context(|| format!("could not start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed");
    }
    Ok(())
}

/// The cargo that runs this, if one does.
pub(crate) fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
