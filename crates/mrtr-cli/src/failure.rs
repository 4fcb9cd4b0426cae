//! Failures of a command: the error, the next step for the person, and the exit code.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use anstream::eprintln;
use clap::error::ErrorKind;

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
    /// False for an end that the person asked for.
    is_error: bool,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), next: Vec::new(), code: Code::Failed, is_error: true }
    }

    /// A failure because of wrong input.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(what).code(Code::Usage)
    }

    /// The end of a command that stopped at a question, as the person asked it to: no error.
    pub(crate) fn stopped_as_asked(what: impl Into<String>) -> Self {
        Self { is_error: false, ..Self::new(what).code(Code::Asked) }
    }

    /// Returns true if the command ended because of a question without an answer.
    pub(crate) fn is_asked(&self) -> bool {
        self.code == Code::Asked
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
    let failure = error.downcast_ref::<Failure>();
    if failure.is_none_or(|failure| failure.is_error) {
        eprintln!("{} {error:#}", styled(ERROR, "error:"));
    } else {
        eprintln!("{error}");
    }
    let Some(failure) = failure else { return Code::Failed.into() };
    for next in &failure.next {
        eprintln!("  {} {next}", styled(HINT, "→"));
    }
    failure.code.into()
}

/// Tells the person of words that the command does not take, and returns the exit code. Help that was asked for is
/// printed as it is.
pub(crate) fn report_words(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Standard error is closed, and there is no other place to say so.
        drop(error.print());
        return if error.use_stderr() { Code::Usage.into() } else { ExitCode::SUCCESS };
    }
    report(&in_our_form(&error.render().to_string()).into())
}

/// An error of the argument parser in the form of all others. The parser's first paragraph is the mistake; tips and the
/// usage follow.
fn in_our_form(text: &str) -> Failure {
    let (what, help) = text.split_once("\n\n").unwrap_or((text, ""));
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    let failure = Failure::usage(what.trim_start_matches("error: "));
    let help = help.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let mut is_usage = false;
    let failure = help.fold(failure, |failure, line| {
        is_usage |= line.starts_with("Usage: ");
        let line = line.trim_start_matches("Usage: ").trim_start_matches("tip: ");
        failure.next(if is_usage { format!("usage: {line}") } else { line.to_owned() })
    });
    failure.next("`--help` after the command explains its options")
}
