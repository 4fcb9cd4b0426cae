//! One line on a terminal, in colours, and texts broken into lines.

use std::fmt;

use anstyle::Style;

/// What every terminal has room for.
pub(crate) const WIDTH: usize = 80;

/// A line in parts, each in a style.
#[derive(Debug, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    pub(crate) fn add(&mut self, style: Style, text: impl Into<String>) -> &mut Self {
        self.0.push((style, text.into()));
        self
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line without its colours.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(style, text)| write!(f, "{style}{text}{style:#}"))
    }
}

/// Breaks a text into lines of at most `width` characters, at spaces where there are some. It keeps its own indent, and
/// all lines but the first have another.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let own_indent = text.len() - text.trim_start().len();
    let (mut lines, mut line) = (Vec::new(), " ".repeat(own_indent));
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let gap = usize::from(!is_empty);
        let length = word.chars().count();
        if !is_empty && line.chars().count() + gap + length > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        for character in word.chars() {
            if line.chars().count() == width {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            }
            line.push(character);
        }
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn texts_are_broken_at_spaces_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three", 8, 1), ["one two", " three"]);
        assert_eq!(wrap("  one two", 7, 4), ["  one", "    two"]);
        assert_eq!(wrap("a 123456789", 6, 2), ["a", "  1234", "  5678", "  9"]);
        assert_eq!(wrap("", 6, 2), [""]);
    }
}
