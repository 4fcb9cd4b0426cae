//! The page, taken apart into its blocks, and where each of them is looked for.

use std::fs;
use std::path::Path;

pub(crate) const PAGE: &str = include_str!("../../../docs/GUIDE.md");

/// The text between two fences.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// The text behind the first fence.
    pub(crate) tag: &'static str,
    pub(crate) text: &'static str,
    /// The line of the first fence, from 1.
    pub(crate) line: usize,
}

impl Block {
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.text.contains(text)
    }
}

/// All blocks, in their order. A fence that is never closed is a mistake, and so is one that is indented: no check
/// would see what lies in it.
pub(crate) fn all() -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for (number, line) in PAGE.split_inclusive('\n').enumerate() {
        match (line.trim_end().strip_prefix(FENCE), open) {
            (Some(tag), None) => open = Some((tag, number + 1, at + line.len())),
            (Some(""), Some((tag, line, from))) => {
                blocks.push(Block { tag, text: &PAGE[from..at], line });
                open = None;
            }
            (Some(tag), Some((_, begun, _))) => panic!("line {}: `{tag}` within the block of line {begun}", number + 1),
            (None, None) => assert!(!line.contains(FENCE), "line {}: a fence that is indented", number + 1),
            (None, Some(_)) => {}
        }
        at += line.len();
    }
    assert!(open.is_none(), "the last block is not closed");
    blocks
}

/// The blocks with this tag.
pub(crate) fn blocks(tag: &'static str) -> impl Iterator<Item = Block> {
    all().into_iter().filter(move |block| block.tag == tag)
}

/// The files that blocks of Rust may stand in: each is compiled, and run by a test or a command of contributors.
pub(crate) fn sources() -> Vec<(String, String)> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [examples.to_owned(), examples.join("tests/guide"), examples.join("../xtask/peers/src")];
    let mut sources = Vec::new();
    for folder in folders {
        for entry in folder.read_dir().expect("the folder can be read") {
            let path = entry.expect("it can be read").path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("it can be read");
                sources.push((path.display().to_string(), without_layout(&source)));
            }
        }
    }
    sources
}

/// Takes the layout away from Rust, so that a page may have its own: spaces, the comma before a closing bracket, and
/// the attribute that keeps a layout.
pub(crate) fn without_layout(rust: &str) -> String {
    let mut bare: String = rust.replace("#[rustfmt::skip]", "").split_whitespace().collect();
    for bracket in ["}", ")", "]"] {
        bare = bare.replace(&format!(",{bracket}"), bracket);
    }
    bare
}

const FENCE: &str = "```";
