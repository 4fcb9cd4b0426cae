//! The programs that are packages of their own: how each is built and started, and what it says of its end.
//!
//! None of them is a dependency of this one, which stays quick to build. The options that a person types are declared
//! here, so that a mistake is reported before anything is built.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, ensure};
use clap::ValueEnum;
use xtask_support::packages::{Linters, Sdks, Suite};
use xtask_support::{Outcome, emptied, root};

use crate::workspace::{AS_FOR_TESTS, BUILT, CHECKED, Metadata, cargo, metadata};

#[derive(clap::Args)]
pub(crate) struct Bench {
    /// Measure less, and less precisely
    #[arg(long)]
    quick: bool,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
    /// Commit the instructions that are counted, for this reason; with the group `instructions` only
    #[arg(long, value_name = "REASON", requires = "group")]
    accept: Option<String>,
    /// Measure this alone, and leave docs/BENCHMARKS.md as it is
    #[arg(value_parser = GROUPS)]
    group: Option<String>,
}

const SERVER: &str = "server";
const GROUPS: [&str; 8] = [SERVER, "client", "growth", "state", "message", "tasks", "postgres", "instructions"];

impl Bench {
    /// Measurements need an optimized build, and a contributor's other commands do not.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let mut build = vec!["build", "--quiet", "--release", "--package", "mrtr-bench"];
        // Other SDKs take minutes to build, and only the server group compares with them.
        if self.group.as_deref().is_none_or(|group| group == SERVER) {
            build.extend(["--package", "xtask-peers"]);
        }
        cargo(&build, &[])?;
        let mut bench = program(&metadata()?, "release", "mrtr-bench");
        bench.args(self.quick.then_some("--quick")).args(self.json.then_some("--json"));
        bench.args(self.accept.iter().flat_map(|reason| ["--accept", reason])).args(&self.group);
        let status = bench.status().context("could not start the benchmark")?;
        ensure!(status.success(), "the benchmark failed");
        Ok(Outcome::Passed)
    }
}

#[derive(clap::Args)]
pub(crate) struct Chaos {
    /// Make a new task when one ends, for this many minutes
    #[arg(long, value_name = "M", default_value_t = 10)]
    minutes: u64,
    /// Keep this many tasks open at a time
    #[arg(long, value_name = "N", default_value_t = 200)]
    tasks: u64,
    /// The seed: the same one repeats what is killed, and what clients do
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run for some seconds with 30 tasks, as in `cargo xtask test`
    #[arg(long, conflicts_with_all = ["minutes", "tasks"])]
    short: bool,
    /// The store for the tasks
    #[arg(long, value_enum, default_value_t = Store::Sqlite)]
    store: Store,
}

/// The store that the workers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// A file, which stays as it is
    Sqlite,
    /// A throw-away PostgreSQL, which is restarted, and whose connections are cut, meanwhile
    Postgres,
}

impl Chaos {
    /// A short run, as a part of all tests.
    pub(crate) fn short(store: Store) -> Self {
        Self { minutes: 0, tasks: 0, seed: None, short: true, store }
    }

    pub(crate) fn run(&self) -> Result<Outcome> {
        let metadata = metadata()?;
        build("dev", &["chaos"])?;
        let mut chaos = program(&metadata, "debug", "chaos");
        chaos.arg("run");
        if self.short {
            chaos.arg("--short");
        } else {
            chaos.args(["--minutes", &self.minutes.to_string(), "--tasks", &self.tasks.to_string()]);
        }
        chaos.args(self.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
        let store = self.store.to_possible_value().context("every store has a name")?;
        chaos.args(["--store", store.get_name()]);
        outcome(chaos, "PostgreSQL")
    }
}

#[derive(clap::Args)]
pub(crate) struct Soak {
    /// Take this many minutes for all of it
    #[arg(long, value_name = "M", default_value_t = 10)]
    minutes: u64,
    /// Take a minute, with a debug build and limits that are smaller by 16
    #[arg(long, conflicts_with = "minutes")]
    short: bool,
    /// Run these attacks alone
    #[arg(long, value_name = "NAME,…")]
    attacks: Option<String>,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
}

impl Soak {
    /// A minute of it, as a part of all tests.
    pub(crate) fn short() -> Self {
        Self { minutes: 1, short: true, attacks: None, json: false }
    }

    pub(crate) fn run(&self) -> Result<Outcome> {
        if !cfg!(target_os = "linux") {
            return Ok(Outcome::LeftOut("/proc"));
        }
        let metadata = metadata()?;
        // An optimized build, without the settings that make a release build take minutes longer.
        let (profile, folder) = if self.short { ("dev", "debug") } else { ("soak", "soak") };
        build(profile, &["soak"])?;
        let seconds = if self.short { 60 } else { self.minutes * 60 };
        let kept = emptied(&metadata.target_directory.join("soak-run"))?;
        let mut soak = program(&metadata, folder, "soak");
        soak.arg("run").arg("--folder").arg(&kept).args(["--seconds", &seconds.to_string()]);
        if self.short {
            soak.args(["--scale", SHORT_SCALE, "--noise-ms", SHORT_NOISE_MS]);
        }
        soak.args(self.attacks.iter().flat_map(|attacks| ["--attacks", attacks])).args(self.json.then_some("--json"));
        let status = soak.stdin(Stdio::null()).status().context("could not start the soak")?;
        if !status.success() {
            eprintln!("soak failed: the server's log and its tasks are in {}", kept.display());
            return Ok(Outcome::Failed);
        }
        std::fs::remove_dir_all(&kept)?;
        Ok(Outcome::Passed)
    }
}

/// A debug build is about that much slower, and a minute that much shorter.
const SHORT_SCALE: &str = "16";
/// A debug build takes tens of milliseconds for what is large, and a second on a busy machine. A server that stands still
/// takes longer.
const SHORT_NOISE_MS: &str = "1000";

#[derive(clap::Args, Default)]
pub(crate) struct Interop {
    /// Write docs/INTEROP.md, instead of comparing it
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// Run only the cells of the SDKs whose name has this in it, and leave the page alone
    #[arg(long, value_name = "SDK")]
    only: Option<String>,
}

impl Interop {
    pub(crate) fn run(&self) -> Result<Outcome> {
        self.run_with(Installation::sdks()?)
    }

    fn run_with(&self, packages: Installation) -> Result<Outcome> {
        let metadata = metadata()?;
        build("dev", &["azure_devops", "interop", "interop-client", "interop-server", "mrtr"])?;
        cargo(&[&["build", "--quiet"], &CHECKED[..], &["--bin", "peers", AS_FOR_TESTS]].concat(), &[])?;
        packages.finish()?;
        let mut interop = program(&metadata, "debug", "interop");
        interop.args(self.write.then_some("--write"));
        interop.args(self.only.iter().flat_map(|sdk| ["--only", sdk]));
        outcome(interop, LACKS_SDKS)
    }
}

/// Runs the interop matrix as a part of all tests, where the installation was begun.
pub(crate) fn interop_where_possible(packages: Option<Installation>) -> Result<Outcome> {
    packages.map_or(Ok(Outcome::LeftOut(LACKS_SDKS)), |packages| Interop::default().run_with(packages))
}

const LACKS_SDKS: &str = "npm or Python";

pub(crate) fn conformance() -> Result<Outcome> {
    conformance_with(Installation::suite()?)
}

/// Runs the conformance suite as a stage of the test command, if its installation has been started.
pub(crate) fn conformance_where_possible(suite: Option<Installation>) -> Result<Outcome> {
    suite.map_or(Ok(Outcome::LeftOut(LACKS_SUITE)), conformance_with)
}

fn conformance_with(suite: Installation) -> Result<Outcome> {
    let metadata = metadata()?;
    build("dev", &["conformance", "conformance-server", "conformance-client"])?;
    suite.finish()?;
    outcome(program(&metadata, "debug", "conformance"), LACKS_SUITE)
}

const LACKS_SUITE: &str = "npm";

/// Packages of others, on their way while something else is done. The program that needs them finds them installed.
pub(crate) struct Installation(JoinHandle<Result<()>>);

impl Installation {
    fn suite() -> Result<Self> {
        let target = metadata()?.target_directory;
        Ok(Self(thread::spawn(move || Suite::install(&target).map(drop))))
    }

    fn sdks() -> Result<Self> {
        let target = metadata()?.target_directory;
        Ok(Self(thread::spawn(move || Sdks::install(&target).map(drop))))
    }

    fn linters() -> Result<Self> {
        let target = metadata()?.target_directory;
        Ok(Self(thread::spawn(move || Linters::install(&target).map(drop))))
    }

    /// Begins to install the suite. `None` where it need not run.
    pub(crate) fn suite_where_wanted() -> Result<Option<Self>> {
        Suite::is_wanted().then(Self::suite).transpose()
    }

    /// Begins to install the SDKs. `None` where the matrix need not run.
    pub(crate) fn sdks_where_wanted() -> Result<Option<Self>> {
        Sdks::are_wanted().then(Self::sdks).transpose()
    }

    /// Begins to install the programs that check files for deployments. `None` where they need not run.
    pub(crate) fn linters_where_wanted() -> Result<Option<Self>> {
        Linters::are_wanted().then(Self::linters).transpose()
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.join().map_err(|_| anyhow!("the installation panicked"))?
    }
}

/// Builds programs. After the tests they are there already, in the profile that tests have.
fn build(profile: &str, names: &[&str]) -> Result<()> {
    let programs: Vec<_> = names.iter().flat_map(|name| ["--bin", name]).collect();
    cargo(&[&["build", "--quiet", "--profile", profile], &BUILT[..], &programs, &[AS_FOR_TESTS]].concat(), &[])
}

/// A program, to be run in the workspace.
fn program(metadata: &Metadata, folder: &str, name: &str) -> Command {
    let mut command = Command::new(metadata.target_directory.join(folder).join(name));
    command.current_dir(root());
    command
}

/// Runs a program whose exit code is an outcome.
fn outcome(mut program: Command, lack: &'static str) -> Result<Outcome> {
    let name = program.get_program().display().to_string();
    let status = program.stdin(Stdio::null()).status().with_context(|| format!("could not start {name}"))?;
    Outcome::of_program(status, lack).with_context(|| format!("{name} failed"))
}

/// The installation of the servers that tests start, which goes on while other stages run.
pub(crate) struct Servers(Child);

impl Servers {
    /// Begins the installation. `None` where all are there, and where nothing may be installed: the tests then say what
    /// they leave out.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let are_there = SERVERS.iter().all(|(_, file)| Path::new(file).exists());
        if are_there || std::env::var_os("CI").is_none() {
            return Ok(None);
        }
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let mut shell = Command::new(if is_root { "sh" } else { "sudo" });
        if !is_root {
            shell.args(["--non-interactive", "sh"]);
        }
        let packages = SERVERS.map(|(package, _)| package).join(" ");
        let install = format!("apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes {packages}");
        match shell.args(["-c", &install]).stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_root => Ok(None),
            shell => Ok(Some(Self(shell.context("apt-get cannot be started")?))),
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Result<()> {
        let packages = SERVERS.map(|(package, _)| package).join(", ");
        ensure!(self.0.wait()?.success(), "apt-get could not install {packages}");
        Ok(())
    }
}

/// Packages of Debian, each with a file that it brings.
const SERVERS: [(&str, &str); 5] = [
    ("postgresql", "/usr/lib/postgresql"),
    ("pgbouncer", "/usr/sbin/pgbouncer"),
    ("nginx-light", "/usr/sbin/nginx"),
    ("caddy", "/usr/bin/caddy"),
    // The page Deployment copies a database with it.
    ("sqlite3", "/usr/bin/sqlite3"),
];
