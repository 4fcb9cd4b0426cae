//! PostgreSQL and pgbouncer for the tests that need them: installed in the background, where a machine may be changed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// An installation that goes on while other stages run.
pub(crate) struct Installation(Child);

impl Installation {
    /// Nothing where both are there, and where nothing may be installed: the tests then say what they leave out.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let is_there = Path::new("/usr/lib/postgresql").exists() && Path::new("/usr/sbin/pgbouncer").exists();
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        if is_there || std::env::var_os("CI").is_none() || !is_root {
            return Ok(None);
        }
        let install = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes postgresql pgbouncer";
        let shell = Command::new("sh").args(["-c", install]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Ok(Some(Self(shell.context("PostgreSQL cannot be installed")?)))
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Result<()> {
        ensure!(self.0.wait()?.success(), "PostgreSQL and pgbouncer could not be installed");
        Ok(())
    }
}
