//! Every default that a document states, against the crate that has it: `docs/DEFAULTS.md` is the table.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod rows;
mod value;

use std::fs;
use std::path::Path;

use rows::{CLIENT, HTTP, Row, STDIO, consequences, rows};

const TABLE: &str = "docs/DEFAULTS.md";

/// Sections in which every number belongs to a row of the table.
const COMPLETE: [(&str, &str); 3] = [(CLIENT, "## Limits"), (HTTP, "## Limits"), (STDIO, "## Limits")];

/// Numbers in such a section that are no defaults: in a name, in a detail that cannot be read, or from a measurement.
const NO_DEFAULT: [(&str, &str); 14] = [
    (HTTP, "HTTP/2"),
    (HTTP, "HTTP/1"),
    (HTTP, "(IPv6 by its /64)"),
    (HTTP, "a body that does not come (503)"),
    (HTTP, "goes out in pieces of 16 KiB"),
    (HTTP, "200 streams at a time"),
    (HTTP, "what is below 128 KiB"),
    (HTTP, "`MALLOC_MMAP_THRESHOLD_=16384`"),
    (HTTP, "after 500 connections with long heads, 11 MB stayed of 38"),
    (HTTP, "in parts of 64 KiB"),
    (HTTP, "takes about 30 KiB for buffers and state"),
    (HTTP, "With 4000 connections whose bodies never end"),
    (HTTP, "that is below 400 MiB"),
    (HTTP, "some 30 KiB for each connection that was open at the same time, or 80 KiB with long heads"),
];

/// A document, with line breaks and the marks of comments taken out of its sentences.
fn document(path: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect(path);
    let lines: Vec<_> = text.lines().map(|line| line.trim().trim_start_matches("///").trim()).collect();
    let is_code = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    lines.join(if is_code { " " } else { "\n" })
}

/// Returns true if a text has this phrase, and not as the end of a longer word or number.
fn states(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

#[test]
fn the_table_says_what_the_crates_do() {
    let rows = rows();
    let expected: Vec<_> = rows.iter().map(|row| (format!("`{}`", row.setting), row.value.to_string())).collect();
    let table = document(TABLE);
    let told: Vec<_> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            (cells.next().unwrap(), cells.next().unwrap())
        })
        .collect();
    assert_eq!(told, expected, "{TABLE} and the crates differ");
}

#[test]
fn every_document_that_states_a_default_states_this_one() {
    for Row { setting, value, said } in rows().into_iter().chain(consequences()) {
        for (path, phrase) in said {
            let text = document(path);
            let stated = value.spellings().iter().any(|spelling| states(&text, &phrase.replace("{}", spelling)));
            assert!(stated, "{path} does not say \"{phrase}\" of `{setting}`, which is {value}");
        }
    }
}

#[test]
fn no_number_of_such_a_section_is_made_up() {
    for (path, heading) in COMPLETE {
        let text = document(path);
        let (_, section) = text.split_once(&format!("{heading}\n")).expect(heading);
        let mut section = section.split("\n## ").next().unwrap_or_default().to_owned();
        for Row { value, said, .. } in rows().into_iter().chain(consequences()) {
            for (_, phrase) in said.iter().filter(|(document, _)| *document == path) {
                for spelling in value.spellings() {
                    section = section.replace(&phrase.replace("{}", &spelling), "");
                }
            }
        }
        for (_, phrase) in NO_DEFAULT.iter().filter(|(document, _)| *document == path) {
            assert!(section.contains(phrase), "{path} does not say \"{phrase}\" any more");
            section = section.replace(phrase, "");
        }
        let unknown = section.lines().find(|line| line.contains(|letter: char| letter.is_ascii_digit()));
        assert_eq!(unknown, None, "{path}: a number that is no row of {TABLE}");
    }
}
