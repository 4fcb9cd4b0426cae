//! Questions on the terminal of the process: ready handlers for forms and URLs.
//!
//! [`Builder::terminal`](crate::Builder::terminal) gives a client both. The terminal shows one question at a time,
//! however many a round has, with the asking server and its message above it. The person enters or chooses each field.
//! Enter takes the default; if an answer does not fit, the reason is shown. An optional field may be left empty. Esc
//! asks what the person means: to decline, to leave the question unanswered, or to go back to it. Ctrl-C ends the whole call, with an error that carries it.
//!
//! If standard input is no terminal, the answers are read from it, one line for each field: they may be piped in. An
//! empty line takes the default or leaves the field empty, and a line that holds Esc alone declines. Prompts go to
//! standard error in both cases.
//!
//! ```no_run
//! use mrtr_client::Client;
//! use mrtr_client::testing::Script;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
//! let form = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
//! let server = Script::new() // yours is behind a transport
//!     .result(json!({ "resultType": "input_required", "inputRequests": { "login": { "method": "elicitation/create",
//!         "params": { "message": "Who are you?", "requestedSchema": form } } } }))
//!     .result(json!({ "resultType": "complete", "content": [] }));
//! let client = Client::builder(server).terminal().build();
//! client.call_tool("greet", json!({})).await?;
//! # Ok(()) }
//! ```

mod lines;
mod screen;

use std::io::{self, IsTerminal};
use std::sync::{Arc, LazyLock, PoisonError};

use indexmap::IndexMap;
use mrtr_schema::elicitation::{ElicitAction, ElicitResult, Field, FieldKind};
use mrtr_schema::{Form, Json, Printable};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::answer::{AnswerError, display_key, display_server};
use crate::handlers::{FormRequest, QuestionContext, UnsafeUrl, UrlRequest};
use lines::Lines;
use screen::Screen;

/// An error that says why a question on the terminal has no answer.
///
/// ```
/// use mrtr_client::terminal::TerminalError;
///
/// assert_eq!(TerminalError::Interrupted.to_string(), "interrupted by Ctrl-C");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// The person pressed Ctrl-C.
    #[error("interrupted by Ctrl-C")]
    Interrupted,
    /// Standard input is no terminal, and has come to its end.
    #[error("the input ended before the question was answered")]
    EndOfInput,
    /// The terminal does not work as it should.
    #[error("the terminal cannot be used")]
    Broken(#[source] io::Error),
    /// The URL is not one that a person is offered to open.
    #[error(transparent)]
    UnsafeUrl(#[from] UnsafeUrl),
    /// The form cannot be filled in: for example, it demands something that it has no field for.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// Asks a person to fill in a form on the terminal: for [`on_elicit`](crate::Builder::on_elicit).
///
/// A prompt that is on the screen stays there until the person has answered it, even if the call has ended meanwhile:
/// other questions wait for it, and so does a runtime that shuts down.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, FormRequest, terminal};
///
/// let client = Client::builder(Script::new())
///     .on_elicit(|form: FormRequest| async move {
///         if form.context().name.as_deref() == Some("spy") { Ok(form.decline()?) } else { terminal::ask(form).await }
///     })
///     .build();
/// assert!(client.capabilities().elicits_forms());
/// ```
pub async fn ask(form: FormRequest) -> Result<ElicitResult, TerminalError> {
    on_terminal(move |prompter| {
        prompter.say(&heading(form.context(), form.message()))?;
        let mut content = IndexMap::<&str, Json>::new();
        for field in form.fields() {
            match prompter.ask(form.form(), field)? {
                Entered::Value(value) => {
                    content.insert(field.name, value);
                }
                Entered::Nothing => {}
                Entered::Left(action) => return Ok(ElicitResult::new(action)),
            }
        }
        // A form without fields asks for a yes, which only the person can give.
        if form.fields().next().is_none() {
            return Ok(match agree(prompter, &GO_ON)? {
                ElicitAction::Accept => form.accept(&content)?,
                refused => ElicitResult::new(refused),
            });
        }
        Ok(form.accept(&content)?)
    })
    .await
}

/// Shows a URL on the terminal, all of it, and asks whether the person will go there: for
/// [`on_url`](crate::Builder::on_url). This function does not open the URL: that is for the person to do. It does not
/// offer one that is neither `https` nor `http` on this machine: see [`UrlRequest::check`].
///
/// If the server asks for the URL again after the person has agreed, it waits for the visit: the person is asked to say
/// when that is made.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, terminal};
///
/// let client = Client::builder(Script::new()).on_url(terminal::visit).build();
/// assert!(client.capabilities().elicits_urls() && !client.capabilities().elicits_forms());
/// ```
pub async fn visit(request: UrlRequest) -> Result<ElicitResult, TerminalError> {
    request.check()?;
    on_terminal(move |prompter| {
        // The person agrees to the whole URL, so nothing of it is cut.
        let url = Printable::line(request.url()).up_to(usize::MAX).to_string();
        let note = if request.has_punycode_host() { PUNYCODE } else { "" };
        let host = request.host().map(|host| format!("  (the host is {}{note})\n", Printable::line(host)));
        let host = host.unwrap_or_default();
        // Questions have the terminal one by one, so no other question changes it meanwhile.
        let mut agreed = AGREED.lock().unwrap_or_else(PoisonError::into_inner);
        let this = Some(Agreed::of(&request));
        let is_again = *agreed == this;
        let (above, question) = if is_again {
            (format!("\n{} still waits for this page:\n", display_server(&request.context().server)), &AGAIN)
        } else {
            (heading(request.context(), request.message()), &VISIT)
        };
        prompter.say(&format!("{above}  {url}\n{host}"))?;
        let action = agree(prompter, question)?;
        let has_agreed = action == ElicitAction::Accept;
        *agreed = this.filter(|_| has_agreed);
        if has_agreed && !is_again {
            prompter.say(&format!("Open this in your browser: {url}\n"))?;
        }
        Ok(ElicitResult::new(action))
    })
    .await
}

/// A page that the person has agreed to visit, in a question of a call.
#[derive(PartialEq)]
struct Agreed {
    server: Arc<str>,
    call: u64,
    key: String,
    url: String,
}

impl Agreed {
    fn of(request: &UrlRequest) -> Self {
        let QuestionContext { server, call, key, .. } = request.context();
        Self { server: Arc::clone(server), call: *call, key: key.clone(), url: request.url().to_owned() }
    }
}

/// The page that the person agreed to last: a process has one terminal.
static AGREED: std::sync::Mutex<Option<Agreed>> = std::sync::Mutex::new(None);

/// Asks for a yes.
fn agree(prompter: &mut dyn Prompter, question: &Form) -> Result<ElicitAction, TerminalError> {
    let Some(field) = question.fields().next() else { return Ok(ElicitAction::Cancel) };
    Ok(match prompter.ask(question, field)? {
        Entered::Value(value) if value.as_str() == "true" => ElicitAction::Accept,
        Entered::Value(_) | Entered::Nothing => ElicitAction::Decline,
        Entered::Left(action) => action,
    })
}

const PUNYCODE: &str = ", which is punycode: a browser may show it in letters that look like another name";

static GO_ON: LazyLock<Form> = LazyLock::new(|| yes_or_no(json!({ "title": "Go on?" })));
static VISIT: LazyLock<Form> = LazyLock::new(|| yes_or_no(json!({ "title": "Will you visit this URL?" })));
static AGAIN: LazyLock<Form> = LazyLock::new(|| yes_or_no(json!({ "title": "Try again?", "default": true })));

/// A form with one field, a yes or a no.
fn yes_or_no(mut field: Value) -> Form {
    field["type"] = "boolean".into();
    let form = json!({ "type": "object", "properties": { "yes": field }, "required": ["yes"] });
    Form::parse(&form.to_string()).expect("a field of a known kind makes a form")
}

/// Asks a question that has the terminal to itself: a round may ask several at once, and a process has one terminal.
async fn on_terminal<T: Send + 'static>(
    question: impl FnOnce(&mut dyn Prompter) -> Result<T, TerminalError> + Send + 'static,
) -> Result<T, TerminalError> {
    static TERMINAL: Mutex<()> = Mutex::const_new(());
    let terminal = TERMINAL.lock().await;
    let asking = tokio::task::spawn_blocking(move || {
        // The lock is held until the person is done, even if the call no longer waits for that.
        let _terminal = terminal;
        if io::stdin().is_terminal() {
            question(&mut Screen)
        } else {
            question(&mut Lines::new(io::stdin().lock(), io::stderr()))
        }
    });
    asking.await.map_err(|error| TerminalError::Broken(io::Error::other(error)))?
}

/// Asks a person, field by field.
trait Prompter {
    /// Shows a text.
    fn say(&mut self, text: &str) -> Result<(), TerminalError>;

    /// Asks the person to fill in a field.
    fn ask(&mut self, form: &Form, field: Field<'_>) -> Result<Entered, TerminalError>;
}

/// The result of asking for a field.
#[derive(Debug, PartialEq)]
enum Entered {
    /// The person entered this value.
    Value(Json),
    /// The person left the field empty.
    Nothing,
    /// The person left the question, and with it the form.
    Left(ElicitAction),
}

/// Reads an entered line, or says why it is not taken. An empty one takes the default.
fn entered(field: Field<'_>, line: &str) -> Result<Entered, String> {
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

/// Reads the choice of some options.
fn chosen(field: Field<'_>, values: &[&str]) -> Result<Entered, String> {
    // Without a default, no choice leaves the field empty; with a default, an empty list says that nothing is chosen.
    if values.is_empty() && !field.is_required && field.default().is_none() {
        return Ok(Entered::Nothing);
    }
    let value = Json::from(Value::from(values.to_vec()));
    field.check(&value).map_err(|reason| reason.to_string())?;
    Ok(Entered::Value(value))
}

/// The text above a question: who asks, in the middle of what, and the server's words, set apart from ours.
fn heading(context: &QuestionContext, message: &str) -> String {
    let for_what = context.name.as_deref().map(|name| format!(", for `{}`", display_key(name))).unwrap_or_default();
    let message: String = message.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("\n{} asks{for_what}:\n{message}", display_server(&context.server))
}

/// The name of a field on the screen: its title, and what an empty line means.
fn label(field: Field<'_>) -> String {
    let title = field.title();
    let kind = if field.kind() == FieldKind::Boolean { " (y/n)" } else { "" };
    match field.default_text() {
        Some(default) => format!("{title}{kind} [{}]", Printable::line(&default).up_to(MAX_DEFAULT)),
        None if field.is_required => format!("{title}{kind}"),
        None => format!("{title}{kind} (optional)"),
    }
}

/// The text that helps to fill in a field: what it is about, and what it takes.
fn help(field: Field<'_>) -> String {
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

/// The longest default that is shown: people need to recognise it, not to read it.
const MAX_DEFAULT: usize = 60;
