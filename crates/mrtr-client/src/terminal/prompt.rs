//! What both ways of asking share: the words of a prompt, and what an entered line means.

use mrtr_schema::elicitation::{ElicitAction, Field, FieldKind};
use mrtr_schema::{Form, Json, Printable};

use super::TerminalError;
use crate::answer::{display_key, display_server};
use crate::handlers::QuestionContext;

/// Asks a person, field by field.
pub(super) trait Prompter {
    /// Shows a text.
    fn say(&mut self, text: &str) -> Result<(), TerminalError>;

    /// Has a field filled in.
    fn ask(&mut self, form: &Form, field: Field<'_>) -> Result<Entered, TerminalError>;
}

/// What became of a field.
#[derive(Debug, PartialEq)]
pub(super) enum Entered {
    /// It holds this.
    Value(Json),
    /// It is left empty.
    Nothing,
    /// The person left the question, and with it the form.
    Left(ElicitAction),
}

/// What an entered line means, or why it is not taken. An empty one takes the default.
pub(super) fn entered(field: Field<'_>, line: &str) -> Result<Entered, String> {
    if !line.is_empty() {
        return field.parse(line).map(Entered::Value).map_err(|reason| reason.to_string());
    }
    match field.default() {
        Some(default) => match field.check(&default) {
            Ok(()) => Ok(Entered::Value(default)),
            Err(reason) => Err(format!("the server's default does not fit: {reason}")),
        },
        None if !field.is_required => Ok(Entered::Nothing),
        None if field.kind() == FieldKind::MultiSelect => chosen(field, &[]),
        None => Err("an answer is needed".to_owned()),
    }
}

/// What the choice of some options means.
pub(super) fn chosen(field: Field<'_>, values: &[&str]) -> Result<Entered, String> {
    // Without a default, no choice is none; beside one it takes an empty list to say so.
    if values.is_empty() && !field.is_required && field.default().is_none() {
        return Ok(Entered::Nothing);
    }
    let value = Json::from(serde_json::Value::from(values.to_vec()));
    field.check(&value).map_err(|reason| reason.to_string())?;
    Ok(Entered::Value(value))
}

/// What stands above a question: who asks, in the middle of what, and the server's words, set apart from ours.
pub(super) fn heading(context: &QuestionContext, message: &str) -> String {
    let for_what = context.name.as_deref().map(|name| format!(", for `{}`", display_key(name))).unwrap_or_default();
    let message: String = message.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("\n{} asks{for_what}:\n{message}", display_server(&context.server))
}

/// What a field is called on the screen: its title, and what an empty line means.
pub(super) fn label(field: Field<'_>) -> String {
    let title = field.title();
    let kind = if field.kind() == FieldKind::Boolean { " (y/n)" } else { "" };
    match field.default_text() {
        Some(default) => format!("{title}{kind} [{}]", Printable::line(&default).up_to(MAX_DEFAULT)),
        None if field.is_required => format!("{title}{kind}"),
        None => format!("{title}{kind} (optional)"),
    }
}

/// What helps to fill a field in: what it is about, and what it takes.
pub(super) fn help(field: Field<'_>) -> String {
    let description = field.schema.description().map(|text| Printable::line(text).to_string());
    let takes = match (field.kind(), field.constraints()) {
        (FieldKind::Number, constraints) if constraints.is_empty() => "a number".to_owned(),
        (FieldKind::Integer, constraints) if constraints.is_empty() => "a whole number".to_owned(),
        (FieldKind::Number, constraints) => format!("a number, {constraints}"),
        (FieldKind::Integer, constraints) => format!("a whole number, {constraints}"),
        (_, constraints) => constraints.to_string(),
    };
    let takes = Some(takes).filter(|takes| !takes.is_empty());
    description.into_iter().chain(takes).collect::<Vec<_>>().join(" · ")
}

/// A default is shown to be recognised, not to be read.
const MAX_DEFAULT: usize = 60;
