//! Servers of other SDKs, which our command calls.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Packages;
use super::clients::{Seen, all_of, in_time, script};
use super::report::Row;
use super::tracker::listens;

/// A server of another SDK that `mrtr call` calls.
struct Server {
    sdk: &'static str,
    /// What starts it, on standard input and output.
    stdio: Vec<String>,
    /// What starts it over HTTP; the port comes last.
    http: Vec<String>,
    environment: Vec<(&'static str, String)>,
    /// The tool, and its arguments.
    call: &'static [&'static str],
    /// What is answered, by key.
    answers: &'static str,
    result: &'static str,
    what: &'static str,
}

/// Our command calls each of them, over each transport.
pub(super) fn rows(packages: &Packages, programs: &Path, folder: &Path) -> Vec<Row> {
    let mrtr = programs.join("mrtr");
    let mut rows = Vec::new();
    for server in all(packages, programs) {
        for (transport, call) in [("HTTP", Server::over_http as Call), ("stdio", Server::over_stdio)] {
            let who = format!("{} as a server of `mrtr call`, over {transport}", server.sdk);
            eprintln!("=== {who}");
            rows.push(Row { who, seen: call(&server, &mrtr, folder) });
        }
    }
    rows
}

type Call = fn(&Server, &Path, &Path) -> Result<Seen>;

fn all(packages: &Packages, programs: &Path) -> [Server; 4] {
    let text = |path: &PathBuf| path.display().to_string();
    let started = |program: String, arguments: &[&str]| {
        std::iter::once(program).chain(arguments.iter().map(|argument| (*argument).to_owned())).collect::<Vec<_>>()
    };
    let (python_1, python_2) = (script("server_1.py"), script("server.py"));
    let (typescript, bench) = (script("server.mjs"), text(&programs.join("mrtr-bench")));
    [
        Server {
            sdk: "Python 1.30",
            stdio: started(text(&packages.python), &[&python_1]),
            http: started(text(&packages.python), &[&python_1]),
            environment: Vec::new(),
            call: &["greet"],
            answers: r#"{"question-1": {"name": "Ada"}}"#,
            result: "Hello, Ada\n",
            what: "one question in a session",
        },
        Server {
            sdk: "Python 2.3",
            stdio: started(text(&packages.python_2), &[&python_2]),
            http: started(text(&packages.python_2), &[&python_2, "http"]),
            environment: Vec::new(),
            call: &["greet"],
            answers: r#"{"__main__:ask": {"name": "Ada"}}"#,
            result: "Hello, Ada\n",
            what: "one question, two rounds",
        },
        Server {
            sdk: "TypeScript 2.3",
            stdio: started(text(&packages.node), &[&typescript, "stdio"]),
            http: started(text(&packages.node), &[&typescript, "http"]),
            environment: vec![("PACKAGES", format!("{}/", packages.npm.display()))],
            call: &["greet"],
            answers: r#"{"name": {"name": "Ada"}, "times": {"times": 3}}"#,
            result: "Hello, Ada!!!\n",
            what: "two questions, three rounds",
        },
        Server {
            sdk: "rmcp 3.8",
            stdio: started(bench.clone(), &["rmcp-server"]),
            http: started(bench, &["serve", "rmcp", "--port"]),
            environment: Vec::new(),
            call: &["update_work_item", "workItemId=4522", "fields={}"],
            answers: r#"{"resolution": {"resolution": "Duplicate"}, "duplicate_of": {"duplicateOfId": 4301}}"#,
            result: "Bug #4522 resolved as duplicate of #4301\n",
            what: "two questions, three rounds",
        },
    ]
}

impl Server {
    fn over_http(&self, mrtr: &Path, folder: &Path) -> Result<Seen> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let running = Running::start(self.command(&self.http).arg(address.port().to_string()), address)?;
        let seen = self.call(mrtr, &[format!("http://{address}/mcp")], folder);
        drop(running);
        seen
    }

    fn over_stdio(&self, mrtr: &Path, folder: &Path) -> Result<Seen> {
        // The command is one argument, and split as a shell does.
        let quoted: Vec<_> = self.stdio.iter().map(|word| format!("'{word}'")).collect();
        self.call(mrtr, &["--stdio".to_owned(), quoted.join(" ")], folder)
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Has the command call the server, and checks what it printed and which version was spoken.
    fn call(&self, mrtr: &Path, server: &[String], folder: &Path) -> Result<Seen> {
        let answers = folder.join("answers.json");
        fs::write(&answers, self.answers)?;
        let mut command = Command::new(mrtr);
        command.arg("call").args(server).args(self.call).arg("--answers").arg(&answers).arg("--trace");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let output = in_time(&command)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success() && printed == self.result, "it got {}", all_of(&output));
        let traced = String::from_utf8_lossy(&output.stderr);
        let version = traced.rsplit("rotocolVersion\": \"").next().and_then(|rest| rest.split('"').next());
        Ok(Seen { version: version.unwrap_or_default().to_owned(), what: self.what })
    }
}

/// A server on a port of this machine, which is gone when this is.
struct Running(Child);

impl Running {
    fn start(command: &mut Command, address: SocketAddr) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Self(command.spawn().context("could not start the server")?);
        let patience = Instant::now() + Duration::from_secs(30);
        while !listens(address) {
            if let Some(status) = running.0.try_wait()? {
                bail!("the server ended with {status}");
            }
            ensure!(Instant::now() < patience, "the server does not listen at {address}");
            thread::sleep(Duration::from_millis(10));
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
