//! Makes JSON with comments and trailing commas plain without moving anything, and finds the line of each member.
//!
//! Comments and trailing commas become blanks, so that every line stays in place and the project's own parser reads the
//! rest. A parser of a relaxed dialect would make a tree of its own, and the parser under test would never see the
//! text.

use std::collections::BTreeMap;
use std::ops::Range;

use mrtr_schema::error::JsonPath;
use serde_json::value::RawValue;

/// A text in which comments and trailing commas were replaced by blanks, with a list of these.
pub(crate) struct Plain {
    pub(crate) text: String,
    pub(crate) blanked: Vec<Blanked>,
}

/// A comment or a trailing comma, which JSON does not have and which was blanked.
#[derive(Debug, Clone)]
pub(crate) struct Blanked {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comment,
    TrailingComma,
}

pub(crate) fn plain(text: &str) -> Plain {
    let blanked = blanks(text);
    let mut plain = text.to_owned();
    for Blanked { range, .. } in &blanked {
        let blank: String = text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
        plain.replace_range(range.clone(), &blank);
    }
    Plain { text: plain, blanked }
}

/// Returns the end of the object that a text begins with, if it begins with one.
pub(crate) fn object_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (token, range) in (Tokens { text, at: 0 }) {
        match token {
            Token::Sign('{') => depth += 1,
            Token::Sign('}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(range.end);
        }
    }
    None
}

fn blanks(text: &str) -> Vec<Blanked> {
    let mut blanks = Vec::new();
    let mut comma = None;
    for (token, range) in (Tokens { text, at: 0 }) {
        match token {
            Token::Comment => blanks.push(Blanked { kind: Kind::Comment, range }),
            Token::Sign(',') => comma = Some(range),
            Token::Sign('}' | ']') => {
                let trailing = comma.take().map(|range| Blanked { kind: Kind::TrailingComma, range });
                blanks.extend(trailing);
            }
            Token::Sign(sign) if sign.is_whitespace() => {}
            Token::Sign(_) | Token::String => comma = None,
        }
    }
    blanks
}

enum Token {
    String,
    Comment,
    /// Any other character.
    Sign(char),
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Tokens<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        let sign = rest.chars().next()?;
        let (token, length) = if sign == '"' {
            (Token::String, string_length(rest))
        } else if rest.starts_with("//") {
            (Token::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(comment) = rest.strip_prefix("/*") {
            (Token::Comment, comment.find("*/").map_or(rest.len(), |end| end + 4))
        } else {
            (Token::Sign(sign), sign.len_utf8())
        };
        let start = self.at;
        self.at += length;
        Some((token, start..self.at))
    }
}

/// Measures a string. One that is not closed ends with its line, so that one lost quote does not swallow the document.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, sign) in text.char_indices().skip(1) {
        match sign {
            '\n' => return at,
            '"' if !escaped => return at + 1,
            _ => escaped = sign == '\\' && !escaped,
        }
    }
    text.len()
}

/// The places of all members and elements of a value, by their paths.
pub(crate) struct Places<'a> {
    text: &'a str,
    places: BTreeMap<String, Place>,
}

struct Place {
    /// The line of its key, or of itself where it has none; the first line is 0.
    line: usize,
    /// The end of the value in the text.
    end: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn of(text: &'a str) -> serde_json::Result<Self> {
        let mut places = Self { text, places: BTreeMap::new() };
        places.enter(serde_json::from_str(text)?, "");
        Ok(places)
    }

    /// Returns the line of a path, or of the nearest value around it that is there.
    pub(crate) fn line(&self, path: &str) -> usize {
        let around = |candidate: &str| {
            path.strip_prefix(candidate).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let nearest = self.places.iter().filter(|(candidate, _)| around(candidate)).max_by_key(|(path, _)| path.len());
        nearest.map_or(0, |(_, place)| place.line)
    }

    /// Returns the path of the value that stands before an offset, such as that of a comma.
    pub(crate) fn path_before(&self, offset: usize) -> Option<&str> {
        let before = self.places.iter().filter(|(_, place)| place.end <= offset);
        let nearest = before.max_by_key(|(path, place)| (place.end, std::cmp::Reverse(path.len())));
        nearest.map(|(path, _)| path.as_str())
    }

    fn enter(&mut self, value: &RawValue, pointer: &str) {
        let start = value.get().as_ptr().addr() - self.text.as_ptr().addr();
        let place = Place { line: self.key_line(start), end: start + value.get().len() };
        self.places.insert(JsonPath::from_pointer(pointer).to_string(), place);
        if let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()) {
            for (key, member) in members {
                self.enter(member, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")));
            }
        } else if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            for (index, element) in elements.into_iter().enumerate() {
                self.enter(element, &format!("{pointer}/{index}"));
            }
        }
    }

    /// Returns the line of the key before a value. The value may stand on another line, and a reader looks for the key.
    fn key_line(&self, start: usize) -> usize {
        let before = &self.text[..start];
        let up_to_key = before.trim_end().strip_suffix(':').map_or(before, str::trim_end);
        up_to_key.matches('\n').count()
    }
}
