//! Texts that came as a state: any at all, and changed ones that were genuine.

use super::fixture::{GENUINE, SEALER, TRANSPARENT, journal, open};
use super::mutation::changed as mutated;

/// Any text, as it is and after a header that is known.
pub(super) fn any(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    opens_if_genuine(&text);
    opens_if_genuine(&format!("mrtr1x.new.{text}"));
    let _ = open(&TRANSPARENT, text);
}

/// One of the genuine states, changed.
pub(super) fn changed(input: &[u8]) {
    let Some((which, changes)) = input.split_first() else { return };
    let genuine = &GENUINE[usize::from(which % 2)];
    let text = mutated(genuine.untrusted_text().into(), changes);
    opens_if_genuine(&String::from_utf8_lossy(&text));
}

fn opens_if_genuine(text: &str) {
    let genuine = GENUINE.iter().any(|state| state.untrusted_text() == text);
    match open(&SEALER, text) {
        Ok(opened) => assert!(genuine && *opened.payload() == journal(), "{text} opens"),
        Err(refusal) => assert!(!genuine, "{text} is genuine and was refused: {refusal}"),
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    GENUINE.iter().map(|state| state.untrusted_text().into()).chain([b"mrtr1x.new.".to_vec(), Vec::new()]).collect()
}

pub(super) fn seeds_of_changes() -> Vec<Vec<u8>> {
    (0..6).map(|verb| vec![verb, verb, 0, 40 * verb, b'A']).chain([vec![0], vec![1]]).collect()
}
