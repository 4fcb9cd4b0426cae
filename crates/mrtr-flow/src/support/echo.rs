//! Texts that a peer sent, made fit to be repeated in an error or in the log.

use std::borrow::Cow;

/// Returns a name, a key, a version or a URI of the peer's: its beginning, with a mark where there was more.
pub fn name(text: &str) -> Cow<'_, str> {
    printable(cut(text, LONGEST_NAME))
}

/// Returns a sentence in which words of the peer's may stand.
pub fn sentence(text: &str) -> Cow<'_, str> {
    printable(cut(text, LONGEST_SENTENCE))
}

/// Returns an error for the log, in which a handler may have put what the peer sent. Its lines stay.
pub fn logged(text: &str) -> Cow<'_, str> {
    cut(text, LONGEST_LOGGED)
}

fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return text.into();
    }
    let start = &text[..text.floor_char_boundary(longest)];
    format!("{start}…").into()
}

/// Makes control characters spaces: as JSON each of them takes six bytes, and on a terminal it may do anything.
fn printable(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains(char::is_control) { text.replace(char::is_control, " ").into() } else { text }
}

/// The longest texts, in bytes. An error holds a sentence and a name, and is no longer than 4 KiB if every character
/// needs an escape.
const LONGEST_NAME: usize = 256;
const LONGEST_SENTENCE: usize = 1024;
const LONGEST_LOGGED: usize = 3072;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stays_as_it_is() {
        let longest = "x".repeat(LONGEST_NAME);
        for text in ["", "who", "test://é", &longest] {
            assert!(matches!(name(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_cut_falls_between_characters_and_leaves_a_mark() {
        for unit in ["x", "é", "…", "🦀", "a🦀"] {
            let long = unit.repeat(LONGEST_NAME + 1);
            let cut = name(&long).into_owned();
            let start = cut.strip_suffix('…').unwrap();
            assert!(long.starts_with(start), "{cut}");
            assert!((LONGEST_NAME - 3..=LONGEST_NAME).contains(&start.len()), "{cut}");
        }
    }

    #[test]
    fn no_control_character_comes_back_to_the_peer() {
        assert_eq!(name("a\u{1b}[31mb\n"), "a [31mb ");
        let many = "\u{1}".repeat(2 * LONGEST_SENTENCE);
        assert_eq!(sentence(&many), format!("{}…", " ".repeat(LONGEST_SENTENCE)));
        assert_eq!(logged("one\ntwo"), "one\ntwo");
    }
}
