//! The model that a server may ask: a fixed text, or a command of the person's.

use std::process::Stdio;

use anyhow::Result;
use mrtr::client::QuestionContext;
use mrtr::schema::content::{Role, TextContent};
use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent};
use mrtr::schema::{Printable, Revision, Wire};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::failure::Failure;
use crate::screen::Screen;
use crate::style::{QUIET, styled};

pub(super) enum Model {
    Says(String),
    Command(Vec<String>),
}

impl Model {
    pub(super) fn of(text: Option<&str>, command: Option<&str>) -> Result<Option<Self>> {
        match (text, command) {
            (Some(text), _) => Ok(Some(Self::Says(text.to_owned()))),
            (None, Some(command)) => match shlex::split(command).filter(|words| !words.is_empty()) {
                Some(words) => Ok(Some(Self::Command(words))),
                None => Err(Failure::usage(format!("`{command}` is no command"))
                    .next("write it as in a shell, in one argument: --sample-command 'llm --no-stream'")
                    .into()),
            },
            (None, None) => Ok(None),
        }
    }

    /// Answers, and lets the person see that a model was asked.
    pub(super) async fn answer(
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

/// The last thing said, as one line.
fn asked(params: &CreateMessageParams) -> String {
    let texts = params.messages.iter().rev().flat_map(|message| message.content.iter());
    let text =
        texts.filter_map(|content| if let SamplingContent::Text(text) = content { Some(&text.text) } else { None });
    Printable::line(text.take(1).next().map_or("", String::as_str)).to_string()
}

async fn run(words: &[String], params: &CreateMessageParams) -> Result<String, std::io::Error> {
    let other = |error: &dyn std::fmt::Display| std::io::Error::other(format!("`{}`: {error}", words[0]));
    let request = params.to_json(Revision::Published).map_err(|error| other(&error))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn().map_err(|error| other(&error))?;
    if let Some(mut input) = process.stdin.take() {
        // A command that does not read what it is asked may still answer.
        drop(input.write_all(request.as_bytes()).await);
    }
    let output = process.wait_with_output().await?;
    if !output.status.success() {
        return Err(other(&output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
