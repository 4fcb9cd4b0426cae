//! Questions on a terminal: lines to edit and lists to choose from.

use std::io::{self, Write};

use inquire::list_option::ListOption;
use inquire::ui::{RenderConfig, Styled};
use inquire::validator::Validation;
use inquire::{InquireError, MultiSelect, Select, Text};
use mrtr_schema::Form;
use mrtr_schema::elicitation::{ElicitAction, Field, FieldKind};

use super::{Entered, Prompter, TerminalError, chosen, entered, help, label};

/// Asks on the terminal of the process.
pub(super) struct Screen;

impl Prompter for Screen {
    fn say(&mut self, text: &str) -> Result<(), TerminalError> {
        // The prompts go to stderr too, so the order stays.
        io::stderr().write_all(text.as_bytes()).map_err(TerminalError::Broken)
    }

    fn ask(&mut self, form: &Form, field: Field<'_>) -> Result<Entered, TerminalError> {
        loop {
            let asked = match field.kind() {
                _ if field.options().is_empty() => line(field),
                FieldKind::Select => one_option(field),
                FieldKind::MultiSelect => some_options(form, field),
                FieldKind::Text | FieldKind::Number | FieldKind::Integer | FieldKind::Boolean => line(field),
            };
            match asked {
                Ok(entered) => return Ok(entered),
                Err(InquireError::OperationCanceled) => {
                    if let Some(action) = leave()? {
                        return Ok(Entered::Left(action));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A line to edit. One that does not fit stays, with the reason above it.
fn line(field: Field<'_>) -> Result<Entered, InquireError> {
    let (label, help) = (label(field), with_keys(field, "Esc for no answer"));
    let validator = |line: &str| {
        Ok(match entered(field, line) {
            Ok(_) => Validation::Valid,
            Err(reason) => Validation::Invalid(reason.into()),
        })
    };
    let default = field.default_text();
    let taken = |line: &str| match (&default, line) {
        (Some(default), "") => default.clone(),
        (None, "") => LEFT_EMPTY.to_owned(),
        _ => line.to_owned(),
    };
    let text = Text::new(&label)
        .with_render_config(look())
        .with_help_message(&help)
        .with_validator(validator)
        .with_formatter(&taken);
    let line = text.prompt()?;
    entered(field, &line).map_err(|reason| InquireError::Custom(reason.into()))
}

fn one_option(field: Field<'_>) -> Result<Entered, InquireError> {
    let options = field.options();
    let mut titles: Vec<String> = options.iter().map(|option| option.title().into_owned()).collect();
    let default = field.default();
    if !field.is_required && default.is_none() {
        titles.push(LEFT_EMPTY.to_owned());
    }
    let default = default.as_ref().and_then(mrtr_schema::Json::as_text);
    let first = options.iter().position(|option| Some(option.value) == default.as_deref()).unwrap_or_default();
    let (label, help) = (label(field), with_keys(field, "↑↓ to move, Enter to choose, Esc for no answer"));
    let select =
        Select::new(&label, titles).with_render_config(look()).with_help_message(&help).with_starting_cursor(first);
    match options.get(select.raw_prompt()?.index) {
        Some(option) => Ok(Entered::Value(serde_json::Value::from(option.value).into())),
        None => Ok(Entered::Nothing),
    }
}

fn some_options(form: &Form, field: Field<'_>) -> Result<Entered, InquireError> {
    let options = field.options();
    let titles: Vec<String> = options.iter().map(|option| option.title().into_owned()).collect();
    let default: Vec<String> = field.default().and_then(|list| list.to().ok()).unwrap_or_default();
    let position = |value: &String| options.iter().position(|option| option.value == value);
    let first: Vec<usize> = default.iter().filter_map(position).collect();
    // A validator must own what it uses: it has a copy of the form, and finds the field again.
    let (whole, name) = (form.clone(), field.name.to_owned());
    let validator = move |marked: &[ListOption<&String>]| {
        let Some(field) = whole.field(&name) else { return Ok(Validation::Valid) };
        Ok(match chosen(field, &values(field, marked)) {
            Ok(_) => Validation::Valid,
            Err(reason) => Validation::Invalid(reason.into()),
        })
    };
    let keys = "↑↓ to move, Space to mark, Enter to go on, Esc for no answer";
    let (label, help) = (label(field), with_keys(field, keys));
    let select =
        MultiSelect::new(&label, titles).with_render_config(look()).with_help_message(&help).with_default(&first);
    let marked = select.with_validator(validator).raw_prompt()?;
    chosen(field, &values(field, &marked)).map_err(|reason| InquireError::Custom(reason.into()))
}

/// The values of the options that are marked.
fn values<'a, T>(field: Field<'a>, marked: &[ListOption<T>]) -> Vec<&'a str> {
    let options = field.options();
    marked.iter().filter_map(|marked| options.get(marked.index)).map(|option| option.value).collect()
}

/// Asks what the person means by Esc: a no, no answer, or nothing at all.
fn leave() -> Result<Option<ElicitAction>, TerminalError> {
    let choices = vec!["Decline: say no to the server", "Cancel: leave it unanswered", "Go back to the question"];
    let menu = Select::new("No answer?", choices).with_render_config(look()).without_help_message().without_filtering();
    match menu.raw_prompt() {
        Ok(choice) if choice.index == 1 => Ok(Some(ElicitAction::Cancel)),
        Ok(choice) if choice.index == 0 => Ok(Some(ElicitAction::Decline)),
        // Esc leaves the menu.
        Ok(_) | Err(InquireError::OperationCanceled) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The look of all prompts. Esc is no cancellation yet: a menu follows, or the question comes back.
fn look() -> RenderConfig<'static> {
    RenderConfig::default().with_canceled_prompt_indicator(Styled::new("<Esc>"))
}

fn with_keys(field: Field<'_>, keys: &str) -> String {
    match help(field) {
        none if none.is_empty() => keys.to_owned(),
        help => format!("{help} · {keys}"),
    }
}

impl From<InquireError> for TerminalError {
    fn from(error: InquireError) -> Self {
        match error {
            InquireError::OperationInterrupted | InquireError::OperationCanceled => Self::Interrupted,
            InquireError::IO(error) => Self::Broken(error),
            other => Self::Broken(io::Error::other(other.to_string())),
        }
    }
}

const LEFT_EMPTY: &str = "(left empty)";
