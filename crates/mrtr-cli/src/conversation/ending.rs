//! Explains why a call has no result, and what to do; and saves the call, so that no answer is lost.

use mrtr::client::TransportFailure;
use mrtr::schema::error_object::MissingCapabilityData;
use mrtr::schema::{ClientCapabilities, ErrorCode, ErrorObject, Printable};
use mrtr::{CallError, CallErrorKind, PendingCall};

use super::Conversation;
use crate::answering::NoAnswer;
use crate::failure::{Code, Failure};
use crate::saved::SaveTo;
use crate::shown;

impl Conversation {
    /// Explains to the person why a call did not give its result.
    pub(super) fn failed(&self, tool: &str, error: CallError, save_to: &SaveTo) -> anyhow::Error {
        let failure = explained(&error, self.target());
        let Some(call) = error.into_pending().filter(is_worth_saving) else { return self.not_put_down(failure).into() };
        self.put_down(failure, tool, call, save_to).into()
    }

    /// Explains that the call cannot be saved: a session asks while the call is open, and what it asked ends with the
    /// call.
    fn not_put_down(&self, failure: Failure) -> Failure {
        let asked = self.answering.unanswered();
        if asked.is_empty() {
            return failure;
        }
        let failure = asked.into_iter().fold(failure, |failure, asked| failure.next(format!("asked: {asked}")));
        failure.next(
            "the server asks in a session, in which a call cannot be saved: make it again at a terminal, or \
             with --answers FILE",
        )
    }

    fn put_down(&self, failure: Failure, tool: &str, mut call: PendingCall, save_to: &SaveTo) -> Failure {
        self.answering.complete(&mut call);
        let (asked, answers) = shown::open_questions(&call);
        let mut failure = asked.into_iter().fold(failure, |failure, asked| failure.next(format!("asked: {asked}")));
        failure = failure.next(self.save(tool, call, save_to));
        match answers.as_object() {
            Some(answers) if !answers.is_empty() => {
                failure.next(format!("with answers from a file: --answers FILE, in which is {}", answers_text(answers)))
            }
            _ => failure,
        }
    }

    /// Explains to the person what became of a call after Ctrl-C while the server was at work. A task keeps running
    /// without this client, and can be followed later. Any other call was cancelled when its request was given up; the
    /// answers so far are kept.
    pub(super) fn stopped(&self, tool: &str, call: PendingCall, save_to: &SaveTo) -> anyhow::Error {
        let failure = if call.task().is_some() {
            Failure::new("interrupted: the task continues at the server")
                .next(self.save(tool, call, save_to))
                .next("to end it instead: mrtr resume FILE --cancel")
        } else if is_worth_saving(&call) {
            Failure::new("interrupted: the call is cancelled, and the server was told")
                .next(self.save(tool, call, save_to))
                .next("resuming keeps the answers; what the server had begun may have been done")
        } else {
            Failure::new("interrupted: the call is cancelled, and the server was told")
                .next("what it had begun may have been done; make the call again to have all of it done")
        };
        failure.code(Code::Interrupted).into()
    }
}

/// Returns true if the call has answers to lose: one without questions can be made again as easily.
fn is_worth_saving(call: &PendingCall) -> bool {
    call.questions().next().is_some() || call.task().is_some()
}

fn answers_text(answers: &serde_json::Map<String, serde_json::Value>) -> String {
    let text = serde_json::to_string(answers).unwrap_or_default();
    Printable::line(&text).up_to(1000).to_string()
}

/// Explains what went wrong, and what to do about it.
pub(crate) fn explained(error: &CallError, target: &crate::server::Target) -> Failure {
    match &error.kind {
        CallErrorKind::NotAnswered { key, source, .. } => not_answered(key, source.as_ref()),
        CallErrorKind::InvalidAnswer { error, .. } => Failure::new(error.to_string()).code(Code::Asked),
        CallErrorKind::Transport { source, .. } => unreached(source.failure(), &error.to_string(), target),
        CallErrorKind::Server { error: said, .. } => refused(said, error),
        CallErrorKind::NoHandler { key, method, .. } => {
            let method_shown = Printable::line(method);
            let (what, code) = match key {
                Some(key) => (format!("the server asks for `{}` ({method_shown})", Printable::line(key)), Code::Asked),
                None => (format!("the call needs answers to `{method_shown}`"), Code::Failed),
            };
            match flag_for(method) {
                Some(flag) => Failure::new(format!("{what}, and no option of this command offers it")).next(flag),
                None => Failure::new(format!("{what}, which this command does not know")),
            }
            .code(code)
        }
        CallErrorKind::InDoubt { .. } => {
            Failure::new(error.to_string()).next("find out what it has done before you make it again")
        }
        _ => Failure::new(with_causes(error)),
    }
}

fn not_answered(key: &str, source: &(dyn std::error::Error + Send + Sync + 'static)) -> Failure {
    let key = Printable::line(key).up_to(64).to_string();
    let code = match source.downcast_ref::<NoAnswer>() {
        Some(NoAnswer::PutDown) => {
            return Failure::new(format!("the call stopped at a question: it asks for `{key}`")).code(Code::Asked);
        }
        Some(NoAnswer::Interrupted) => Code::Interrupted,
        Some(_) => Code::Asked,
        None => Code::Failed,
    };
    Failure::new(format!("`{key}` was not answered: {source}")).code(code)
}

fn unreached(failure: TransportFailure, what: &str, target: &crate::server::Target) -> Failure {
    let failed = Failure::new(what);
    match failure {
        TransportFailure::Unreachable => failed
            .next("check the address and the port, and that the server runs")
            .next("for a server to try: mrtr serve"),
        TransportFailure::TimedOut => failed.next("the server may be busy or stuck: try again, and look into its log"),
        TransportFailure::Unauthorized => {
            failed.next("show who you are: --token TOKEN, or MRTR_TOKEN in the environment")
        }
        TransportFailure::Forbidden => {
            failed.next("your token does not let you do this, or the server refuses your host: ask its operator")
        }
        TransportFailure::NotFound => failed.next("check the path: most servers are at /mcp"),
        _ => match target {
            crate::server::Target::Url(_) => failed.next("look into the server's log, and try again"),
            crate::server::Target::Stdio(_) => failed.next("start the command by itself to see what it says"),
        },
    }
}

/// The server's own error.
fn refused(said: &ErrorObject, error: &CallError) -> Failure {
    let failure =
        Failure::new(format!("the server answered: {} ({})", Printable::line(&said.message), said.code.as_i64()));
    match said.data_as::<MissingCapabilityData>() {
        Some(Ok(data)) => missing(&data.required_capabilities).into_iter().fold(failure, Failure::next),
        _ if error.pending().is_some_and(is_worth_saving) && said.code == ErrorCode::INVALID_PARAMS => failure
            .next(
                "most likely its server was restarted, and its key ended with the process: MRTR_STATE_KEYS keeps keys",
            )
            .next("or its keys were replaced, or the call waited longer than an hour, or what the server allows")
            .next("the server's log says why; make the call again"),
        _ => failure,
    }
}

fn missing(wanted: &ClientCapabilities) -> Vec<&'static str> {
    let flags = [(wanted.samples(), "sampling/createMessage"), (wanted.roots.is_some(), "roots/list")];
    flags.into_iter().filter(|(is_wanted, _)| *is_wanted).filter_map(|(_, method)| flag_for(method)).collect()
}

fn flag_for(method: &str) -> Option<&'static str> {
    match method {
        "sampling/createMessage" => Some("let it ask a model: --sample-with TEXT, or --sample-command COMMAND"),
        "roots/list" => Some("show it your folders: --root FOLDER"),
        _ => None,
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.extend([": ", &Printable::line(&inner.to_string()).to_string()]);
        cause = inner.source();
    }
    text
}
