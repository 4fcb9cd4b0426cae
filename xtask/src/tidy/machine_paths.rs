//! The rule that no file names a place on the machine of the person who wrote it.

use super::texts::TextFile;

pub(super) fn problems(files: &[TextFile]) -> Vec<String> {
    files.iter().flat_map(problems_of_file).collect()
}

fn problems_of_file(file: &TextFile) -> Vec<String> {
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

/// Whether a folder's name between these is the first of an absolute path. In a URL, such as the `file:` ones of the
/// specification, and in a longer path, something stands before its slash.
fn is_path(before: &str, after: &str) -> bool {
    let Some(before) = before.strip_suffix('/') else { return false };
    let begins = before.chars().next_back().is_none_or(|last| !(last.is_alphanumeric() || "/._-}>:".contains(last)));
    begins && after.starts_with('/') && after[1..].starts_with(|next: char| next.is_alphanumeric() || next == '.')
}

/// Without slashes, lest this file break its own rule.
const FOLDERS: [&str; 6] = ["work", "tmp", "root", "home", "Users", "workspace"];

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_in(text: &str) -> Vec<String> {
        problems(&[TextFile { path: "a.md".into(), text: text.to_owned() }])
    }

    #[test]
    fn a_path_of_one_machine_is_told() {
        for folder in FOLDERS {
            let text = format!("One\nSee `/{folder}/ada/notes.md`, please");
            assert_eq!(problems_in(&text), [format!("a.md:2: a path of one machine: /{folder}/ada/notes.md")]);
        }
        assert_eq!(problems_in(&["PATH=", "home", "ada"].join("/")).len(), 1);
    }

    #[test]
    fn urls_and_relative_paths_are_no_places_of_a_machine() {
        let texts =
            ["file:///home/ada/charts", "https://x.org/work/a", "target/tmp/a", "./tmp/a", "${DIR}/tmp/a", "/ tmp/"];
        for text in texts.into_iter().chain(["notifications/root/list_changed", "`/tmp`", "`/tmp/`", "<dir>/root/a"]) {
            assert_eq!(problems_in(text), Vec::<String>::new(), "{text}");
        }
    }
}
