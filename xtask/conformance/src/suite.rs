//! Runs the official suite, and the server under test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use xtask_support::packages::Suite;

/// Runs the suite.
pub(crate) struct Runner(pub(crate) Suite);

impl Runner {
    /// Runs every scenario against a server. The results tell how they went; the exit code tells of some only.
    pub(crate) fn test_server(&self, url: &str, revision: &str, results: &Path) -> Result<()> {
        eprintln!("\n=== the suite at {revision}, against {url}");
        let output = self.run(&["server", "--url", url, "--requirements", revision], results)?;
        if !results.is_dir() {
            bail!("the suite left no results:\n{}", said(&output));
        }
        Ok(())
    }

    /// Runs one scenario against a client. Returns true if the client also ended in time and without an error.
    pub(crate) fn test_client(&self, program: &Path, scenario: &str, results: &Path) -> Result<bool> {
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
        let mut suite = Command::new(&self.0.node);
        suite.arg(&self.0.script).args(arguments).arg("-o").arg(results).stdin(Stdio::null());
        suite.output().context("could not start the suite")
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub(crate) const REVISION: &str = "2026-07-28";
pub(crate) const LEGACY_REVISION: &str = "2025-11-25";

/// The server under test: a process that ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    url: String,
}

impl Server {
    /// Starts the server on a free port, and waits until it listens.
    pub(crate) fn start(program: &Path) -> Result<Self> {
        for _ in 0..ATTEMPTS {
            let server = Self::start_anywhere(program)?;
            if port(&server.url)? > HIGHEST_BAD_PORT {
                return Ok(server);
            }
        }
        bail!("there is no free port above {HIGHEST_BAD_PORT}")
    }

    fn start_anywhere(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().with_context(|| format!("could not start {}", program.display()))?;
        let mut server = Self { process, url: String::new() };
        let mut line = String::new();
        BufReader::new(server.process.stdout.take().context("standard output is piped")?).read_line(&mut line)?;
        let url = line.trim().strip_prefix("listening on ").context("the server did not say where it listens")?;
        url.clone_into(&mut server.url);
        Ok(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already; that is fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The port of a URL such as `http://127.0.0.1:40000/mcp`.
fn port(url: &str) -> Result<u16> {
    let authority = url.split('/').nth(2).unwrap_or_default();
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    port.parse().with_context(|| format!("{url} has no port"))
}

/// The highest of the ports from which Node, as browsers do, refuses to fetch.
const HIGHEST_BAD_PORT: u16 = 10080;
const ATTEMPTS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_url_is_found() {
        assert_eq!(port("http://127.0.0.1:40000/mcp").ok(), Some(40000));
        assert!(port("http://localhost/mcp").is_err());
    }
}
