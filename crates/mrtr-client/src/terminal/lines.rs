//! Questions without a terminal: prompts are written, and answers are read, one line for each field.

use std::io::{BufRead, Write};

use mrtr_schema::elicitation::{ElicitAction, Field, FieldKind};
use mrtr_schema::{Form, Printable};

use super::{Entered, Prompter, TerminalError, entered, help, label};

/// Reads answers from lines.
pub(super) struct Lines<R, W> {
    answers: R,
    prompts: W,
}

impl<R: BufRead, W: Write> Lines<R, W> {
    pub(super) fn new(answers: R, prompts: W) -> Self {
        Self { answers, prompts }
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String, TerminalError> {
        let mut line = String::new();
        if self.answers.read_line(&mut line).map_err(TerminalError::Broken)? == 0 {
            return Err(TerminalError::EndOfInput);
        }
        let length = line.trim_end_matches(['\n', '\r']).len();
        line.truncate(length);
        Ok(line)
    }

    fn list_options(&mut self, field: Field<'_>) -> Result<(), TerminalError> {
        let options = field.options();
        for (index, option) in options.iter().take(MAX_OPTIONS).enumerate() {
            self.say(&format!("  {}. {}\n", index + 1, option.title()))?;
        }
        match options.len().saturating_sub(MAX_OPTIONS) {
            0 => Ok(()),
            more => self.say(&format!("  and {more} more\n")),
        }
    }
}

impl<R: BufRead, W: Write> Prompter for Lines<R, W> {
    fn say(&mut self, text: &str) -> Result<(), TerminalError> {
        let written = self.prompts.write_all(text.as_bytes()).and_then(|()| self.prompts.flush());
        written.map_err(TerminalError::Broken)
    }

    fn ask(&mut self, _: &Form, field: Field<'_>) -> Result<Entered, TerminalError> {
        match help(field) {
            none if none.is_empty() => {}
            help => self.say(&format!("  {help}\n"))?,
        }
        self.list_options(field)?;
        loop {
            let several = if field.kind() == FieldKind::MultiSelect { ", separated by commas" } else { "" };
            self.say(&format!("? {}{several}: ", label(field)))?;
            let line = self.line().inspect_err(|_| drop(self.prompts.write_all(b"\n")))?;
            if line == ESC {
                self.say("declined\n")?;
                return Ok(Entered::Left(ElicitAction::Decline));
            }
            // A line that was piped in is not on the screen yet.
            self.say(&format!("{}\n", Printable::line(&line)))?;
            match entered(field, &line) {
                Ok(entered) => return Ok(entered),
                Err(reason) => self.say(&format!("# {reason}\n"))?,
            }
        }
    }
}

const ESC: &str = "\u{1b}";

/// The most options that are listed: a person reads no more.
const MAX_OPTIONS: usize = 100;
