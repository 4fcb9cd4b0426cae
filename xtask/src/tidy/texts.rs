//! The text files of the workspace: those that are committed, and new ones that will be.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::root;

pub(super) struct TextFile {
    /// The path from the root of the workspace.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl TextFile {
    pub(super) fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "rs")
    }
}

pub(super) fn committed() -> Result<Vec<TextFile>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = git.output().context("could not start `git`")?;
    if !output.status.success() {
        bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let paths = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
    let paths = paths.split('\0').filter(|path| !path.is_empty());
    // Skips files that are deleted but still in the index, and files that are not text.
    let read = |path: &str| Some(TextFile { path: path.into(), text: fs::read_to_string(root().join(path)).ok()? });
    Ok(paths.filter_map(read).collect())
}

pub(super) fn openings(files: &[TextFile]) -> Vec<String> {
    files.iter().filter(|file| file.is_rust()).flat_map(openings_of_file).collect()
}

/// Looks at lines, so that it sees comments inside a macro too.
fn openings_of_file(file: &TextFile) -> Vec<String> {
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

/// Counts the doc comments of a text that open with one of [`INDIRECT`] instead of saying what the item is or does, and
/// all of them.
pub(super) fn count_openings(text: &str) -> (usize, usize) {
    let (mut all, mut indirect, mut is_below) = (0, 0, false);
    for comment in text.lines().map(said) {
        if let (Some(comment), false) = (comment, is_below) {
            all += 1;
            let first = comment.split(|letter: char| !letter.is_alphanumeric()).next();
            indirect += usize::from(first.is_some_and(|first| INDIRECT.contains(&first)));
        }
        is_below = comment.is_some();
    }
    (indirect, all)
}

/// The words with which a sentence begins that is about something else first.
pub(super) const INDIRECT: [&str; 12] =
    ["What", "Whether", "How", "Which", "Who", "Whose", "Where", "When", "If", "Of", "As", "That"];

/// The text of a line of a doc comment.
fn said(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start)
}

const OPENING: &str = "The same";

pub(super) fn machine_paths(files: &[TextFile]) -> Vec<String> {
    files.iter().flat_map(paths_of_file).collect()
}

fn paths_of_file(file: &TextFile) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let found = lines.filter_map(|(number, line)| Some((number + 1, machine_path(line)?)));
    found.map(|(number, path)| format!("{}:{number}: a path of one machine: {path}", file.path.display())).collect()
}

/// The first path of a line that lies in a folder of one machine.
fn machine_path(line: &str) -> Option<&str> {
    FOLDERS.iter().find_map(|folder| {
        let starts = line.match_indices(folder).map(|(at, _)| at);
        let mut starts = starts.filter(|&at| is_path(&line[..at], &line[at + folder.len()..]));
        starts.next().map(|at| line[at - 1..].split([' ', '"', '`', '\'', ')']).next().unwrap_or_default())
    })
}

/// Returns true if a folder's name between these is the first of an absolute path. In a URL, such as the `file:` ones
/// of the specification, and in a longer path, something stands before its slash.
fn is_path(before: &str, after: &str) -> bool {
    let Some(before) = before.strip_suffix('/') else { return false };
    let begins = before.chars().next_back().is_none_or(|last| !(last.is_alphanumeric() || "/._-}>:".contains(last)));
    begins && after.starts_with('/') && after[1..].starts_with(|next: char| next.is_alphanumeric() || next == '.')
}

/// The folders, without slashes, lest this file break its own rule.
const FOLDERS: [&str; 6] = ["work", "tmp", "root", "home", "Users", "workspace"];

#[cfg(test)]
mod tests {
    use super::*;

    fn openings_in(text: &str) -> Vec<String> {
        openings(&[TextFile { path: "a.rs".into(), text: text.to_owned() }])
    }

    #[test]
    fn a_comment_that_leans_on_its_neighbour_is_told() {
        let expected = ["a.rs:2: a doc comment begins \"The same\""];
        assert_eq!(openings_in("fn a() {}\n/// The same for b.\nfn b() {}\n"), expected);
        assert_eq!(openings_in("m! {\n    /// The same in a macro.\n}\n"), expected);
        assert_eq!(openings_in("//! The same, of a file.\n").len(), 1);
    }

    #[test]
    fn the_words_may_stand_further_on() {
        for text in ["/// Opens it.\n/// The same key does.\n", "/// Is it the same?\n", "// The same reason.\n"] {
            assert_eq!(openings_in(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn doc_comments_that_open_with_a_question_word_are_counted() {
        let text = "//! What it is.\n\n/// Opens it.\n/// When it can.\nfn a() {}\n/// If so.\nfn b() {}\n// How.\n/// Asks.\n";
        assert_eq!(count_openings(text), (2, 4));
        assert_eq!(count_openings("/// Whatever it is.\n"), (0, 1), "another word");
    }

    fn paths_in(text: &str) -> Vec<String> {
        machine_paths(&[TextFile { path: "a.md".into(), text: text.to_owned() }])
    }

    #[test]
    fn a_path_of_one_machine_is_told() {
        for folder in FOLDERS {
            let text = format!("One\nSee `/{folder}/ada/notes.md`, please");
            assert_eq!(paths_in(&text), [format!("a.md:2: a path of one machine: /{folder}/ada/notes.md")]);
        }
        assert_eq!(paths_in(&["PATH=", "home", "ada"].join("/")).len(), 1);
    }

    #[test]
    fn urls_and_relative_paths_are_no_places_of_a_machine() {
        let texts =
            ["file:///home/ada/charts", "https://x.org/work/a", "target/tmp/a", "./tmp/a", "${DIR}/tmp/a", "/ tmp/"];
        for text in texts.into_iter().chain(["notifications/root/list_changed", "`/tmp`", "`/tmp/`", "<dir>/root/a"]) {
            assert_eq!(paths_in(text), Vec::<String>::new(), "{text}");
        }
    }
}
