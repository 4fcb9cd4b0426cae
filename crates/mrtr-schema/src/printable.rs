//! A peer's text as it may be shown: cut, and with nothing in it that steers a terminal or turns the text around.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// A peer's text as it may be shown on a terminal, in a dialog or in a log.
///
/// Characters that are not seen but act (controls, terminal escapes, marks that turn the direction of writing, tags)
/// are written as `\u{…}`, and a text longer than the limit ends in `…`. Use it only to show a text: the text itself is
/// elsewhere, behind a name that says `untrusted`.
///
/// ```
/// use mrtr_schema::Printable;
///
/// assert_eq!(Printable::line("Who are you?").to_string(), "Who are you?");
/// assert_eq!(Printable::line("\u{1b}[2Jpaid\nagain").to_string(), r"\u{1b}[2Jpaid\u{a}again");
/// assert_eq!(Printable::text("pay\nto \u{202e}ecila").to_string(), "pay\nto \\u{202e}ecila");
/// assert_eq!(Printable::line(&"x".repeat(1 << 20)).up_to(5).to_string(), "xxxxx…");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Printable<'a> {
    text: &'a str,
    longest: usize,
    /// True if line breaks and tabs stay.
    has_lines: bool,
}

impl<'a> Printable<'a> {
    /// The most characters of a line that are shown.
    pub const LINE: usize = 200;

    /// The most characters of a text that are shown.
    pub const TEXT: usize = 4000;

    /// Shows a text as one line, for messages and logs: at most [`LINE`](Self::LINE) characters, line breaks written
    /// out.
    pub fn line(text: &'a str) -> Self {
        Self { text, longest: Self::LINE, has_lines: false }
    }

    /// Shows a text for a person to read: at most [`TEXT`](Self::TEXT) characters, with line breaks and tabs.
    pub fn text(text: &'a str) -> Self {
        Self { text, longest: Self::TEXT, has_lines: true }
    }

    /// Sets another limit, in characters of the text itself.
    #[must_use]
    pub fn up_to(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// Returns the text as it is shown: the text itself, if all of it may be shown.
    ///
    /// ```
    /// use std::borrow::Cow;
    /// use mrtr_schema::Printable;
    ///
    /// assert!(matches!(Printable::text("as it is").into_text(), Cow::Borrowed("as it is")));
    /// ```
    pub fn into_text(self) -> Cow<'a, str> {
        match self.end() {
            None if !self.text.chars().any(|char| self.is_escaped(char)) => Cow::Borrowed(self.text),
            _ => Cow::Owned(self.to_string()),
        }
    }

    /// Returns the place at which the text is cut, if it is.
    fn end(self) -> Option<usize> {
        // No character is shorter than a byte.
        if self.text.len() <= self.longest {
            return None;
        }
        self.text.char_indices().nth(self.longest).map(|(end, _)| end)
    }

    fn is_escaped(self, char: char) -> bool {
        !(self.has_lines && matches!(char, '\n' | '\t')) && is_unseen(char)
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.end();
        for char in self.text[..end.unwrap_or(self.text.len())].chars() {
            if self.is_escaped(char) {
                write!(f, "{}", char.escape_unicode())?;
            } else {
                f.write_char(char)?;
            }
        }
        if end.is_some() { f.write_char('…') } else { Ok(()) }
    }
}

/// Returns true for a control character or an invisible one, which can change how the visible text looks. Joiners are
/// not among them, because some scripts need them.
fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
