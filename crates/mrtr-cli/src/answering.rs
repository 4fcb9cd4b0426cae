//! Answers a server's questions: from a file of answers, from the person at the terminal, or with nothing, truthfully.

mod answers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use mrtr::client::{AnswerError, Builder, QuestionContext, UnsafeUrl, terminal};
use mrtr::schema::content::{Role, TextContent};
use mrtr::schema::elicitation::{ElicitAction, ElicitResult, EntryError};
use mrtr::schema::roots::Root;
use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent};
use mrtr::schema::{Printable, Revision, Wire};
use mrtr::{FormRequest, PendingCall, UrlRequest};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::failure::Failure;
use crate::kept::Kept;
use crate::screen::Screen;
use crate::shown;
use crate::shown::{QUIET, styled};
pub(crate) use answers::{Answers, Replaced};

#[derive(clap::Args)]
pub(crate) struct AnsweringOptions {
    /// Take answers from this JSON file, from key to answer; `-` is standard input
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Answer sampling requests with this text
    #[arg(long, value_name = "TEXT", conflicts_with = "sample_command")]
    sample_with: Option<String>,
    /// Answer sampling requests with this command, which reads the request as JSON and writes its answer
    #[arg(long, value_name = "COMMAND")]
    sample_command: Option<String>,
    /// Offer this folder or file:// URI to the server; may be given more than once
    #[arg(long = "root", value_name = "URI")]
    roots: Vec<String>,
}

/// The way to handle a question that no file answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenAsked {
    /// Ask the person.
    Ask,
    /// Save the call, and stop.
    PutDown,
}

/// The way in which the questions of a call are answered: from a file, by the person, or not at all.
pub(crate) struct Answering {
    answers: Answers,
    screen: Screen,
    has_person: bool,
    when_asked: WhenAsked,
    /// True once the person wants to stop.
    is_interrupted: AtomicBool,
    /// True while a page waits for its visit: the person agreed to it, or the file did.
    awaits_visit: AtomicBool,
    /// The pages that were shown because the file of answers agrees to them.
    shown: Mutex<BTreeSet<String>>,
    /// The questions that got no answer, in words, since the error of a call in a session does not carry them.
    unanswered: Mutex<Vec<String>>,
}

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("there is no terminal to ask at, and no answer was given")]
    NoTerminal,
    #[error("the call is saved")]
    PutDown,
    #[error("the server asks again: it did not accept the answer")]
    AskedAgain,
    #[error("the answer to `{key}` does not fit the form: `{field}`: {reason}")]
    Field { key: String, field: String, reason: EntryError },
    #[error("its answer is not one to a page")]
    NoConsent,
    #[error("interrupted by Ctrl-C")]
    Interrupted,
    #[error(transparent)]
    Invalid(#[from] AnswerError),
    #[error(transparent)]
    UnsafeUrl(#[from] UnsafeUrl),
    #[error(transparent)]
    Terminal(terminal::TerminalError),
}

impl From<terminal::TerminalError> for NoAnswer {
    fn from(error: terminal::TerminalError) -> Self {
        match error {
            terminal::TerminalError::Interrupted => Self::Interrupted,
            terminal::TerminalError::EndOfInput => Self::NoTerminal,
            terminal::TerminalError::Answer(error) => Self::Invalid(error),
            terminal::TerminalError::UnsafeUrl(error) => Self::UnsafeUrl(error),
            other => Self::Terminal(other),
        }
    }
}

impl AnsweringOptions {
    /// Prepares a client to answer questions. It declares to the server only what can be answered here.
    pub(crate) fn prepare(
        &self,
        client: Builder,
        screen: &Screen,
        when_asked: WhenAsked,
    ) -> Result<(Builder, Arc<Answering>)> {
        let answering = Arc::new(Answering {
            answers: self.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default(),
            screen: screen.clone(),
            has_person: Screen::has_person(),
            when_asked,
            is_interrupted: AtomicBool::new(false),
            awaits_visit: AtomicBool::new(false),
            shown: Mutex::default(),
            unanswered: Mutex::default(),
        });
        let (forms, urls) = (Arc::clone(&answering), Arc::clone(&answering));
        let mut client = client
            .on_elicit(move |form| {
                let answering = Arc::clone(&forms);
                async move { answering.form(form).await }
            })
            // The handler checks URLs by itself: a file of answers may decline any of them.
            .danger_accept_any_url()
            .on_url(move |url| {
                let answering = Arc::clone(&urls);
                async move { answering.url(url).await }
            });
        if let Some(model) = Model::of(self.sample_with.as_deref(), self.sample_command.as_deref())? {
            let (model, screen) = (Arc::new(model), screen.clone());
            client = client.on_sample(move |params, context| {
                let (model, screen) = (Arc::clone(&model), screen.clone());
                async move { model.answer(&params, &context, &screen).await }
            });
        }
        if !self.roots.is_empty() {
            let roots = self.roots.iter().map(|root| as_root(root)).collect::<Result<Vec<_>>>()?;
            client = client.on_roots(move |_| {
                let roots = roots.clone();
                async move { Ok::<_, NoAnswer>(roots) }
            });
        }
        Ok((client, answering))
    }
}

/// A root as servers know them: a path becomes a URI.
fn as_root(text: &str) -> Result<Root> {
    if text.starts_with("file://") {
        return Ok(Root::new(text));
    }
    if text.contains("://") {
        return Err(Failure::usage(format!("`{}` is not a root: a root is a folder", Printable::line(text)))
            .next("give a folder that exists, or a URI such as file:///home/ada/project")
            .into());
    }
    let path = std::fs::canonicalize(text).map_err(|error| {
        Failure::usage(format!("`{text}` is not a root: {error}"))
            .next("give a folder that exists, or a URI such as file:///home/ada/project")
    })?;
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte.into()),
            other => uri.extend(format!("%{other:02X}").chars()),
        }
    }
    Ok(Root::new(uri))
}

impl Answering {
    /// Stops asking: the person wants to stop.
    pub(crate) fn interrupt(&self) {
        self.is_interrupted.store(true, Ordering::Relaxed);
    }

    /// Adds to the call the answers that it has not had yet, before it is saved.
    pub(crate) fn complete(&self, call: &mut PendingCall) {
        self.answers.complete(call);
    }

    /// The questions that could not be answered here.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that the call was saved before.
    pub(crate) fn note_resumed(&self) {
        self.answers.note_resumed();
    }

    /// Opens the questions of a saved call again that the file of answers has answers to.
    pub(crate) fn replace_kept(&self, kept: &Kept) -> Result<Replaced> {
        self.answers.replace_kept(kept)
    }

    /// The answers that the server did not ask for, in a few words: their keys may be misspelt.
    pub(crate) fn unused(&self) -> Option<String> {
        self.answers.unused()
    }

    /// Returns true while the server waits until a person has visited a page.
    pub(crate) fn awaits_visit(&self) -> bool {
        self.awaits_visit.load(Ordering::Relaxed)
    }

    async fn form(&self, form: FormRequest) -> Result<ElicitResult, NoAnswer> {
        self.awaits_visit.store(false, Ordering::Relaxed);
        if let Some(answer) = self.answers.form(&form)? {
            return Ok(answer);
        }
        self.may_ask().inspect_err(|_| self.note(&form.context().key, &shown::form(form.message(), form.form())))?;
        let _question = self.screen.question();
        Ok(terminal::ask(form).await?)
    }

    async fn url(&self, url: UrlRequest) -> Result<ElicitResult, NoAnswer> {
        self.awaits_visit.store(false, Ordering::Relaxed);
        match self.answers.url(&url)? {
            Some(refused) if refused.action != ElicitAction::Accept => return Ok(refused),
            Some(consent) => {
                url.check()?;
                self.show_page(&url);
                self.awaits_visit.store(true, Ordering::Relaxed);
                return Ok(consent);
            }
            None => {}
        }
        self.may_ask().inspect_err(|_| self.note(&url.context().key, &shown::url(url.message(), url.parsed_url())))?;
        let _question = self.screen.question();
        let answer = terminal::visit(url).await?;
        self.awaits_visit.store(answer.action == ElicitAction::Accept, Ordering::Relaxed);
        Ok(answer)
    }

    /// Shows a page that the file of answers agrees to: a person has to visit it. The server may ask for it many times,
    /// and it is shown once.
    fn show_page(&self, url: &UrlRequest) {
        if self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(url.url().to_owned()) {
            let key = Printable::line(&url.context().key).up_to(64);
            self.screen.say(format_args!("{key}: {}", shown::url(url.message(), url.parsed_url())));
        }
    }

    fn note(&self, key: &str, asked: &str) {
        let line = format!("{}: {asked}", Printable::line(key).up_to(64));
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn may_ask(&self) -> Result<(), NoAnswer> {
        if self.is_interrupted.load(Ordering::Relaxed) {
            return Err(NoAnswer::Interrupted);
        }
        if self.when_asked == WhenAsked::PutDown {
            return Err(NoAnswer::PutDown);
        }
        if !self.has_person {
            return Err(NoAnswer::NoTerminal);
        }
        Ok(())
    }
}

enum Model {
    Says(String),
    Command(Vec<String>),
}

impl Model {
    fn of(text: Option<&str>, command: Option<&str>) -> Result<Option<Self>> {
        match (text, command) {
            (Some(text), _) => Ok(Some(Self::Says(text.to_owned()))),
            (None, Some(command)) => match shlex::split(command).filter(|words| !words.is_empty()) {
                Some(words) => Ok(Some(Self::Command(words))),
                None => Err(Failure::usage(format!("`{command}` is not a command"))
                    .next("write it as in a shell, in one argument: --sample-command 'llm --no-stream'")
                    .into()),
            },
            (None, None) => Ok(None),
        }
    }

    /// Answers, and lets the person see that the server asked a model.
    async fn answer(
        &self,
        params: &CreateMessageParams,
        context: &QuestionContext,
        screen: &Screen,
    ) -> Result<CreateMessageResult, std::io::Error> {
        screen.say(styled(QUIET, format_args!("{} asks a model: {}", Printable::line(&context.server), asked(params))));
        let (text, model) = match self {
            Self::Says(text) => (text.clone(), "mrtr --sample-with"),
            Self::Command(words) => (run(words, params).await?, words[0].as_str()),
        };
        Ok(CreateMessageResult::new(Role::Assistant, SamplingContent::Text(TextContent::new(text)), model))
    }
}

/// The last message to the model.
fn asked(params: &CreateMessageParams) -> String {
    let texts = params.messages.iter().rev().flat_map(|message| message.content.iter());
    let text =
        texts.filter_map(|content| if let SamplingContent::Text(text) = content { Some(&text.text) } else { None });
    shown::prose(text.take(1).next().map_or("", String::as_str))
}

async fn run(words: &[String], params: &CreateMessageParams) -> Result<String, std::io::Error> {
    let other = |error: &dyn std::fmt::Display| std::io::Error::other(format!("`{}`: {error}", words[0]));
    let request = params.to_json(Revision::V2026_07_28).map_err(|error| other(&error))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn().map_err(|error| other(&error))?;
    if let Some(mut input) = process.stdin.take() {
        // A command that does not read the request may still answer.
        drop(input.write_all(request.as_bytes()).await);
    }
    let output = process.wait_with_output().await?;
    if !output.status.success() {
        return Err(other(&output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
