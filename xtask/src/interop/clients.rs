//! The clients: how each is started, and what it must have seen.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::Packages;
use super::tracker::{KEYS, Tracker};
use crate::workspace::root;

/// A client of another SDK, in one of its settings.
pub(super) struct Client {
    sdk: Sdk,
    transport: Transport,
    era: Era,
    program: PathBuf,
    /// What comes before the server.
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sdk {
    Python,
    TypeScript,
    Rmcp,
    Inspector,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Http,
    Stdio,
}

/// Which era a client asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    /// Whatever it does by itself.
    Default,
    Modern,
}

/// What a client saw.
pub(super) struct Seen {
    pub(super) version: String,
    pub(super) what: &'static str,
}

/// What our client programs print.
#[derive(Deserialize)]
pub(super) struct Printed {
    pub(super) version: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) asked: Vec<String>,
    pub(super) text: String,
}

impl Printed {
    pub(super) fn of(output: &Output) -> Result<Self> {
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("it did not say what it saw: {}", all_of(output)))
    }
}

/// All of them, each over each transport that it has.
pub(super) fn all(packages: &Packages, programs: &Path) -> Vec<Client> {
    let over = |transport| {
        let modern = [Era::Default, Era::Modern].into_iter();
        let both = modern.flat_map(move |era| [typescript(packages, transport, era), rmcp(programs, transport, era)]);
        [python(packages, transport)].into_iter().chain(both).chain([inspector(packages, transport)])
    };
    [Transport::Http, Transport::Stdio].into_iter().flat_map(over).collect()
}

/// It knows no other era.
fn python(packages: &Packages, transport: Transport) -> Client {
    Client {
        sdk: Sdk::Python,
        transport,
        era: Era::Default,
        program: packages.python.clone(),
        arguments: vec![script("client.py")],
        environment: Vec::new(),
    }
}

fn typescript(packages: &Packages, transport: Transport, era: Era) -> Client {
    let mut environment = vec![("PACKAGES", format!("{}/", packages.npm.display()))];
    environment.extend((era == Era::Modern).then(|| ("ERA", "modern".to_owned())));
    let (program, arguments) = (packages.node.clone(), vec![script("client.mjs")]);
    Client { sdk: Sdk::TypeScript, transport, era, program, arguments, environment }
}

fn rmcp(programs: &Path, transport: Transport, era: Era) -> Client {
    let arguments = ["rmcp-client"].into_iter().chain((era == Era::Modern).then_some("--modern"));
    Client {
        sdk: Sdk::Rmcp,
        transport,
        era,
        program: programs.join("mrtr-bench"),
        arguments: arguments.map(str::to_owned).collect(),
        environment: Vec::new(),
    }
}

fn inspector(packages: &Packages, transport: Transport) -> Client {
    let launcher = packages.npm.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    Client {
        sdk: Sdk::Inspector,
        transport,
        era: Era::Default,
        program: packages.node.clone(),
        arguments: vec![launcher.display().to_string(), "--cli".to_owned()],
        environment: Vec::new(),
    }
}

pub(super) fn script(name: &str) -> String {
    root().join("xtask/interop").join(name).display().to_string()
}

impl Client {
    /// Has it call the tracker, and checks what it saw and what the tracker did.
    pub(super) fn call(&self, tracker: &Path) -> Result<Seen> {
        if self.sdk == Sdk::Inspector {
            return self.inspect(tracker);
        }
        let (output, said) = self.run(tracker, &[])?;
        let printed = Printed::of(&output)?;
        ensure!(printed.tools == ["update_work_item"], "it lists {:?}", printed.tools);
        ensure!(printed.asked == ASKED, "it was asked {:?}", printed.asked);
        ensure!(printed.text == RESOLVED, "it got {:?}", printed.text);
        let links = said.matches(LINKED).count();
        ensure!(links == 1, "the link was made {links} times");
        Ok(Seen { version: printed.version.unwrap_or_default(), what: "two questions, one link" })
    }

    /// The Inspector's command cannot answer a question: it lists, and is told why the call cannot be made.
    fn inspect(&self, tracker: &Path) -> Result<Seen> {
        let (listed, _) = self.run(tracker, &["--method", "tools/list"])?;
        ensure!(listed.status.success() && all_of(&listed).contains("update_work_item"), "{}", all_of(&listed));
        let call = ["--method", "tools/call", "--tool-name", "update_work_item"];
        let arguments = ["--tool-arg", "workItemId=4522", "--tool-arg", "fields={}"];
        let (called, said) = self.run(tracker, &[call, arguments].concat())?;
        ensure!(all_of(&called).contains("elicitation"), "it is not told what it lacks: {}", all_of(&called));
        ensure!(!said.contains(LINKED), "a link was made without an answer");
        Ok(Seen { version: String::new(), what: "lists, and is told that it cannot be asked" })
    }

    /// What it printed, and what the tracker said.
    fn run(&self, tracker: &Path, more: &[&str]) -> Result<(Output, String)> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        match self.transport {
            Transport::Http => {
                let tracker = Tracker::start(tracker)?;
                command.args((self.sdk != Sdk::Inspector).then_some("http")).arg(tracker.url()).args(more);
                let output = in_time(&command)?;
                Ok((output, tracker.end()?))
            }
            Transport::Stdio => {
                command.env("MRTR_STATE_KEYS", KEYS);
                if self.sdk == Sdk::Inspector {
                    command.args(more).args(["-e", &format!("MRTR_STATE_KEYS={KEYS}"), "--"]);
                } else {
                    command.arg("stdio");
                }
                let output = in_time(command.arg(tracker).arg("--stdio"))?;
                // What the tracker prints goes to standard error then, which a client passes on.
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                Ok((output, said))
            }
        }
    }
}

/// Runs a client. One that hangs has failed.
pub(super) fn in_time(client: &Command) -> Result<Output> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60"]).arg(client.get_program()).args(client.get_args());
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.stdin(Stdio::null()).output().context("could not start `timeout`")?;
    if output.status.code() == Some(124) {
        bail!("it took more than a minute: {}", all_of(&output));
    }
    Ok(output)
}

pub(super) fn all_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sdk = match self.sdk {
            Sdk::Python => "Python 1.30",
            Sdk::TypeScript => "TypeScript 2.4",
            Sdk::Rmcp => "rmcp 3.8",
            Sdk::Inspector => "Inspector 2.12",
        };
        let transport = if self.transport == Transport::Http { "HTTP" } else { "stdio" };
        let era = if self.era == Era::Modern { ", told to be modern" } else { "" };
        write!(f, "{sdk} over {transport}{era}")
    }
}

const ASKED: [&str; 2] = ["How was this bug resolved?", "Which work item is the original?"];
const RESOLVED: &str = "Bug #4522 resolved as duplicate of #4301";
const LINKED: &str = "tracker: #4522 is linked to #4301";
