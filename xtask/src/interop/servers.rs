//! Servers of other SDKs, which our client calls.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Packages;
use super::clients::{Printed, Seen, in_time, script};
use super::report::Row;
use super::tracker::listens;

/// Our client calls each, and answers what it asks.
pub(super) fn rows(packages: &Packages, programs: &Path) -> Vec<Row> {
    let client = programs.join("interop-client");
    let row = |who: &str, version, call: &dyn Fn(&mut Command) -> Result<Option<Served>>| {
        eprintln!("=== {who}");
        Row { who: who.to_owned(), seen: greet(&client, version, call) }
    };
    let started = |python: &Path, name: &'static str| {
        let (python, script) = (python.to_owned(), script(name));
        move |command: &mut Command| {
            command.arg(&python).arg(&script);
            Ok(None)
        }
    };
    vec![
        row("Python 2.3 as a server, over stdio", "2026-07-28", &started(&packages.python_2, "server.py")),
        row("Python 1.x as a server, over stdio", "2025-11-25", &started(&packages.python, "server_1.py")),
        row("Python 1.x as a server, over HTTP", "2025-11-25", &|command| {
            let served = Served::start(&packages.python)?;
            command.arg(&served.url);
            Ok(Some(served))
        }),
    ]
}

/// Has our client call a server, which it starts or which is there while this lasts.
fn greet(client: &Path, expected: &str, call: &dyn Fn(&mut Command) -> Result<Option<Served>>) -> Result<Seen> {
    let mut command = Command::new(client);
    let _served = call(&mut command)?;
    let output = in_time(&command)?;
    let Printed { version, tools, asked, text } = Printed::of(&output)?;
    let version = version.unwrap_or_default();
    ensure!(version == expected, "it speaks {version:?}");
    ensure!(tools == ["greet"], "it has {tools:?}");
    ensure!(asked == ["Who are you?"], "it asks {asked:?}");
    ensure!(text == "Hello, Ada", "it answers {text:?}");
    Ok(Seen { version, what: "one question" })
}

/// A server over HTTP: a process on a free port that is gone when this is.
struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn start(python: &Path) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(python);
        command.arg(script("server_1.py")).arg(address.port().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().with_context(|| format!("could not start {}", python.display()))?;
        let served = Self { process, url: format!("http://{address}/mcp") };
        let patience = Instant::now() + Duration::from_secs(30);
        while !listens(address) {
            if Instant::now() > patience {
                bail!("the server does not listen at {address}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be gone already, which is as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
