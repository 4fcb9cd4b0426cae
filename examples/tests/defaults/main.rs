//! Every default that a document states, against the crate that has it: `docs/DEFAULTS.md` is the table.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod value;

use std::fs;
use std::path::Path;

use mrtr_client::Limits;
use mrtr_server::{Builder, SamplingTools};
use mrtr_state::Lifetimes;

use value::{Value, bytes, count, time};

/// A default: its name, its value, and where a document states it.
struct Row {
    setting: &'static str,
    value: Value,
    /// A document, and a phrase of it with the value as `{}`.
    said: &'static [(&'static str, &'static str)],
}

const fn row(setting: &'static str, value: Value, said: &'static [(&'static str, &'static str)]) -> Row {
    Row { setting, value, said }
}

const TABLE: &str = "docs/DEFAULTS.md";
const CLIENT: &str = "crates/mrtr-client/README.md";
const LIMITS: &str = "crates/mrtr-client/src/limits.rs";
const SERVER: &str = "crates/mrtr-server/README.md";
const STATE: &str = "crates/mrtr-state/README.md";
const LIFETIMES: &str = "crates/mrtr-state/src/lifetimes.rs";
const FORMAT: &str = "docs/STATE_FORMAT.md";
const SECURITY: &str = "docs/SECURITY.md";

/// The order is that of the table. To add one, add a line here and there.
#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let (limits, lifetimes) = (Limits::default(), Lifetimes::default());
    vec![
        row("mrtr_client::Limits::rounds", count(limits.rounds), &[(CLIENT, "{} rounds"), (LIMITS, "nothing new aside. {} by default")]),
        row("mrtr_client::Limits::state_only_rounds", count(limits.state_only_rounds), &[(CLIENT, "{} replies in a row that ask nothing"), (LIMITS, "the server is busy. {} by default")]),
        row("mrtr_client::Limits::backoff", time(limits.backoff), &[(LIMITS, "by half. {} by default")]),
        row("mrtr_client::Limits::exchange", time(limits.exchange), &[(CLIENT, "{} for each exchange"), (LIMITS, "the server may take. {} by default")]),
        row("mrtr_client::Limits::questions", count(limits.questions), &[(CLIENT, "{} questions at once"), (LIMITS, "ask for at once. {} by default")]),
        row("mrtr_client::Limits::state_bytes", bytes(limits.state_bytes), &[(CLIENT, "{} of state"), (LIMITS, "state that is taken, in bytes. {} by default")]),
        row("mrtr_client::Limits::reply_bytes", bytes(limits.reply_bytes), &[(CLIENT, "{} of reply"), (LIMITS, "reply that is taken, in bytes. {} by default")]),
        row("mrtr_client::Limits::poll", time(limits.poll), &[(LIMITS, "whose server does not say. {} by default")]),
        row("mrtr_client::Limits::looks", count(limits.looks), &[(LIMITS, "look at a task. {} times by default")]),
        row("mrtr_server::SamplingTools::DEFAULT_TURNS", count(SamplingTools::DEFAULT_TURNS), &[(SERVER, "may call tools for {} turns"), ("crates/mrtr-server/src/flow/sampling.rs", "turns at most. {} by default")]),
        row("mrtr_server::Builder::DEFAULT_PAGE_SIZE", count(Builder::DEFAULT_PAGE_SIZE.get()), &[("crates/mrtr-server/src/server.rs", "pages of this size. {} by default")]),
        row("mrtr_state::Lifetimes::round", time(lifetimes.round), &[(STATE, "a state lives for {}"), (LIFETIMES, "come back with a state. {} by default"), (SECURITY, "{} after it was sealed"), (FORMAT, "{} a state,"), (FORMAT, "longest-lived state lives: {} by default")]),
        row("mrtr_state::Lifetimes::flow", time(lifetimes.flow), &[(STATE, "a flow for {}"), (LIFETIMES, "from its first round. {} by default"), (SECURITY, "{} after its flow began"), (FORMAT, "a state, {} and")]),
        row("mrtr_state::Lifetimes::rounds", count(lifetimes.rounds), &[(STATE, "{} rounds;"), (LIFETIMES, "a flow may have. {} by default"), (SECURITY, "after {} rounds"), (FORMAT, "{} rounds a flow by default")]),
        row("mrtr_state::ALLOWED_SKEW", time(mrtr_state::ALLOWED_SKEW), &[]),
        row("mrtr_state::DEFAULT_LIMIT", bytes(mrtr_state::DEFAULT_LIMIT), &[(FORMAT, "at most {} by default")]),
    ]
}

/// Sections in which every number belongs to a row of the table.
const COMPLETE: [(&str, &str); 1] = [(CLIENT, "## Limits")];

/// A document, with line breaks and the marks of comments taken out of its sentences.
fn document(path: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect(path);
    let lines: Vec<_> = text.lines().map(|line| line.trim().trim_start_matches("///").trim()).collect();
    let is_code = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    lines.join(if is_code { " " } else { "\n" })
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
    for Row { setting, value, said } in rows() {
        for (path, phrase) in said {
            let text = document(path);
            let stated = value.spellings().iter().any(|spelling| text.contains(&phrase.replace("{}", spelling)));
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
        for Row { value, said, .. } in rows() {
            for (_, phrase) in said.iter().filter(|(document, _)| *document == path) {
                for spelling in value.spellings() {
                    section = section.replace(&phrase.replace("{}", &spelling), "");
                }
            }
        }
        let unknown = section.lines().find(|line| line.contains(|letter: char| letter.is_ascii_digit()));
        assert_eq!(unknown, None, "{path}: a number that is no row of {TABLE}");
    }
}
