//! The JSON of a document: its fenced blocks, and objects that stand in the text without a fence.

use std::ops::Range;

use anyhow::{Result, bail};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

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

/// The notation that a block declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// JSON: comments and trailing commas are mistakes.
    Json,
    /// JSONC, JSON5, or nothing at all: comments and trailing commas are allowed.
    Relaxed,
}

impl Notation {
    /// Returns the notation that the words behind a fence name; `None` if that is not JSON.
    fn named(info: &str) -> Option<Self> {
        match info.split_whitespace().next()?.to_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonc" | "json5" => Some(Self::Relaxed),
            _ => None,
        }
    }
}

/// All blocks of a document, in order.
pub(crate) fn blocks(document: &str) -> Result<Vec<Block>> {
    let lines: Vec<&str> = document.lines().collect();
    let mut fences = fences(document)?.into_iter().peekable();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (found, length) = if let Some(fence) = fences.next_if(|fence| fence.lines.start <= at) {
            let length = fence.lines.end.saturating_sub(at);
            (fence.notation.map(|notation| (at + 2, notation, fence.text)), length)
        } else if begins_object(lines[at]) {
            let length = object_length(&lines[at..]);
            (Some((at + 1, Notation::Relaxed, lines[at..at + length].join("\n"))), length)
        } else {
            (None, 1)
        };
        let number = blocks.len() + 1;
        blocks.extend(found.map(|(line, notation, text)| Block { number, line, notation, text }));
        at += length;
    }
    Ok(blocks)
}

/// A fenced block of a document.
struct Fence {
    /// The lines of the block, its fences included, from 0.
    lines: Range<usize>,
    /// The notation; `None` if the block does not hold JSON.
    notation: Option<Notation>,
    /// The text, without the indentation of the list that it stands in.
    text: String,
}

/// The fenced blocks, in order.
fn fences(document: &str) -> Result<Vec<Fence>> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut is_inside = false;
    for (event, range) in Parser::new(document).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let line_of = |place: usize| document[..place].matches('\n').count();
                let source = document[range.clone()].trim_end();
                let lines = line_of(range.start)..line_of(range.start + source.len()) + 1;
                if !is_closed(source) {
                    bail!("line {}: this fence is never closed", lines.start + 1);
                }
                fences.push(Fence { lines, notation: Notation::named(&info), text: String::new() });
                is_inside = true;
            }
            Event::End(TagEnd::CodeBlock) => is_inside = false,
            Event::Text(text) if is_inside => {
                if let Some(fence) = fences.last_mut() {
                    fence.text.push_str(&text);
                }
            }
            // The fence stands in an element, or in indented code, where nothing would judge its JSON.
            Event::Html(text) | Event::Text(text) if opens_json(&text) => {
                let line = document[..range.start].matches('\n').count() + 1;
                bail!(
                    "line {line}: Markdown takes this fence for text; a blank line before it, or less indentation, helps"
                );
            }
            _ => {}
        }
    }
    Ok(fences)
}

/// Returns true if a line looks like the fence of a block with JSON.
fn opens_json(line: &str) -> bool {
    let line = line.trim_start();
    let info = line.strip_prefix("```").or_else(|| line.strip_prefix("~~~"));
    info.is_some_and(|info| !info.contains('`') && Notation::named(info).is_some())
}

/// Returns true if a fenced block ends with a fence. By the rules of Markdown, a block without one goes on to the end
/// of its container, which its author hardly meant.
fn is_closed(source: &str) -> bool {
    let marker = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '>']);
        let sign = line.chars().next().unwrap_or_default();
        (sign, line.len() - line.trim_start_matches(sign).len(), line.trim_start_matches(sign).trim().is_empty())
    };
    let (sign, length, _) = source.lines().next().map(marker).unwrap_or_default();
    let last = source.lines().skip(1).last().map(marker);
    last.is_some_and(|(closing, at_end, is_bare)| closing == sign && at_end >= length && is_bare)
}

/// Returns true if a line of text is the start of an object, and not prose that happens to begin with a brace.
fn begins_object(line: &str) -> bool {
    line.strip_prefix('{').map(str::trim_start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '}', '/']))
}

/// Counts the lines of an object; one that is never closed ends with its paragraph.
fn object_length(lines: &[&str]) -> usize {
    let text = lines.join("\n");
    match relaxed::object_end(&text) {
        Some(end) => text[..end].lines().count(),
        None => lines.iter().position(|line| line.trim().is_empty()).unwrap_or(lines.len()),
    }
}
