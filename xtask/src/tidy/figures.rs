//! The figures by which crates are compared, with each other and with those of others.

use comfy_table::{CellAlignment, Table};
use syn::Item;

use super::{Crate, cycles, doors, first_line, texts};
use crate::source::{SourceFile, is_public, used_names};

/// Writes a row for each crate, and one for all of them.
pub(super) fn report(crates: &[Crate]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(HEADINGS);
    for found in crates {
        table.add_row(row(&found.name, &found.files.iter().collect::<Vec<_>>(), &root_and_cycle(&found.files)));
    }
    let all: Vec<_> = crates.iter().flat_map(|found| &found.files).collect();
    table.add_row(row("all", &all, &Default::default()));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn row(name: &str, files: &[&SourceFile], of_crate: &[String; 3]) -> Vec<String> {
    let functions: Vec<_> = files.iter().flat_map(|file| function_lengths(&file.text)).collect();
    let short = functions.iter().filter(|length| **length <= SHORT).count();
    let introduced = files.iter().filter(|file| first_line::says_what_lives_there(&file.text)).count();
    let counts = files.iter().map(|file| Lines::of(&file.text)).fold(Lines::default(), Lines::and);
    let (indirect, openings) = openings(files.iter().map(|file| file.text.as_str()));
    let figures = [
        files.len().to_string(),
        doors::per_thousand(files.len(), counts.code),
        format!("{} %", rounded(short * 100, functions.len())),
        functions.iter().max().copied().unwrap_or_default().to_string(),
        format!("{} %", rounded(introduced * 100, files.len())),
        format!("{}/{}", per_hundred(counts.inline, counts.code), per_hundred(counts.docs, counts.code)),
        format!("{} %", per_hundred(indirect, openings)),
    ];
    [name.to_owned()].into_iter().chain(figures).chain(of_crate.iter().cloned()).collect()
}

/// Counts the doc comments that open indirectly, and all of them.
fn openings<'a>(texts: impl Iterator<Item = &'a str>) -> (usize, usize) {
    texts.map(texts::count_openings).fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1))
}

/// Names the crates in which too many doc comments open with a question word or a condition.
pub(super) fn indirect(crates: &[Crate]) -> Vec<String> {
    let most = |found: &&Crate| {
        let (indirect, all) = openings(found.files.iter().map(|file| file.text.as_str()));
        indirect * 100 > all * MOST_INDIRECT
    };
    let found = crates.iter().filter(most);
    let words = texts::INDIRECT.join(", ");
    found.map(|found| format!("{}: over {MOST_INDIRECT} % of its doc comments open with {words}", found.name)).collect()
}

/// Public items, modules at the root, and the largest cycle between those.
fn root_and_cycle(files: &[SourceFile]) -> [String; 3] {
    let root = files.iter().find(|file| file.is_root());
    let modules = root.iter().flat_map(|file| &file.syntax.items).filter(|item| matches!(item, Item::Mod(_))).count();
    [public_items(files, &[]), modules, cycles::largest(files).len()].map(|figure| figure.to_string())
}

/// Counts the items that users of a crate can name, in a module and in the public ones below it.
fn public_items(files: &[SourceFile], module: &[String]) -> usize {
    let file = files.iter().find(|file| file.module == module);
    let items = file.iter().flat_map(|file| &file.syntax.items);
    items.map(|item| named_items(item, files, module)).sum()
}

/// Counts the names of an item. A glob counts as one.
fn named_items(item: &Item, files: &[SourceFile], module: &[String]) -> usize {
    let visibility = match item {
        Item::Use(item) if is_public(&item.vis) => return used_names(&item.tree).len(),
        Item::Mod(item) if is_public(&item.vis) => {
            let below = [module, &[item.ident.to_string()]].concat();
            let inside = item.content.iter().flat_map(|(_, items)| items);
            let inside: usize = inside.map(|item| named_items(item, files, &below)).sum();
            return inside + public_items(files, &below);
        }
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return 0,
    };
    usize::from(is_public(visibility))
}

#[derive(Default, Debug, Clone, Copy, PartialEq)]
pub(super) struct Lines {
    pub(super) code: usize,
    inline: usize,
    docs: usize,
}

impl Lines {
    /// Counts the lines of a text. Empty lines do not count; a comment behind code is code.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = Self::default();
        for line in text.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
            match line {
                _ if line.starts_with("///") || line.starts_with("//!") => lines.docs += 1,
                _ if line.starts_with("//") => lines.inline += 1,
                _ => lines.code += 1,
            }
        }
        lines
    }

    fn and(self, other: Self) -> Self {
        Self { code: self.code + other.code, inline: self.inline + other.inline, docs: self.docs + other.docs }
    }
}

/// Measures functions by lines, as rustfmt leaves them: a function ends with the first brace that stands as deep as it
/// began.
fn function_lengths(text: &str) -> Vec<usize> {
    let lines: Vec<_> = text.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| begins_function(line));
    starts.filter_map(|(at, line)| length(line, &lines[at..])).collect()
}

/// Returns the length of a function. `None` for one without a body.
fn length(first: &str, lines: &[&str]) -> Option<usize> {
    let depth = first.len() - first.trim_start().len();
    let stands_as_deep = |line: &&str| line.len() - line.trim_start().len() == depth;
    let end = lines.iter().position(|line| stands_as_deep(line) && line.trim_end().ends_with(['}', ';']))?;
    lines[end].trim_end().ends_with('}').then_some(end + 1)
}

fn begins_function(line: &str) -> bool {
    let before = |word: &str| word.starts_with("pub") || ["async", "const", "extern", "unsafe"].contains(&word);
    line.trim_start().split(' ').find(|word| !before(word)) == Some("fn")
}

pub(super) fn rounded(numerator: usize, denominator: usize) -> usize {
    (numerator + denominator / 2).checked_div(denominator).unwrap_or_default()
}

/// Writes a share with one place behind the point.
fn per_hundred(part: usize, whole: usize) -> String {
    let tenths = rounded(part * 1000, whole);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The most doc comments, of a hundred, that may open with a question word or a condition.
const MOST_INDIRECT: usize = 8;
/// The most lines of a function that is read at a glance.
const SHORT: usize = 20;
/// Doors are files for each 1000 lines of code. The lengths of functions are in lines; comments are lines, for each 100
/// of code.
const HEADINGS: [&str; 11] = [
    "crate",
    "files",
    "doors",
    "functions ≤ 20",
    "longest",
    "//!",
    "inline/doc comments",
    "docs that open with What, If …",
    "public items",
    "modules",
    "largest cycle",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_with_their_signature() {
        let text = "
fn one() {}

    pub(crate) async fn three(
    ) {
    }

trait T {
    fn none(&self);
    fn four(&self)
    where
        Self: Sized {
    }
}
// fn comment() {
let fn_like = 1;
";
        assert_eq!(function_lengths(text), [1, 3, 4]);
    }

    #[test]
    fn lines_are_code_or_comments() {
        let text = "//! Docs.\n\n/// More.\nfn f() {} // behind code\n    // inline\n";
        assert_eq!(Lines::of(text), Lines { code: 1, inline: 1, docs: 2 });
        assert_eq!(per_hundred(6, 1000), "0.6");
    }

    #[test]
    fn public_items_are_those_that_users_can_name() {
        let root = "mod a; pub mod b; pub use a::{C, D}; use a::E; pub fn f() {} pub mod g { pub struct H; struct I; }";
        let parse = |(path, text): (&str, &str)| SourceFile::parse(path, text.to_owned()).expect("it is Rust");
        let files = [("lib.rs", root), ("a.rs", "pub struct C; pub struct D;"), ("b.rs", "pub struct J; fn k() {}")];
        assert_eq!(public_items(&files.map(parse), &[]), 5);
    }
}
