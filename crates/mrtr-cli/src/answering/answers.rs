//! A file of answers: JSON, from the key of a question to its answer.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use mrtr::client::{AnswerError, UnsafeUrl};
use mrtr::schema::elicitation::{ElicitAction, ElicitResult};
use mrtr::schema::input::InputKind;
use mrtr::schema::{InputRequest, Json, Printable};
use mrtr::{FormRequest, PendingCall, UrlRequest};
use serde_json::{Map, Value};

use super::NoAnswer;
use crate::failure::Failure;
use crate::kept::{Kept, answered, have_same_answer, reopened};
use crate::shown;

/// Answers that were written before the server asked for them.
#[derive(Default)]
pub(crate) struct Answers {
    by_key: Map<String, Value>,
    used: Mutex<BTreeSet<String>>,
    /// True if the call was saved before: the questions of its earlier rounds are not known.
    is_resumed: AtomicBool,
}

/// A saved call, held against the answers that are given now.
pub(crate) enum Replaced {
    /// The call, whose questions are open where an answer is given now.
    Call(Box<PendingCall>),
    /// The server may have acted on the kept answer to this question, and another is given now.
    Contradicts(String),
}

/// One answer of the file.
enum Given<'a> {
    Content(&'a Value),
    Refused(ElicitAction),
}

impl Answers {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let name =
            if file == Path::new("-") { "from standard input".to_owned() } else { format!("in {}", file.display()) };
        let text = if file == Path::new("-") {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        } else {
            fs::read_to_string(file)
        };
        let text = text.map_err(|error| {
            Failure::usage(format!("the answers {name} cannot be read: {error}")).next("check the path after --answers")
        })?;
        match serde_json::from_str(&text) {
            Ok(Value::Object(by_key)) => Ok(Self { by_key, ..Self::default() }),
            Ok(_) => bail!(wrong_form(&format!("the answers {name} are not a JSON object"))),
            Err(error) => bail!(wrong_form(&format!("the answers {name} are not JSON: {error}"))),
        }
    }

    /// The answer to a form, if there is one. It is given once: a server that asks again did not take it.
    pub(super) fn form(&self, form: &FormRequest) -> Result<Option<ElicitResult>, NoAnswer> {
        let key = &form.context().key;
        let Some(answer) = self.by_key.get(key) else { return Ok(None) };
        if !self.used().insert(key.clone()) {
            return Err(NoAnswer::AskedAgain);
        }
        Ok(Some(match Given::of(answer) {
            Given::Content(content) => {
                check_fields(form, content)?;
                form.accept(content)?
            }
            Given::Refused(action) => ElicitResult::new(action),
        }))
    }

    /// The answer to a URL, if there is one. The server may ask for it again until the person has visited the page.
    pub(super) fn url(&self, url: &UrlRequest) -> Result<Option<ElicitResult>, NoAnswer> {
        let key = &url.context().key;
        let Some(answer) = self.by_key.get(key) else { return Ok(None) };
        self.used().insert(key.clone());
        consent(answer).map(|action| Some(ElicitResult::new(action))).ok_or(NoAnswer::NoConsent)
    }

    /// Gives a call the answers to its questions, as far as they fit.
    pub(super) fn complete(&self, call: &mut PendingCall) {
        let open: Vec<_> = call.unanswered().map(str::to_owned).collect();
        for key in open {
            let Some(answer) = self.by_key.get(&key) else { continue };
            // An answer that the server did not take before is not given again.
            if self.used().contains(&key) {
                continue;
            }
            let url = call.question(&key).and_then(|question| match question.kind() {
                InputKind::Url(params) => Some(params),
                InputKind::Form(_)
                | InputKind::Sample(_)
                | InputKind::Roots
                | InputKind::Namespaced(_)
                | InputKind::Unknown(_) => None,
            });
            let is_unsafe = url.is_some_and(|url| UnsafeUrl::check(&url.url).is_err());
            let is_url = url.is_some();
            self.used().insert(key.clone());
            let given = match (Given::of(answer), consent(answer)) {
                (_, Some(ElicitAction::Accept)) if is_unsafe => continue,
                (_, None) if is_url => continue,
                (_, Some(action)) if is_url => call.answer(&key, &ElicitResult::new(action)),
                (Given::Content(content), _) => call.accept(&key, content),
                (Given::Refused(action), _) => call.answer(&key, &ElicitResult::new(action)),
            };
            drop::<Result<(), AnswerError>>(given);
        }
    }

    /// Opens the questions of a saved call again that an answer is given to now, so that it is taken like all others.
    pub(super) fn replace_kept(&self, kept: &Kept) -> Result<Replaced> {
        let is_given = |key: &str| self.by_key.contains_key(key) && kept.call.question(key).is_some_and(may_be_written);
        let call = reopened(&kept.call, is_given)?;
        if !kept.may_be_taken {
            return Ok(Replaced::Call(call.into()));
        }
        let mut given = call;
        self.complete(&mut given);
        for key in answered(&kept.call).filter(|key| is_given(key)) {
            if !have_same_answer(&kept.call, &given, key)? {
                return Ok(Replaced::Contradicts(key.to_owned()));
            }
        }
        Ok(Replaced::Call(kept.call.clone().into()))
    }

    pub(super) fn note_resumed(&self) {
        self.is_resumed.store(true, Ordering::Relaxed);
    }

    pub(super) fn unused(&self) -> Option<String> {
        let used = self.used();
        let unused: Vec<_> = self.by_key.keys().filter(|key| !used.contains(*key)).map(String::as_str).collect();
        // The questions of a saved call's earlier rounds are not known.
        let what =
            if self.is_resumed.load(Ordering::Relaxed) { "not asked since the call was saved" } else { "never asked" };
        (!unused.is_empty()).then(|| format!("{what}: {}", shown::listed(unused)))
    }

    fn used(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Given<'a> {
    /// Reads an answer: the form's content as it is, a word that refuses, or both in the protocol's own way.
    fn of(answer: &'a Value) -> Self {
        let refusal = |word: &str| match word {
            "decline" => Some(ElicitAction::Decline),
            "cancel" => Some(ElicitAction::Cancel),
            _ => None,
        };
        match answer {
            Value::String(word) if refusal(word).is_some() => {
                Self::Refused(refusal(word).unwrap_or(ElicitAction::Cancel))
            }
            Value::Object(members) if members.keys().all(|key| key == "action" || key == "content") => {
                let action = members.get("action").and_then(Value::as_str);
                match (action.and_then(refusal), action, members.get("content")) {
                    (Some(action), ..) => Self::Refused(action),
                    (None, Some("accept"), Some(content)) => Self::Content(content),
                    _ => Self::Content(answer),
                }
            }
            _ => Self::Content(answer),
        }
    }
}

/// Checks each field by itself, and says what it takes in the words that a person at the terminal reads.
fn check_fields(form: &FormRequest, content: &Value) -> Result<(), NoAnswer> {
    for field in form.form().fields() {
        let Some(value) = content.get(field.name) else { continue };
        field.check(&Json::from(value.clone())).map_err(|reason| NoAnswer::Field {
            key: Printable::line(&form.context().key).up_to(64).to_string(),
            field: Printable::line(field.name).up_to(64).to_string(),
            reason,
        })?;
    }
    Ok(())
}

/// Returns true if a file of answers may have the answer to this question.
fn may_be_written(question: &InputRequest) -> bool {
    matches!(question.kind(), InputKind::Form(_) | InputKind::Url(_))
}

/// Reads the answer to a URL, if it is one.
fn consent(answer: &Value) -> Option<ElicitAction> {
    match answer.get("action").unwrap_or(answer) {
        Value::Bool(true) => Some(ElicitAction::Accept),
        Value::Bool(false) => Some(ElicitAction::Decline),
        Value::String(word) => match word.as_str() {
            "accept" => Some(ElicitAction::Accept),
            "decline" => Some(ElicitAction::Decline),
            "cancel" => Some(ElicitAction::Cancel),
            _ => None,
        },
        _ => None,
    }
}

fn wrong_form(what: &str) -> Failure {
    Failure::usage(what)
        .next(r#"write {"key": {"field": value}}; "decline" or "cancel" instead of fields refuses; a URL takes true or false"#)
}
