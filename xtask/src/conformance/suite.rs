//! The official suite: installed, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::npm;

pub(super) struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    pub(super) fn install(folder: &Path) -> Result<Self> {
        let packages = npm::install("conformance/suite", folder)?;
        let script = packages.join("@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node: npm::node(folder)?, script })
    }

    /// Runs every scenario against a server. How they went is in the results; the exit code tells of some only.
    pub(super) fn test_server(&self, url: &str, revision: &str, results: &Path) -> Result<()> {
        eprintln!("\n=== the suite at {revision}, against {url}");
        let output = self.run(&["server", "--url", url, "--requirements", revision], results)?;
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

pub(super) const REVISION: &str = "2026-07-28";
pub(super) const LEGACY_REVISION: &str = "2025-11-25";
