//! Where programs are, and how a program of the matrix becomes a command.

use std::path::PathBuf;
use std::process::Command;

use super::packages::Packages;
use super::peer::Program;
use crate::workspace::root;

pub(super) struct Places {
    pub(super) packages: Packages,
    /// Where cargo puts programs.
    pub(super) programs: PathBuf,
    /// Where files of a run may be written.
    pub(super) folder: PathBuf,
}

impl Places {
    /// The words that start a program, with these behind them.
    pub(super) fn words(&self, program: &Program, arguments: &[&str]) -> Vec<String> {
        let script = |folder: &str, name: &str| root().join("xtask/interop").join(folder).join(name);
        let mut words = match program {
            Program::Python { environment: "python-1", script: name } => {
                vec![self.packages.python_1.clone(), script("python", name)]
            }
            Program::Python { script: name, .. } => vec![self.packages.python_2.clone(), script("python", name)],
            Program::Node(name) => vec![self.packages.node.clone(), script("typescript", name)],
            Program::Bench(_) => vec![self.program("mrtr-bench")],
            Program::Example(name) => vec![self.program(name)],
        };
        if let Program::Bench(first) = program {
            words.extend(first.iter().map(PathBuf::from));
        }
        let words = words.into_iter().map(|word| word.display().to_string());
        words.chain(arguments.iter().map(|&argument| argument.to_owned())).collect()
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A command with the environment that all programs have, and that clients pass on to the servers they start.
    pub(super) fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // Scripts find their packages elsewhere, and leave nothing beside themselves.
        command.env("PACKAGES", format!("{}/", self.packages.npm.display())).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}
