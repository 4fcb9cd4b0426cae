//! The form of the journal: known bytes, any entries, any bytes, and what a sink was told.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "journal/known.rs"]
mod known;
#[path = "journal/sink.rs"]
mod sink;

use mrtr_flow::{Asked, Journal};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// Something that a runner does with a journal.
#[derive(Debug, Clone)]
enum Change {
    Answer(String, String),
    Skip(String),
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a".to_owned()), "[a-z/é]{1,12}", Just("x".repeat(200))]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (name(), any::<Vec<u16>>()).prop_map(|(name, numbers)| Change::Answer(name, format!("{numbers:?}"))),
        name().prop_map(Change::Skip),
    ]
}

fn apply(journal: &mut Journal, change: &Change) {
    match change {
        Change::Answer(name, json) => {
            journal.answer(name, &RawValue::from_string(json.clone()).unwrap(), Asked::default());
        }
        Change::Skip(name) => journal.skip(name),
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_and_is_written_alike(changes in prop::collection::vec(change(), 0..60)) {
        let mut journal = Journal::default();
        let mut piecewise = Journal::default();
        for change in &changes {
            apply(&mut journal, change);
            let mut alone = Journal::default();
            apply(&mut alone, change);
            piecewise.replay(&alone.to_bytes()).unwrap();
        }
        let bytes = journal.to_bytes();
        let read = Journal::from_bytes(bytes.clone()).unwrap();
        prop_assert_eq!(read.to_bytes(), bytes.clone());
        prop_assert_eq!(read.answered().collect::<Vec<_>>(), journal.answered().collect::<Vec<_>>());
        prop_assert_eq!(piecewise.to_bytes(), bytes, "entries one by one are the journal");
        let mut names: Vec<_> = journal.answered().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        prop_assert_eq!(names.len(), count, "one entry a question");
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(journal) = Journal::from_bytes(bytes) {
            let written = journal.to_bytes();
            prop_assert_eq!(Journal::from_bytes(written.clone()).unwrap().to_bytes(), written);
        }
    }

    #[test]
    fn a_journal_that_was_cut_short_is_refused(changes in prop::collection::vec(change(), 1..6), cut in 1_usize..40) {
        let mut journal = Journal::default();
        for change in &changes {
            apply(&mut journal, change);
        }
        let bytes = journal.to_bytes();
        let cut = bytes.len().saturating_sub(cut);
        if let Ok(read) = Journal::from_bytes(bytes[..cut].to_vec()) {
            prop_assert!(bytes.starts_with(&read.to_bytes()), "only between two entries");
            prop_assert!(read.answered().count() < journal.answered().count());
        }
    }
}

/// Lengths are written in groups of seven bits: 128 is the first to take two of them, and 16384 to take three.
#[test]
fn an_entry_of_any_length_reads_back() {
    for length in (0..400).chain(16_350..16_400) {
        let answer = RawValue::from_string(format!("{:?}", "x".repeat(length))).unwrap();
        let mut journal = Journal::default();
        journal.answer("x".repeat(length), &answer, Asked::default());
        journal.answer("short", &answer, Asked::default());
        let read = Journal::from_bytes(journal.to_bytes()).unwrap_or_else(|error| panic!("{length}: {error}"));
        assert_eq!(read.answered().collect::<Vec<_>>(), journal.answered().collect::<Vec<_>>());
        assert_eq!(read.to_bytes(), journal.to_bytes());
    }
}

#[test]
fn many_entries_are_found_as_few_are() {
    let mut journal = Journal::default();
    let none = RawValue::from_string("null".to_owned()).unwrap();
    for round in 0..2 {
        for number in 0..1000 {
            journal.answer(format!("question {number}"), &none, Asked::default());
        }
        assert_eq!(journal.answered().count(), 1000, "in round {round}");
    }
    let read = Journal::from_bytes(journal.to_bytes()).unwrap();
    assert_eq!(read.answered().count(), 1000);
    assert!(read.answered().any(|name| name == "question 999"));
}
