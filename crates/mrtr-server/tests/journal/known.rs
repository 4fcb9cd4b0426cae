//! Known bytes: what another language must write and read.

use mrtr_flow::Journal;
use serde::Deserialize;

#[derive(Deserialize)]
struct Known {
    what: String,
    bytes: String,
    answered: Vec<String>,
    steps: Vec<String>,
    /// The bytes that are left when entries have taken the place of others; the bytes themselves if none has.
    folded: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    what: String,
    bytes: String,
}

#[derive(Deserialize)]
struct File {
    journals: Vec<Known>,
    refused: Vec<Refused>,
}

fn file() -> File {
    serde_json::from_str(include_str!("known.json")).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn known_bytes_are_read_and_written_to_the_letter() {
    for Known { what, bytes: hex, answered, steps, folded } in file().journals {
        let journal = Journal::from_bytes(bytes(&hex)).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(journal.answered().collect::<Vec<_>>(), answered, "{what}");
        assert_eq!(journal.steps().collect::<Vec<_>>(), steps, "{what}");
        assert_eq!(journal.to_bytes(), bytes(folded.as_ref().unwrap_or(&hex)), "{what}");
    }
}

#[test]
fn bytes_that_are_no_journal_are_refused() {
    for Refused { what, bytes: hex } in file().refused {
        assert!(Journal::from_bytes(bytes(&hex)).is_err(), "{what}");
    }
}
