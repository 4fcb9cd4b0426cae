//! Shows messages, results and questions on a terminal. Text from a server is escaped wherever it is shown.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::{fmt, io};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use mrtr::PendingCall;
use mrtr::client::{ServerNotification, ServerRequest, UnsafeUrl, WireMessage};
use mrtr::schema::content::ResourceContents;
use mrtr::schema::elicitation::{Field, FieldKind, Url};
use mrtr::schema::input::InputKind;
use mrtr::schema::{CallToolResult, ContentBlock, Form, InputRequest, Printable};
use serde_json::{Map, Value, json};

use crate::screen::Screen;

/// Writes to standard output, which takes nothing but results.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    match written {
        // The reader has seen enough: `mrtr … | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output cannot be written"),
    }
}

/// Prints the result of a call: escaped at a terminal, and as it is for another program.
pub(crate) fn print_result(result: &CallToolResult) -> Result<()> {
    let text = text_of(result);
    let text = if io::stdout().is_terminal() { Printable::text(&text).up_to(usize::MAX).to_string() } else { text };
    print(&format!("{text}\n"))
}

/// The text of a result, with stand-ins for content that is no text.
pub(crate) fn text_of(result: &CallToolResult) -> String {
    let blocks: Vec<_> = result.content.iter().map(block).collect();
    match &result.structured_content {
        Some(content) if blocks.is_empty() => pretty(&serde_json::to_value(content).unwrap_or_default()),
        _ => blocks.join("\n"),
    }
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(content) => content.text.clone(),
        ContentBlock::Image(content) => {
            format!("[an image, {}, {} of base64]", content.mime_type, size(content.data.len()))
        }
        ContentBlock::Audio(content) => {
            format!("[sound, {}, {} of base64]", content.mime_type, size(content.data.len()))
        }
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.title.as_ref().unwrap_or(&link.name), link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::Text(text) => format!("[{}]\n{}", text.uri, text.text),
            ResourceContents::Blob(blob) => format!("[{}, {} of base64]", blob.uri, size(blob.blob.len())),
        },
        other => pretty(&serde_json::to_value(other).unwrap_or_default()),
    }
}

/// A word as a shell takes it: in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned)
}

/// A path as a shell takes it.
pub(crate) fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// Prose of a server's, cut like a line. Its line breaks stay; a bar before each further line sets it apart from what
/// this command says.
pub(crate) fn prose(text: &str) -> String {
    let text = text.trim_end().replace("\r\n", "\n");
    Printable::text(&text).up_to(Printable::LINE).to_string().replace('\n', "\n    | ")
}

/// The keys of questions, as they may be shown.
pub(crate) fn listed<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    keys.into_iter().map(|key| Printable::line(key).up_to(64).to_string()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn size(bytes: usize) -> String {
    if bytes < 10_000 { format!("{bytes} bytes") } else { format!("{} KiB", bytes.div_ceil(1024)) }
}

/// JSON as it may be written to a terminal: invisible characters that act are written in JSON's own way, so that the
/// value stays the same.
pub(crate) fn visible_json(json: &str) -> String {
    let mut visible = String::with_capacity(json.len());
    for char in json.chars() {
        match char {
            // A carriage return stands between tokens only, and would let a server write over what was shown before.
            '\r' => visible.push(' '),
            char if acts(char) => {
                visible.extend(char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            char => visible.push(char),
        }
    }
    visible
}

fn acts(char: char) -> bool {
    matches!(Printable::text(char.encode_utf8(&mut [0; 4])).into_text(), Cow::Owned(_))
}

pub(crate) fn pretty(value: &Value) -> String {
    visible_json(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// The questions without an answer yet, a line each, and a file of answers that would do.
pub(crate) fn open_questions(call: &PendingCall) -> (Vec<String>, Value) {
    let open: Vec<_> = call.unanswered().filter_map(|key| Some((key, call.question(key)?))).collect();
    let lines = open.iter().map(|(key, question)| format!("{}: {}", Printable::line(key).up_to(64), asked(question)));
    let answers = open.iter().filter_map(|(key, question)| Some(((*key).to_owned(), example_answer(question)?)));
    (lines.collect(), Value::Object(answers.collect()))
}

/// Returns true if the call asks for a visit to a page.
pub(crate) fn has_page(call: &PendingCall) -> bool {
    call.questions().any(|(_, question)| matches!(question.kind(), InputKind::Url(_)))
}

fn asked(question: &InputRequest) -> String {
    match question.kind() {
        InputKind::Form(params) => form(&params.message, &params.requested_schema),
        InputKind::Url(params) => url(&params.message, &params.url),
        InputKind::Sample(_) => "an answer of a model (--sample-with, --sample-command)".to_owned(),
        InputKind::Roots => "your folders (--root)".to_owned(),
        InputKind::Namespaced(_) | InputKind::Unknown(_) => Printable::line(question.method()).to_string(),
    }
}

/// Writes a form: its message, and its fields.
pub(crate) fn form(message: &str, form: &Form) -> String {
    let fields: Vec<_> = form.fields().map(field).collect();
    format!("{} ({})", prose(message), fields.join(", "))
}

/// A page to visit, or a URL that is none.
pub(crate) fn url(message: &str, url: &Url) -> String {
    let verb = if UnsafeUrl::check(url).is_ok() { "visit" } else { "not to be opened:" };
    format!("{} ({verb} {})", prose(message), Printable::line(url.as_str()).up_to(usize::MAX))
}

fn field(field: Field<'_>) -> String {
    let takes = match field.kind() {
        FieldKind::Number => "a number",
        FieldKind::Integer => "a whole number",
        FieldKind::Boolean => "true or false",
        FieldKind::Select => "one of a list",
        FieldKind::MultiSelect => "some of a list",
        FieldKind::Text => "text",
    };
    let limits = match field.kind() {
        FieldKind::Number | FieldKind::Integer if !field.constraints().is_empty() => {
            format!(", {}", field.constraints())
        }
        _ => String::new(),
    };
    let optional = if field.is_required { "" } else { ", optional" };
    format!("{}: {takes}{limits}{optional}", Printable::line(field.name).up_to(64))
}

fn example_answer(question: &InputRequest) -> Option<Value> {
    let form = match question.kind() {
        InputKind::Form(form) => form,
        // A URL that is not safe to open can only be refused.
        InputKind::Url(params) => return Some(json!(UnsafeUrl::check(&params.url).is_ok())),
        InputKind::Sample(_) | InputKind::Roots | InputKind::Namespaced(_) | InputKind::Unknown(_) => return None,
    };
    let required = form.requested_schema.fields().filter(|field| field.is_required);
    let fields = required.map(|field| (field.name.to_owned(), example_value(field)));
    Some(Value::Object(fields.collect::<Map<_, _>>()))
}

fn example_value(field: Field<'_>) -> Value {
    let first = || field.options().first().map(|option| option.value.to_owned());
    match field.kind() {
        _ if field.default().is_some() => field.default().and_then(|value| value.to().ok()).unwrap_or_default(),
        FieldKind::Number | FieldKind::Integer => json!(1),
        FieldKind::Boolean => json!(true),
        FieldKind::Select => json!(first().unwrap_or_default()),
        FieldKind::MultiSelect => json!(Vec::from_iter(first())),
        FieldKind::Text => json!("…"),
    }
}

/// Shows messages as they pass.
pub(crate) struct Trace(Screen);

impl Trace {
    pub(crate) fn new(screen: Screen) -> Self {
        Self(screen)
    }

    pub(crate) fn show(&self, message: WireMessage<'_>) {
        match message {
            WireMessage::Request(text) | WireMessage::OneWay(text) => {
                let message = parsed(text);
                let method = message.get("method").and_then(Value::as_str).unwrap_or("answer");
                let name = text_in(&message, "/params/name");
                self.say(styled(SENT, format!("→ {} {}", Printable::line(method), Printable::line(name))), &message);
            }
            WireMessage::Notification(ServerNotification { method, params }) => {
                let title = styled(RECEIVED, format!("← {}", Printable::line(method)));
                self.say(title, &parsed(params.as_str()));
            }
            WireMessage::Question(ServerRequest { method, params, .. }) => {
                let title = styled(RECEIVED, format!("← {} (a question)", Printable::line(method)));
                self.say(title, &parsed(params.as_str()));
            }
            WireMessage::Failure(error) => self.0.say(styled(ERROR, format_args!("✗ {error}"))),
            WireMessage::Response(text) => {
                let message = parsed(text);
                let kind =
                    if message.get("error").is_some() { "error" } else { text_in(&message, "/result/resultType") };
                self.say(styled(RECEIVED, format!("← {}", Printable::line(kind))), &message);
            }
        }
    }

    fn say(&self, title: impl Display, message: &Value) {
        let text = pretty(message);
        let text = Printable::text(&text).up_to(LONGEST_MESSAGE);
        self.0.say(format_args!("{title}\n{}", styled(QUIET, text)));
    }
}

/// A message to show, without its state, which a person cannot read.
fn parsed(text: &str) -> Value {
    let mut message = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    shorten_states(&mut message);
    // Each call begins with a list of tools, and `mrtr tools --json` shows it.
    if let Some(tools) = message.pointer_mut("/result/tools") {
        let count = tools.as_array().map_or(0, Vec::len);
        *tools = Value::from(format!("… ({count} tools)"));
    }
    message
}

fn shorten_states(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(state) if key == "requestState" => {
                        let beginning: String = state.chars().take(SHOWN_STATE).collect();
                        *value = Value::from(format!("{beginning}… ({} bytes)", state.len()));
                    }
                    other => shorten_states(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten_states),
        _ => {}
    }
}

fn text_in<'a>(message: &'a Value, pointer: &str) -> &'a str {
    message.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

const SHOWN_STATE: usize = 24;

/// More than a person reads of one message.
const LONGEST_MESSAGE: usize = 20_000;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const NAME: Style = Style::new().bold();
pub(crate) const SENT: Style = AnsiColor::Green.on_default();
pub(crate) const RECEIVED: Style = AnsiColor::Yellow.on_default();

/// A value in a style.
pub(crate) struct Styled<T>(Style, T);

pub(crate) fn styled<T: Display>(style: Style, value: T) -> Styled<T> {
    Styled(style, value)
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.0.render(), self.1, self.0.render_reset())
    }
}
