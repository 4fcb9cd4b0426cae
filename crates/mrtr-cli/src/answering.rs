//! Who answers what a server asks: a file of answers, the person at the terminal, or nothing, truthfully.

mod answers;
mod sampling;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use mrtr::client::{AnswerError, Builder, UnsafeUrl, terminal};
use mrtr::schema::Printable;
use mrtr::schema::elicitation::{ElicitAction, ElicitResult};
use mrtr::schema::roots::Root;
use mrtr::{FormRequest, PendingCall, UrlRequest};

pub(crate) use answers::Answers;

use crate::failure::Failure;
use crate::screen::Screen;
use crate::shown;
use sampling::Model;

#[derive(clap::Args)]
pub(crate) struct AnsweringOptions {
    /// Takes answers from this JSON file, from key to answer; `-` is standard input
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Lets the server ask a model, which says this
    #[arg(long, value_name = "TEXT", conflicts_with = "sample_command")]
    sample_with: Option<String>,
    /// Lets the server ask a model: this command, which reads the request as JSON and writes its answer
    #[arg(long, value_name = "COMMAND")]
    sample_command: Option<String>,
    /// Shows this folder or file:// URI to the server; may be given more than once
    #[arg(long = "root", value_name = "URI")]
    roots: Vec<String>,
}

/// What is done with a question that no file answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenAsked {
    /// The person is asked.
    Ask,
    /// The call is put down.
    PutDown,
}

/// Answers the questions of a call.
pub(crate) struct Answering {
    answers: Answers,
    screen: Screen,
    has_person: bool,
    when_asked: WhenAsked,
    /// The person wants to stop.
    is_interrupted: AtomicBool,
    /// What was asked and not answered, in words: a call in a session does not carry it.
    unanswered: Mutex<Vec<String>>,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("there is no terminal to ask at, and no answer to it was given")]
    NoTerminal,
    #[error("the call is put down")]
    PutDown,
    #[error("the server asks again: it did not take the answer that it was given")]
    AskedAgain,
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
    /// Has the client's questions answered. What is not offered here is not declared to the server.
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
            unanswered: Mutex::default(),
        });
        let (forms, urls) = (Arc::clone(&answering), Arc::clone(&answering));
        let mut client = client
            .on_elicit(move |form| {
                let answering = Arc::clone(&forms);
                async move { answering.form(form).await }
            })
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
    let path = std::fs::canonicalize(text).map_err(|error| {
        Failure::usage(format!("`{text}` is no root: {error}"))
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
    /// From now on nothing is asked: the person wants to stop.
    pub(crate) fn interrupt(&self) {
        self.is_interrupted.store(true, Ordering::Relaxed);
    }

    /// Gives the call those of the answers that it has not had, before it is saved.
    pub(crate) fn complete(&self, call: &mut PendingCall) {
        self.answers.complete(call);
    }

    /// What was asked and could not be answered here.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The keys of answers to what was never asked: they may be misspelt.
    pub(crate) fn unused(&self) -> Vec<String> {
        self.answers.unused()
    }

    async fn form(&self, form: FormRequest) -> Result<ElicitResult, NoAnswer> {
        if let Some(answer) = self.answers.form(&form)? {
            return Ok(answer);
        }
        self.may_ask().inspect_err(|_| self.note(&form.context().key, &shown::form(form.message(), form.form())))?;
        let _question = self.screen.question();
        Ok(terminal::ask(form).await?)
    }

    async fn url(&self, url: UrlRequest) -> Result<ElicitResult, NoAnswer> {
        match self.answers.url(&url) {
            Some(refused) if refused.action != ElicitAction::Accept => return Ok(refused),
            Some(consent) => return Ok(url.check().map(|()| consent)?),
            None => {}
        }
        self.may_ask().inspect_err(|_| self.note(&url.context().key, &shown::url(url.message(), url.parsed_url())))?;
        let _question = self.screen.question();
        Ok(terminal::visit(url).await?)
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
