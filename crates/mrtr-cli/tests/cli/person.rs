//! A person at a pseudo-terminal.

use std::path::Path;
use std::time::Duration;

use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use expectrl::{Eof, Expect, Session};

use crate::program::command;

pub(crate) const ENTER: &str = "\r";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const ESC: &str = "\x1b";
pub(crate) const CTRL_C: &str = "\x03";

pub(crate) struct Person(OsSession);

impl Person {
    /// Starts the program in this folder.
    pub(crate) fn types_command(folder: &Path, arguments: &[&str]) -> Self {
        let mut session = Session::spawn(command(folder, arguments)).unwrap();
        session.set_expect_timeout(Some(Duration::from_mins(1)));
        Self(session)
    }

    /// Waits for a text, and returns the text before it.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> String {
        match self.0.expect(text) {
            Ok(seen) => String::from_utf8_lossy(seen.before()).into_owned(),
            Err(error) => {
                let rest = self.0.check(expectrl::Any::boxed(vec![Box::new(Eof), Box::new(expectrl::NBytes(4096))]));
                panic!(
                    "`{text}` does not come: {error}; {:?}",
                    rest.map(|rest| String::from_utf8_lossy(rest.as_bytes()).into_owned())
                )
            }
        }
    }

    /// Presses keys.
    pub(crate) fn types(&mut self, keys: &str) {
        self.0.send(keys).unwrap();
    }

    /// Enters a line.
    pub(crate) fn enters(&mut self, line: &str) {
        self.types(line);
        self.types(ENTER);
    }

    /// Waits for the end. Returns the rest of the screen, and the exit code.
    pub(crate) fn waits(mut self) -> (String, i32) {
        let rest = self.0.expect(Eof).unwrap();
        let text = String::from_utf8_lossy(rest.as_bytes()).into_owned();
        match self.0.get_process().wait().unwrap() {
            WaitStatus::Exited(_, code) => (text, code),
            other => panic!("it ended by {other:?}: {text}"),
        }
    }

    /// Waits until it ends well with this on the screen.
    #[track_caller]
    pub(crate) fn gets(self, result: &str) {
        let (text, code) = self.waits();
        assert!(code == 0 && text.contains(result), "{code}: {text}");
    }
}
