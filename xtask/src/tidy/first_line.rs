//! The rule that a file of Rust begins by saying what lives there.

use super::texts::TextFile;

pub(super) fn problems(files: &[TextFile]) -> Vec<String> {
    let silent = files.iter().filter(|file| file.is_rust() && !says_what_lives_there(&file.text));
    silent.map(|file| format!("{}:1: no `//!` sentence on line one", file.path.display())).collect()
}

/// Returns true if line one is a `//!` with words. The sentence may go on below it.
pub(super) fn says_what_lives_there(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("//! ").is_some_and(|sentence| !sentence.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_sentence_on_line_one_is_told() {
        let file = |text: &str| TextFile { path: "a.rs".into(), text: text.to_owned() };
        assert_eq!(problems(&[file("//! What lives here.\n\nfn f() {}\n")]), Vec::<String>::new());
        for text in ["fn f() {}\n", "\n//! Late.\n", "//!\n", "/// Of the item below.\n", "// No.\n", ""] {
            assert_eq!(problems(&[file(text)]), ["a.rs:1: no `//!` sentence on line one"], "{text:?}");
        }
        let page = TextFile { path: "a.md".into(), text: "# A\n".to_owned() };
        assert_eq!(problems(&[page]), Vec::<String>::new());
    }
}
