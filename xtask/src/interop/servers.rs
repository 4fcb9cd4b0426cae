//! Servers of other SDKs, which our client calls.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::Packages;
use super::clients::{Printed, Seen, in_time, script};

pub(super) const PYTHON: &str = "Python 2.3 as a server, over stdio";

/// Our client starts it, and answers what it asks.
pub(super) fn python(packages: &Packages, programs: &Path) -> Result<Seen> {
    eprintln!("=== {PYTHON}");
    let mut command = Command::new(programs.join("interop-client"));
    let output = in_time(command.arg(&packages.python_2).arg(script("server.py")))?;
    let Printed { version, tools, asked, text } = Printed::of(&output)?;
    ensure!(tools == ["greet"], "it has {tools:?}");
    ensure!(asked == ["Who are you?"], "it asks {asked:?}");
    ensure!(text == "Hello, Ada", "it answers {text:?}");
    Ok(Seen { version: version.unwrap_or_default(), what: "one question" })
}
