//! Draws lifelines: the messages from actor to actor, line by line, each within the width of a terminal.

use std::fmt;

use anstyle::{AnsiColor, Style};

use crate::recording::{Actor, Event, Message};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
const PLAIN: Style = Style::new();
const STATE: Style = AnsiColor::Yellow.on_default();
const ASKED: Style = AnsiColor::Cyan.on_default();

/// A lifeline for each actor, with the events beside them.
pub(crate) struct Drawing {
    lifelines: Vec<Lifeline>,
    /// The column where the text begins.
    text_at: usize,
}

struct Lifeline {
    actor: Actor,
    column: usize,
    is_up: bool,
}

impl Drawing {
    pub(crate) fn new(cast: &[Actor]) -> Self {
        let mut start = MARGIN;
        let lifelines = cast.iter().map(|actor| {
            let column = start + actor.len() / 2;
            start += actor.len() + GAP;
            Lifeline { actor, column, is_up: true }
        });
        let lifelines = lifelines.collect();
        Self { lifelines, text_at: start - GAP + 2 }
    }

    /// The names, each over its lifeline.
    pub(crate) fn header(&self) -> Line {
        let names = self.lifelines.iter().fold(" ".repeat(MARGIN), |all, lifeline| all + lifeline.actor + "   ");
        let mut header = Line::default();
        header.add(BOLD, names.trim_end());
        header
    }

    /// Draws an event, as lines.
    pub(crate) fn lines(&mut self, event: &Event) -> Vec<Line> {
        match event {
            Event::Message { from, to, message } => self.message(from, to, message),
            Event::Lost { from, to, why } => {
                let gutter = self.arrow(from, to, true);
                self.beside(gutter, BAD, &format!("no reply: {why}"))
            }
            Event::Effect { at, what } => self.beside(self.mark(at, '●'), GOOD, what),
            Event::Note { at, what } => self.beside(self.mark(at, '·'), DIM, what),
            Event::Stopped { at, what } => {
                let gutter = self.mark(at, '✗');
                self.set_up(at, false);
                self.beside(gutter, BAD, what)
            }
            Event::Started { at, what } => {
                self.set_up(at, true);
                self.beside(self.mark(at, '┬'), BOLD, what)
            }
        }
    }

    fn message(&self, from: Actor, to: Actor, message: &Message) -> Vec<Line> {
        let mut lines = self.beside(self.arrow(from, to, false), BOLD, &message.says);
        if let Some(bytes) = message.state_bytes {
            let state = format!("state {bytes} bytes");
            match lines.last_mut() {
                Some(last) if last.width() + 2 + state.len() <= WIDTH => {
                    last.add(PLAIN, "  ").add(STATE, state);
                }
                _ => lines.extend(self.beside(self.gutter(), STATE, &state)),
            }
        }
        for detail in &message.details {
            let style = if detail.starts_with('?') { ASKED } else { PLAIN };
            lines.extend(self.beside(self.gutter(), style, &format!("  {detail}")));
        }
        lines
    }

    /// A text beside the lifelines, in as many lines as it needs.
    fn beside(&self, first: Vec<char>, style: Style, text: &str) -> Vec<Line> {
        let indent = if text.starts_with(' ') { 4 } else { 2 };
        let mut gutter = first;
        let lines = wrap(text, WIDTH - self.text_at, indent).into_iter().map(|text| {
            let lifelines = std::mem::replace(&mut gutter, self.gutter());
            let mut line = Line::default();
            line.add(DIM, lifelines.into_iter().collect::<String>()).add(style, text);
            line
        });
        lines.collect()
    }

    /// The lifelines of all actors that are up, and nothing else.
    fn gutter(&self) -> Vec<char> {
        let mut gutter = vec![' '; self.text_at];
        for lifeline in self.lifelines.iter().filter(|lifeline| lifeline.is_up) {
            gutter[lifeline.column] = '│';
        }
        gutter
    }

    fn mark(&self, at: Actor, mark: char) -> Vec<char> {
        let mut gutter = self.gutter();
        gutter[self.column(at)] = mark;
        gutter
    }

    fn arrow(&self, from: Actor, to: Actor, is_lost: bool) -> Vec<char> {
        let mut gutter = self.gutter();
        let (from, to) = (self.column(from), self.column(to));
        let (left, right) = (from.min(to), from.max(to));
        for cell in &mut gutter[left + 1..right] {
            *cell = if *cell == ' ' { '─' } else { '┼' };
        }
        gutter[from] = if from < to { '├' } else { '┤' };
        let (head, tip) = if from < to { (right - 1, '►') } else { (left + 1, '◄') };
        if is_lost {
            // The message got half of the way.
            let middle = usize::midpoint(left, right);
            let rest = if from < to { middle + 1..right } else { left + 1..middle };
            gutter[rest].fill(' ');
            gutter[middle] = '✗';
        } else {
            gutter[head] = tip;
        }
        gutter
    }

    /// The column of an actor's lifeline: a story names all that take part in it.
    fn column(&self, actor: Actor) -> usize {
        self.lifelines.iter().find(|lifeline| lifeline.actor == actor).map_or(MARGIN, |lifeline| lifeline.column)
    }

    fn set_up(&mut self, actor: Actor, is_up: bool) {
        for lifeline in self.lifelines.iter_mut().filter(|lifeline| lifeline.actor == actor) {
            lifeline.is_up = is_up;
        }
    }
}

/// The space before the first name.
const MARGIN: usize = 2;
/// The space between two names.
const GAP: usize = 3;

/// The width that every terminal has.
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

/// Breaks a text into lines of at most `width` characters, at spaces where there are some. The first line keeps its own
/// indent, and the others have another.
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
    use super::{wrap, *};

    fn drawn(cast: &[Actor], events: &[Event]) -> Vec<String> {
        let mut drawing = Drawing::new(cast);
        let mut lines = vec![drawing.header().plain()];
        lines.extend(events.iter().flat_map(|event| drawing.lines(event)).map(|line| line.plain()));
        lines
    }

    #[test]
    fn arrows_cross_the_lifelines_between_and_end_at_their_own() {
        let message = |from, to| Event::Message { from, to, message: Message::of(r#"{"method":"ping"}"#) };
        let expected = ["  client   v1   v2", "     ├──────┼───►│  ping", "     │◄─────┤    │  ping"];
        assert_eq!(drawn(&["client", "v1", "v2"], &[message("client", "v2"), message("v1", "client")]), expected);
    }

    #[test]
    fn a_server_that_is_gone_has_no_lifeline_until_it_is_back() {
        let events = [
            Event::Stopped { at: "echo", what: "killed".into() },
            Event::Note { at: "client", what: "waits".into() },
            Event::Started { at: "echo", what: "back".into() },
            Event::Lost { from: "echo", to: "client", why: "cut".into() },
        ];
        let expected = [
            "  client   echo",
            "     │       ✗   killed",
            "     ·           waits",
            "     │       ┬   back",
            "     │   ✗───┤   no reply: cut",
        ];
        assert_eq!(drawn(&["client", "echo"], &events), expected);
    }

    #[test]
    fn what_is_long_goes_on_in_the_next_line_and_none_is_too_wide() {
        let text =
            format!(r#"{{"method":"tools/call","params":{{"name":"{}"}}}}"#, "long ".repeat(15) + &"x".repeat(90));
        let event = Event::Message { from: "client", to: "server", message: Message::of(&text) };
        let lines = drawn(&["client", "server"], &[event]);
        assert!(lines.len() > 3, "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert_eq!(lines.concat().matches('x').count(), 90);
    }

    #[test]
    fn texts_are_broken_at_spaces_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three", 8, 1), ["one two", " three"]);
        assert_eq!(wrap("  one two", 7, 4), ["  one", "    two"]);
        assert_eq!(wrap("a 123456789", 6, 2), ["a", "  1234", "  5678", "  9"]);
        assert_eq!(wrap("", 6, 2), [""]);
    }
}
