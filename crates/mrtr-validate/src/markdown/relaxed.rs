//! JSON with comments and trailing commas, made plain without moving anything.
//!
//! Both are blanked where they stand, so that every line stays where it is and the project's own parser reads the
//! rest. A parser of a relaxed dialect would give a tree of its own, and the parser that is under test would never
//! see the text.

use std::ops::Range;

/// A text in which comments and trailing commas are blank, and what was blanked.
pub(crate) struct Plain {
    pub(crate) text: String,
    pub(crate) blanked: Vec<Blanked>,
}

/// Something that JSON does not have.
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

/// Where the object ends that a text begins with, if it does.
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

/// A string that is not closed ends with its line, so that one lost quote does not swallow the document.
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
