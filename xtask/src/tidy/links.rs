//! The rule that links between pages lead somewhere: to a file that is there, and to a heading that it has.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::texts::TextFile;
use crate::workspace::root;

pub(super) fn problems(files: &[TextFile]) -> Vec<String> {
    let pages = files.iter().filter(|file| file.path.extension().is_some_and(|extension| extension == "md"));
    let pages: HashMap<&Path, &str> = pages.map(|page| (page.path.as_path(), page.text.as_str())).collect();
    let mut problems: Vec<_> = pages
        .iter()
        .flat_map(|(path, text)| links(text).map(move |(number, link)| (path, number, link)))
        .filter(|(path, _, link)| !leads_somewhere(&pages, path, link, |file| root().join(file).exists()))
        .map(|(path, number, link)| format!("{}:{number}: the link {link} leads nowhere", path.display()))
        .collect();
    problems.sort();
    problems
}

/// The relative links of a page, with their lines. Blocks of code have none.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let prose = (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    let all = prose.flat_map(|(number, line)| {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        targets.map(move |link| (number, link))
    });
    // Those with `::` name an item of Rust, and rustdoc checks them.
    all.filter(|(_, link)| !link.contains("://") && !link.contains("::"))
}

fn leads_somewhere(pages: &HashMap<&Path, &str>, from: &Path, link: &str, exists: impl Fn(&Path) -> bool) -> bool {
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let folder = from.parent().unwrap_or(from);
    let target = if file.is_empty() { from.to_owned() } else { plain(&folder.join(file)) };
    match (pages.get(target.as_path()), heading) {
        (Some(text), Some(heading)) => text.lines().filter_map(anchor).any(|anchor| anchor == heading),
        (Some(_), None) => true,
        (None, _) => exists(&target),
    }
}

/// The path without its `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut found, part| {
        match part {
            Component::ParentDir => drop(found.pop()),
            Component::CurDir => {}
            part => found.push(part),
        }
        found
    })
}

/// The anchor that GitHub gives to a heading.
fn anchor(line: &str) -> Option<String> {
    let heading = line.trim_start_matches('#');
    let heading = heading.strip_prefix(' ').filter(|_| heading.len() < line.len())?;
    let letters =
        heading.trim().chars().flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter });
    Some(letters.filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_and_to_a_heading() {
        let guide = "# Guide\n\n## The end, `soon`\n";
        let pages = HashMap::from([(Path::new("docs/GUIDE.md"), guide), (Path::new("README.md"), "# A")]);
        let leads = |from: &str, link: &str| {
            leads_somewhere(&pages, Path::new(from), link, |path| path == Path::new("examples"))
        };
        for (from, link) in [
            ("README.md", "docs/GUIDE.md"),
            ("README.md", "docs/GUIDE.md#the-end-soon"),
            ("docs/GUIDE.md", "#guide"),
            ("docs/GUIDE.md", "../README.md"),
            ("docs/GUIDE.md", "../examples"),
        ] {
            assert!(leads(from, link), "{from}: {link}");
        }
        for (from, link) in [
            ("README.md", "GUIDE.md"),
            ("README.md", "docs/GUIDE.md#end"),
            ("docs/GUIDE.md", "#a"),
            ("README.md", "docs"),
        ] {
            assert!(!leads(from, link), "{from}: {link}");
        }
    }

    #[test]
    fn links_are_those_of_the_text() {
        let text = "A [b](c.md), [d](https://e.f) and [g](mrtr::H).\n```rust\nx[1](2)\n```\n[i](#j)\n";
        assert_eq!(links(text).collect::<Vec<_>>(), [(1, "c.md"), (5, "#j")]);
    }
}
