//! A process that does what its parent says, line by line, and says when it is done.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::{Phase, Side};

/// Options of such a process.
#[derive(clap::Args)]
pub(crate) struct Options {
    side: Side,
    #[arg(long)]
    file: PathBuf,
    #[arg(long)]
    tasks: usize,
    #[arg(long)]
    at_once: usize,
}

/// Goes through phases until there are no more.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut keeper = options.side.keeper(&options.file, options.tasks, options.at_once)?;
    answer_lines(|line| {
        let phase = Phase::from_str(line, false).map_err(anyhow::Error::msg)?;
        keeper.go(phase).map(|()| "done".to_owned())
    })
}

/// Answers each line of standard input with one line.
pub(super) fn answer_lines(mut answer: impl FnMut(&str) -> Result<String>) -> Result<()> {
    println!("ready");
    for line in std::io::stdin().lines() {
        println!("{}", answer(line?.trim())?);
    }
    Ok(())
}

/// A child process, as its parent has it; it ends when this value is dropped.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub(super) fn start(arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("standard input is piped")?;
        let output = BufReader::new(child.stdout.take().context("standard output is piped")?);
        let mut process = Self { child, input, output };
        ensure!(process.hear()? == "ready", "a process did not start");
        Ok(process)
    }

    pub(super) fn keeper(side: Side, file: &Path, tasks: usize, at_once: usize) -> Result<Self> {
        let side = side.to_possible_value().context("every side has a name")?;
        let (tasks, at_once) = (tasks.to_string(), at_once.to_string());
        let file = file.to_str().context("a path is a text")?;
        Self::start(&["keep-tasks", side.get_name(), "--file", file, "--tasks", &tasks, "--at-once", &at_once])
    }

    pub(super) fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    pub(super) fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "a process has ended");
        Ok(line.trim().to_owned())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
