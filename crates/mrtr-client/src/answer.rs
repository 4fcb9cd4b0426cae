//! The check that an answer fits its question before it is sent, with the form's defaults filled in.

use std::borrow::Cow;
use std::fmt;

use mrtr_schema::elicitation::{ElicitAction, ElicitResult, FormContent};
use mrtr_schema::input::InputKind;
use mrtr_schema::roots::ListRootsResult;
use mrtr_schema::sampling::{CreateMessageResult, SamplingContent};
use mrtr_schema::validate::Violations;
use mrtr_schema::{Form, InputRequest, InputResponse, JsonObject, Printable, RawMembers, ReadError, Revision, Wire};

use crate::raw::RawObject;

/// An error that says why an answer was not taken. Nothing of it is sent.
///
/// ```
/// use mrtr_client::{AnswerError, PendingCall};
/// use mrtr_schema::elicitation::ElicitResult;
///
/// let saved = r#"{"format": 1, "revision": "2026-07-28", "method": "tools/call", "params": {},
///     "asked": {"who": {"method": "roots/list"}}}"#;
/// let mut pending: PendingCall = serde_json::from_str(saved)?;
/// assert!(matches!(pending.answer("when", &ElicitResult::decline()), Err(AnswerError::NotAsked(_))));
/// assert!(matches!(pending.answer("who", &ElicitResult::decline()), Err(AnswerError::WrongKind { .. })));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// The answer is to something that the server did not ask.
    NotAsked(String),
    /// The answer is not of the kind that the server asked for.
    WrongKind {
        /// The key of the question.
        key: String,
        /// The error from reading the answer as that kind.
        source: ReadError,
    },
    /// The answer does not fit the form.
    Invalid {
        /// The key of the question.
        key: String,
        /// The violations of the form.
        violations: Violations,
    },
    /// The protocol itself defines this kind of question: a client that is asked must answer it.
    NotOptional(String),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked(key) => write!(f, "`{}` was not asked", display_key(key)),
            Self::WrongKind { key, source } => {
                write!(f, "the answer to `{}` is not of the kind that was asked for: {source}", display_key(key))
            }
            Self::Invalid { key, violations } => {
                write!(f, "the answer to `{}` does not fit the form: {}", display_key(key), listed(violations))
            }
            Self::NotOptional(key) => write!(f, "`{}` may not be left out", display_key(key)),
        }
    }
}

/// It has no cause: the message says all.
impl std::error::Error for AnswerError {}

/// Shows the name and the message, and no more: a server's words may be long.
impl fmt::Debug for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::NotAsked(_) => "NotAsked",
            Self::WrongKind { .. } => "WrongKind",
            Self::Invalid { .. } => "Invalid",
            Self::NotOptional(_) => "NotOptional",
        };
        f.debug_tuple(name).field(&self.to_string()).finish()
    }
}

/// A key as it stands in messages: it is the server's, and may be long.
pub(crate) fn display_key(key: &str) -> Cow<'_, str> {
    Printable::line(key).up_to(MAX_KEY).into_text()
}

/// A server as it stands in messages. The query of its address may be a secret, and is left out.
pub(crate) fn display_server(server: &str) -> String {
    match server.find(['?', '#']) {
        Some(end) => format!("{}{}…", Printable::line(&server[..end]), &server[end..=end]),
        None => Printable::line(server).to_string(),
    }
}

/// The violations as they stand in messages, which are cut short: the form is the server's.
fn listed(violations: &Violations) -> String {
    Printable::line(&violations.to_string()).up_to(MAX_LIST).to_string()
}

/// The answer as it is sent, if it fits.
pub(crate) fn validated(
    key: &str,
    request: &InputRequest,
    answer: &InputResponse,
    revision: Revision,
) -> Result<InputResponse, AnswerError> {
    let wrong = |source| AnswerError::WrongKind { key: key.to_owned(), source };
    let raw = answer.as_object().as_raw();
    match request.kind() {
        InputKind::Form(params) => filled_in(key, &params.requested_schema, answer, revision),
        InputKind::Url(_) => ElicitResult::read(raw, revision.lenient()).map_err(wrong).and_then(|mut consent| {
            // Consent carries nothing: the server finds out by itself if the person did it (EL-4).
            consent.content = None;
            InputResponse::of(&consent, revision).map_err(|error| wrong(error.into()))
        }),
        InputKind::Sample(params) => {
            let sampled = CreateMessageResult::read(raw, revision.lenient()).map_err(wrong)?;
            let uses_tools = sampled.content.iter().any(|block| matches!(block, SamplingContent::ToolUse(_)));
            if uses_tools && params.tools.is_none() {
                return Err(wrong(
                    ReadError::refused("the answer uses a tool, and none was offered").in_member("content"),
                ));
            }
            Ok(answer.clone())
        }
        InputKind::Roots => ListRootsResult::read(raw, revision.lenient()).map(|_| answer.clone()).map_err(wrong),
        InputKind::Namespaced(_) | InputKind::Unknown(_) => Ok(answer.clone()),
    }
}

/// A person's answer to a form, with defaults where the person left something out.
fn filled_in(key: &str, form: &Form, answer: &InputResponse, revision: Revision) -> Result<InputResponse, AnswerError> {
    if !has_defaults(form) && form.plain_answer(answer.as_object().as_raw()).is_some() {
        return Ok(answer.clone());
    }
    let wrong = |source| AnswerError::WrongKind { key: key.to_owned(), source };
    let mut members = RawObject::of(answer.as_object().as_raw());
    let given = members.remove("content");
    let bare = JsonObject::from_raw(&members.finish()).map_err(wrong)?;
    let mut filled = ElicitResult::read(bare.as_raw(), revision.lenient()).map_err(wrong)?;
    if filled.action == ElicitAction::Accept {
        let given = given.as_deref().map(JsonObject::from_raw).transpose();
        let given = given.map_err(|error| wrong(error.in_member("content")))?.unwrap_or_default();
        filled.content = ElicitResult::accept(content(key, form, &given)?).content;
    }
    InputResponse::of(&filled, revision).map_err(|error| wrong(error.into()))
}

/// The content to send for a form, if it fits: the given values, and defaults for those left out.
pub(crate) fn content(key: &str, form: &Form, given: &JsonObject) -> Result<JsonObject, AnswerError> {
    let mut members = RawObject::of(given.as_raw());
    // A Rust type writes an optional member that is not there as null; forms know no null.
    members.retain(|_, value| value.get() != "null");
    members.fill_in(defaults(form));
    let wrong = |source: ReadError| AnswerError::WrongKind { key: key.to_owned(), source };
    let content = JsonObject::from_raw(&members.finish()).map_err(wrong)?;
    form.check(&content).map_err(|violations| AnswerError::Invalid { key: key.to_owned(), violations })?;
    // Values that the form does not know must be of the kinds that forms hold, too: the server refuses others.
    let content = FormContent::new(content).map_err(|error| wrong(error.in_member("content")))?;
    Ok(content.into_object())
}

/// True if a field may have a default. A form with neither the word nor an escape in it has none.
fn has_defaults(form: &Form) -> bool {
    form.as_str().contains("\"default\"") || form.as_str().contains('\\')
}

/// The initial values of the fields, as the server wrote them.
fn defaults(form: &Form) -> RawObject {
    if !has_defaults(form) {
        return RawObject::default();
    }
    let fields = RawMembers::parse(form.as_str()).ok().and_then(|form| form.object("properties").ok().flatten());
    let fields = fields.unwrap_or_default();
    let default = |field| RawMembers::of(field).ok()?.get("default").map(ToOwned::to_owned);
    fields.iter().filter_map(|(name, field)| Some((name.to_owned(), default(field)?))).collect()
}

const MAX_KEY: usize = 64;

const MAX_LIST: usize = 1000;
