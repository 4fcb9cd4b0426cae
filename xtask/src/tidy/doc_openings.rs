//! The rule that a doc comment stands alone on its page: none begins with what an item beside it says.

use super::texts::TextFile;

pub(super) fn problems(files: &[TextFile]) -> Vec<String> {
    files.iter().filter(|file| file.is_rust()).flat_map(problems_of_file).collect()
}

/// By lines, so that comments inside a macro are seen too.
fn problems_of_file(file: &TextFile) -> Vec<String> {
    let mut found = Vec::new();
    let mut above = None;
    for (number, line) in file.text.lines().enumerate() {
        let comment = said(line);
        if above.is_none() && comment.is_some_and(|comment| comment.starts_with(OPENING)) {
            found.push(format!("{}:{}: a doc comment begins \"{OPENING}\"", file.path.display(), number + 1));
        }
        above = comment;
    }
    found
}

/// What a line of a doc comment says.
fn said(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start)
}

const OPENING: &str = "The same";

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_in(text: &str) -> Vec<String> {
        problems(&[TextFile { path: "a.rs".into(), text: text.to_owned() }])
    }

    #[test]
    fn a_comment_that_leans_on_its_neighbour_is_told() {
        let expected = ["a.rs:2: a doc comment begins \"The same\""];
        assert_eq!(problems_in("fn a() {}\n/// The same for b.\nfn b() {}\n"), expected);
        assert_eq!(problems_in("m! {\n    /// The same in a macro.\n}\n"), expected);
        assert_eq!(problems_in("//! The same, of a file.\n").len(), 1);
    }

    #[test]
    fn the_words_may_stand_further_on() {
        for text in ["/// Opens it.\n/// The same key does.\n", "/// Is it the same?\n", "// The same reason.\n"] {
            assert_eq!(problems_in(text), Vec::<String>::new(), "{text}");
        }
    }
}
