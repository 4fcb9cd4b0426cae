//! The few styles of this command's words. `anstream` leaves them out where they are not wanted.

use std::fmt::{self, Display};

use anstyle::{AnsiColor, Style};

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
