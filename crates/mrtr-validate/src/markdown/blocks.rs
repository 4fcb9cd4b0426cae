//! The JSON of a document: its fenced blocks, and objects that stand in the text without a fence.

use anyhow::{Result, bail};

use super::relaxed;

/// One piece of JSON, as it stands in a document.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Its place among the document's blocks, from 1.
    pub(crate) number: usize,
    /// The line of its first character, from 1.
    pub(crate) line: usize,
    pub(crate) notation: Notation,
    pub(crate) text: String,
}

/// What a block says it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// JSON: comments and trailing commas are mistakes.
    Json,
    /// JSONC, JSON5, or nothing at all: they are allowed.
    Relaxed,
}

/// All blocks of a document, in order.
pub(crate) fn blocks(document: &str) -> Result<Vec<Block>> {
    let lines: Vec<&str> = document.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let found = if let Some(fence) = Fence::opening(lines[at]) {
            let Some(length) = lines[at + 1..].iter().position(|line| fence.is_closed_by(line)) else {
                bail!("line {}: this fence is never closed", at + 1);
            };
            let body = &lines[at + 1..=at + length];
            let block = fence.notation().map(|notation| (at + 2, notation, fence.unindented(body)));
            at += length + 1;
            block
        } else if begins_object(lines[at]) {
            let length = object_length(&lines[at..]);
            let text = lines[at..at + length].join("\n");
            at += length - 1;
            Some((at + 2 - length, Notation::Relaxed, text))
        } else {
            None
        };
        let number = blocks.len() + 1;
        blocks.extend(found.map(|(line, notation, text)| Block { number, line, notation, text }));
        at += 1;
    }
    Ok(blocks)
}

/// The line that opens a fenced block.
struct Fence<'a> {
    indentation: usize,
    marker: &'a str,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn opening(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let (marker, info) = text.split_at(text.len() - text.trim_start_matches(sign).len());
        let is_inline_code = sign == '`' && info.contains('`');
        (marker.len() >= 3 && !is_inline_code).then(|| Self { indentation: line.len() - text.len(), marker, info })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.starts_with(self.marker) && line.trim_start_matches(&self.marker[..1]).is_empty()
    }

    /// `None` if it does not hold JSON.
    fn notation(&self) -> Option<Notation> {
        match self.info.split_whitespace().next()?.to_lowercase().as_str() {
            "json" => Some(Notation::Json),
            "jsonc" | "json5" => Some(Notation::Relaxed),
            _ => None,
        }
    }

    /// The block's text without the indentation of the list or element that the fence stands in.
    fn unindented(&self, body: &[&str]) -> String {
        let strip = |line: &&str| {
            let blank = line.len() - line.trim_start().len();
            line[blank.min(self.indentation)..].to_owned()
        };
        body.iter().map(strip).collect::<Vec<_>>().join("\n")
    }
}

/// Whether a line of text is the start of an object, and not prose that happens to begin with a brace.
fn begins_object(line: &str) -> bool {
    line.strip_prefix('{').map(str::trim_start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '}', '/']))
}

/// How many lines an object takes; one that is never closed ends with its paragraph.
fn object_length(lines: &[&str]) -> usize {
    let text = lines.join("\n");
    match relaxed::object_end(&text) {
        Some(end) => text[..end].lines().count(),
        None => lines.iter().position(|line| line.trim().is_empty()).unwrap_or(lines.len()),
    }
}
