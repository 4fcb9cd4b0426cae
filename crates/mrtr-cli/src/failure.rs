//! Failures of a command: the error, the next step for the person, and the exit code.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use anstream::eprintln;

use crate::shown::{ERROR, HINT, styled};

/// The exit codes that a calling program can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The call failed.
    Failed = 1,
    /// The command or its input is wrong.
    Usage = 2,
    /// The tool says that it failed.
    ToolFailed = 3,
    /// The server asked something that could not be answered here.
    Asked = 4,
    /// The person pressed Ctrl-C.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// An error that the person can act on.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    next: Vec<String>,
    code: Code,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), next: Vec::new(), code: Code::Failed }
    }

    /// A failure because of wrong input.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(what).code(Code::Usage)
    }

    /// Adds a hint what to do next; each hint goes on a line of its own.
    pub(crate) fn next(mut self, what: impl Into<String>) -> Self {
        self.next.push(what.into());
        self
    }

    pub(crate) fn code(self, code: Code) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Failure {}

/// Writes an error and its cause.
pub(crate) fn with_cause(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Tells the person, and returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("{} {error:#}", styled(ERROR, "error:"));
    let Some(failure) = error.downcast_ref::<Failure>() else { return Code::Failed.into() };
    for next in &failure.next {
        eprintln!("  {} {next}", styled(HINT, "→"));
    }
    failure.code.into()
}
