//! The program, run to its end: its exit code and its output.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) const MRTR: &str = env!("CARGO_BIN_EXE_mrtr");

/// The result of one run of the program.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program, in this folder, with nothing of the tester's own environment that it would heed.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(MRTR);
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    for variable in ["MRTR_DATABASE", "MRTR_TOKEN", "MRTR_STATE_KEYS", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Runs it without a terminal, with this on standard input.
pub(crate) fn run_with(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut command = command(folder, arguments);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read its input does not fail the test.
    drop(process.stdin.take().unwrap().write_all(input.as_bytes()));
    let output = process.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs it without a terminal, and with nothing on standard input.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ran {
    run_with(folder, arguments, "")
}

impl Ran {
    /// Asserts that it ended with this code, and wrote all of these on standard error.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, phrases: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for phrase in phrases {
            assert!(self.err.contains(phrase), "it does not say `{phrase}`:\n{}", self.err);
        }
    }

    /// Asserts that it ended well with this on standard output, and nothing else.
    #[track_caller]
    pub(crate) fn gives(&self, out: &str) {
        assert_eq!((self.code, self.out.as_str()), (Some(0), out), "{}", self.err);
    }
}
