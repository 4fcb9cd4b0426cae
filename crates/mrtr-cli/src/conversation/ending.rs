//! Explains why a call has no result, and what to do; and saves the call, so that no answer is lost.

use std::path::PathBuf;

use mrtr::client::{Stop, TransportError, TransportFailure};
use mrtr::schema::error_object::MissingCapabilityData;
use mrtr::schema::{ClientCapabilities, ErrorCode, ErrorObject, Printable};
use mrtr::{CallError, CallErrorKind, PendingCall};

use super::Conversation;
use crate::answering::NoAnswer;
use crate::failure::{Code, Failure};
use crate::kept::{Delivery, Kept};
use crate::saved::SaveTo;
use crate::server::Target;
use crate::shown;
use crate::shown::quoted_path;

impl Conversation {
    /// Explains to the person why a call did not give its result.
    pub(super) fn failed(&self, tool: &str, error: CallError, kept: &Kept, save_to: &SaveTo) -> anyhow::Error {
        let failure = explained(&error, self.target());
        let delivery = Delivery::of(&error);
        let (is_put_down, is_over) = (is_put_down(&error.kind), is_over(&error));
        let failure = match error.into_pending().filter(is_worth_saving) {
            None => self.not_put_down(failure),
            Some(_) if is_over => over(failure, save_to),
            Some(mut call) => {
                let failure = match delivery {
                    Delivery::TurnedAway if kept.has_other_answers(&call) => {
                        failure.next("the answers given now are not saved, since the server did not let this caller in")
                    }
                    Delivery::TurnedAway => failure,
                    Delivery::NotTaken | Delivery::MayBeTaken => {
                        self.answering.complete(&mut call);
                        failure
                    }
                };
                match kept.after(call, delivery) {
                    Ok(left) => self.put_down(failure, tool, left, save_to, is_put_down),
                    Err(error) => self.with_saved(failure, &Err(error), false),
                }
            }
        };
        failure.into()
    }

    /// Explains that the answer which is given now and the one in the file cannot both hold.
    pub(super) fn contradicted(&self, key: &str, save_to: &SaveTo) -> Failure {
        let key = Printable::line(key).up_to(64).to_string();
        let failure = Failure::new(format!(
            "the answer to `{key}` is not the one in the file, which was sent before and which the server may have taken"
        ))
        .code(Code::Asked);
        let failure = match save_to {
            SaveTo::File(path) => failure.next(format!(
                "to send the one in the file again, leave `{key}` out of --answers: {}",
                self.resume_command(path)
            )),
            SaveTo::New(_) | SaveTo::Anywhere => failure,
        };
        failure.next("to answer otherwise, find out what the server has done, and make the call again")
    }

    /// Explains that the call cannot be saved: a session asks while the call is open, and what it asked ends with the
    /// call.
    fn not_put_down(&self, failure: Failure) -> Failure {
        let asked = self.answering.unanswered();
        if asked.is_empty() {
            return failure;
        }
        let failure = asked.into_iter().fold(failure, |failure, asked| failure.next(format!("asked: {asked}")));
        self.with_unused(failure).next(
            "the server asks in a session, in which a call cannot be saved: make it again at a terminal, or \
             with --answers FILE",
        )
    }

    /// Saves the call, and says how it goes on. If the person asked for this, it is no error.
    fn put_down(&self, failure: Failure, tool: &str, kept: Kept, save_to: &SaveTo, is_put_down: bool) -> Failure {
        let (asked, answers) = shown::open_questions(&kept.call);
        let is_task = kept.call.task().is_some();
        let saved = self.save(tool, kept, save_to);
        let failure = match &saved {
            Ok(path) if is_put_down => Failure::stopped_as_asked(format!("saved: {}", path.display())),
            _ => failure,
        };
        let failure = asked.into_iter().fold(failure, |failure, asked| failure.next(format!("asked: {asked}")));
        let failure = if failure.is_asked() { self.with_unused(failure) } else { failure };
        let failure = match &saved {
            Ok(path) if is_put_down => self.with_server(failure.next(self.resume_command(path)), is_task),
            saved => self.with_saved(failure, saved, is_task),
        };
        match answers.as_object() {
            Some(answers) if !answers.is_empty() => {
                failure.next(format!("with answers from a file: --answers FILE, in which is {}", answers_text(answers)))
            }
            _ => failure,
        }
    }

    /// Names the answers that were not asked for: the one that is missing may be misspelt.
    fn with_unused(&self, failure: Failure) -> Failure {
        let unused = self.answering.unused();
        unused.into_iter().fold(failure, |failure, unused| failure.next(format!("in --answers, {unused}")))
    }

    fn with_saved(&self, failure: Failure, saved: &anyhow::Result<PathBuf>, is_task: bool) -> Failure {
        match saved {
            Ok(path) => {
                let failure = failure.next(format!("the call is saved: {}", self.resume_command(path)));
                self.with_server(failure, is_task)
            }
            Err(error) => failure.next(format!("the call could not be saved: {error:#}")),
        }
    }

    /// Says what has to stay of a server that this command started, and that ends with it.
    fn with_server(&self, failure: Failure, is_task: bool) -> Failure {
        match (self.target(), is_task) {
            (Target::Url(_), _) => failure,
            (Target::Stdio(_), false) => failure.next(
                "the server ended with this command, and must have kept its keys in a file \
                 (mrtr serve --stdio --state-keys FILE)",
            ),
            (Target::Stdio(_), true) => failure.next(
                "the server ended with this command, and must have kept its keys and its tasks in files \
                 (mrtr serve --stdio --state-keys FILE --db FILE)",
            ),
        }
    }

    /// Explains to the person what became of a call after Ctrl-C while the server was at work. A task keeps running
    /// without this client, and can be followed later. Any other call was cancelled when its request was given up; the
    /// answers so far are kept.
    pub(super) fn stopped(&self, tool: &str, error: CallError, kept: &Kept, save_to: &SaveTo) -> anyhow::Error {
        let delivery = Delivery::of(&error);
        let cancelled = "interrupted: the call is cancelled, and the server was told";
        let failure = match error.into_pending().filter(is_worth_saving) {
            None => Failure::new(cancelled)
                .next("what it had begun may have been done; make the call again to have all of it done"),
            Some(call) => {
                let is_task = call.task().is_some();
                let saved = kept.after(call, delivery).and_then(|kept| self.save(tool, kept, save_to));
                if is_task {
                    let failure = Failure::new("interrupted: the task continues at the server");
                    let failure = self.with_saved(failure, &saved, true);
                    match saved {
                        Ok(path) => failure.next(format!("to end it instead: {} --cancel", self.resume_command(&path))),
                        Err(_) => failure,
                    }
                } else {
                    self.with_saved(Failure::new(cancelled), &saved, false)
                        .next("resuming keeps the answers; what the server had begun may have been done")
                }
            }
        };
        failure.code(Code::Interrupted).into()
    }
}

/// Returns true if the call stopped at a question because the person wants it saved there.
fn is_put_down(kind: &CallErrorKind) -> bool {
    let CallErrorKind::NotAnswered { source, .. } = kind else { return false };
    matches!(source.downcast_ref(), Some(NoAnswer::PutDown))
}

/// Returns true if nothing is left to resume: the server refused the call, or its task is over.
fn is_over(error: &CallError) -> bool {
    is_refused(error) || matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TaskCancelled, .. })
}

/// Returns true if the server does not take what a request brought.
pub(crate) fn is_refused(error: &CallError) -> bool {
    matches!(&error.kind, CallErrorKind::Server { error, .. } if error.code == ErrorCode::INVALID_PARAMS)
}

/// Says what to do with the file of a call that is over.
fn over(failure: Failure, file: &SaveTo) -> Failure {
    match file {
        SaveTo::File(path) => {
            failure.next(format!("the file of the call stays; to remove it: rm {}", quoted_path(path)))
        }
        SaveTo::New(_) | SaveTo::Anywhere => failure,
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
pub(crate) fn explained(error: &CallError, target: &Target) -> Failure {
    match &error.kind {
        CallErrorKind::NotAnswered { key, source, .. } => not_answered(key, source.as_ref()),
        CallErrorKind::InvalidAnswer { error, .. } => Failure::new(error.to_string()).code(Code::Asked),
        CallErrorKind::BadQuestion { .. } | CallErrorKind::GatheringTooLong => {
            Failure::new(with_causes(error)).code(Code::Asked)
        }
        CallErrorKind::Stopped { stop: Stop::TooManyRounds(_) | Stop::Unanswerable(_), .. } => {
            let failure = Failure::new(with_causes(error)).code(Code::Asked);
            match error.pending() {
                Some(call) if shown::has_page(call) => failure.next("visit the page, then resume the call"),
                _ => failure,
            }
        }
        CallErrorKind::Transport { source, .. } => unreached(source, told(error, target), target),
        CallErrorKind::Server { error: said, .. } => refused(said, error),
        CallErrorKind::NoHandler { key, method, .. } => {
            let method_shown = Printable::line(method);
            let what = match key {
                Some(key) => format!("the server asks for `{}` ({method_shown})", Printable::line(key)),
                None => format!("the call needs answers to `{method_shown}`"),
            };
            match flag_for(method) {
                Some(flag) => Failure::new(format!("{what}, and no option offers it here")).next(flag),
                None => Failure::new(format!("{what}, which this command does not know")),
            }
            .code(Code::Asked)
        }
        CallErrorKind::InDoubt { .. } => {
            Failure::new(told(error, target)).next("find out what it has done before you make it again")
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
        _ => Code::Asked,
    };
    let failure = Failure::new(format!("`{key}` was not answered: {source}")).code(code);
    match source.downcast_ref() {
        Some(NoAnswer::NoConsent) => failure.next("a page takes true, false, \"decline\" or \"cancel\""),
        _ => failure,
    }
}

/// The error's own words, with the command line of a server that this command starts: a saved call knows such a server
/// by a digest, which says nothing to a person.
fn told(error: &CallError, target: &Target) -> String {
    let text = error.to_string();
    match (target, error.pending().and_then(PendingCall::server)) {
        (Target::Stdio(_), Some(known)) => text.replace(&Printable::line(known).to_string(), &target.to_string()),
        _ => text,
    }
}

fn unreached(source: &TransportError, what: String, target: &Target) -> Failure {
    let failed = Failure::new(what);
    // The transport does not tell these apart, and their words do. Of a server's words, only the hint depends on them.
    let cause = source.to_string();
    let says = |words: &str| cause.contains(words);
    match source.failure() {
        TransportFailure::Unreachable if says("UnknownIssuer") => failed
            .next("this machine does not trust the authority of the server's certificate")
            .next("add the authority to the system's, or, on Linux, name a file of it: SSL_CERT_FILE=ca.pem mrtr …"),
        TransportFailure::Unreachable if says("certificate") => {
            failed.next("the server's certificate is not valid for this address, or not at this time")
        }
        // The error says what to write.
        TransportFailure::Unreachable if says("does not speak TLS") => failed,
        TransportFailure::Unreachable => failed
            .next("check the address and the port, and that the server runs")
            .next("for a server to try: mrtr serve"),
        TransportFailure::TimedOut => failed.next("the server may be busy or stuck: try again, and look into its log"),
        TransportFailure::Unauthorized => {
            failed.next("show who you are: --token TOKEN, or MRTR_TOKEN in the environment")
        }
        // The words of a server of mrtr.
        TransportFailure::Forbidden if says("this host") => failed.next(
            "the server does not know the host in this URL: start it with that name (mrtr serve --allow-host HOST)",
        ),
        TransportFailure::Forbidden => failed.next(
            "the server, or a proxy before it, does not let you do this: send another token, or ask its operator",
        ),
        TransportFailure::NotFound => failed.next("check the path: most servers are at /mcp"),
        _ => match target {
            Target::Url(url) if url.starts_with("http://") && (says("HTTPS") || says("HTTP version")) => {
                failed.next("the server seems to speak TLS on this port: write https:// in its URL")
            }
            Target::Url(_) => failed.next("look into the server's log, and try again"),
            Target::Stdio(_) => failed.next("start the command by itself to see what it says"),
        },
    }
}

/// The server's own error.
fn refused(said: &ErrorObject, error: &CallError) -> Failure {
    let failure =
        Failure::new(format!("the server answered: {} ({})", Printable::line(&said.message), said.code.as_i64()));
    match (said.data_as::<MissingCapabilityData>(), error.pending()) {
        (Some(Ok(data)), _) => {
            missing(&data.required_capabilities).into_iter().fold(failure.code(Code::Asked), Failure::next)
        }
        (_, Some(call)) if is_refused(error) && call.task().is_some() => no_such_task(failure),
        (_, Some(call)) if is_refused(error) && is_worth_saving(call) => failure
            .next("make the call again: the server does not take its state any more, and its log has the reason")
            .next("the server was restarted without its keys, or has others now (mrtr serve --state-keys FILE keeps them)")
            .next("or the call was answered before, such as from a copy of its file")
            .next("or it waited too long: more than an hour, unless the server sets another time")
            .next("or its file was changed, or you have another token than when it began"),
        _ => failure,
    }
}

/// Says why a server may not know a task.
pub(crate) fn no_such_task(failure: Failure) -> Failure {
    failure
        .next("the server was restarted without its tasks or its keys (mrtr serve --db FILE --state-keys FILE keeps both)")
        .next("or the task ended long ago, and the server has removed it")
        .next("or you have another token than when it began")
}

fn missing(wanted: &ClientCapabilities) -> Vec<&'static str> {
    let flags = [(wanted.samples(), "sampling/createMessage"), (wanted.roots.is_some(), "roots/list")];
    flags.into_iter().filter(|(is_wanted, _)| *is_wanted).filter_map(|(_, method)| flag_for(method)).collect()
}

fn flag_for(method: &str) -> Option<&'static str> {
    match method {
        "sampling/createMessage" => Some("let it ask a model: --sample-with TEXT, or --sample-command COMMAND"),
        "roots/list" => Some("offer it your folders: --root FOLDER"),
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
