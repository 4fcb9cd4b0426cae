//! The rule that a crate has few doors: files of Rust, each of which a reader must open to know what is behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::declared::LARGEST_SHARE_OF_FILES;
use super::figures::{Lines, rounded};
use super::{Crate, imports};
use crate::source::{SourceFile, from_root, used_names};

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    crates.iter().filter_map(|found| problem(&found.name, &found.files, LARGEST_SHARE_OF_FILES)).collect()
}

/// Returns the problem of a crate with too many files. A crate of under a thousand lines may have as many files as one
/// of a thousand.
fn problem(name: &str, files: &[SourceFile], most: usize) -> Option<String> {
    let code = lines_of_code(files);
    (files.len() * THOUSAND > most * code.max(THOUSAND)).then(|| {
        let small = parts(files);
        let small = if small.is_empty() { "none".to_owned() } else { small.join(", ") };
        format!(
            "{name}: {} files for {code} lines of code, and {} may be; files under {SMALL} lines with one user: {small}",
            files.len(),
            most * code.max(THOUSAND) / THOUSAND,
        )
    })
}

/// The files for each thousand lines of code, with one place behind the point.
pub(super) fn per_thousand(files: usize, code: usize) -> String {
    let tenths = rounded(files * THOUSAND * 10, code);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn lines_of_code(files: &[SourceFile]) -> usize {
    files.iter().map(|file| Lines::of(&file.text).code).sum()
}

/// The small files that one other file uses: they could be part of it.
fn parts(files: &[SourceFile]) -> Vec<String> {
    let users = users(files);
    let small = files.iter().filter(|file| !file.is_root() && file.text.lines().count() < SMALL);
    let parts = small.filter_map(|file| match users.get(&file.module)?.iter().collect::<Vec<_>>()[..] {
        [user] => Some(format!("{} ({user})", file.path.display())),
        _ => None,
    });
    parts.collect()
}

/// The files that use something of each module's own. A file that only re-exports a name is no user.
fn users(files: &[SourceFile]) -> BTreeMap<Vec<String>, BTreeSet<String>> {
    let given_on = given_on(files);
    let mut users: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for file in files {
        for import in imports::with_children(file).into_iter().filter(|import| !gives_on(file, import)) {
            let import = followed(import, &given_on);
            let owner = files.iter().filter(|owner| import.starts_with(&owner.module));
            let owner = owner.max_by_key(|owner| owner.module.len());
            if let Some(owner) = owner.filter(|owner| owner.module != file.module) {
                users.entry(owner.module.clone()).or_default().insert(file.path.display().to_string());
            }
        }
    }
    users
}

/// Follows an import to the module that its name is from: several modules above that may re-export it.
fn followed(mut import: Vec<String>, given_on: &BTreeMap<Vec<String>, Vec<String>>) -> Vec<String> {
    let from = |import: &[String]| {
        let mut beginnings = (1..=import.len()).map(|length| &import[..length]);
        beginnings.find_map(|name| Some([given_on.get(name)?, &import[name.len()..]].concat()))
    };
    while let Some(followed) = from(&import) {
        import = followed;
    }
    import
}

/// Maps each name that a module re-exports from one below it to its origin. A module under its own name is no
/// re-export.
fn given_on(files: &[SourceFile]) -> BTreeMap<Vec<String>, Vec<String>> {
    let names = files.iter().flat_map(|file| {
        uses(file).filter_map(|(_, path, name)| {
            let from = from_root(&path, &file.module);
            let name = [&*file.module, &[name]].concat();
            let is_module = files.iter().any(|file| file.module == name);
            (from.starts_with(&file.module) && from != name && !is_module).then_some((name, from))
        })
    });
    names.collect()
}

/// Returns true if a file takes a name only to re-export it.
fn gives_on(file: &SourceFile, import: &[String]) -> bool {
    uses(file).any(|(is_given_on, path, _)| is_given_on && from_root(&path, &file.module) == import)
}

/// The names that a file uses: with each, true if the file re-exports it, its path, and its name there.
fn uses(file: &SourceFile) -> impl Iterator<Item = (bool, Vec<String>, String)> {
    let items = file.syntax.items.iter().filter_map(|item| match item {
        syn::Item::Use(item) => Some(item),
        _ => None,
    });
    items.flat_map(|item| {
        let is_given_on = !matches!(item.vis, syn::Visibility::Inherited);
        used_names(&item.tree).into_iter().filter_map(move |used| Some((is_given_on, used.path, used.name?)))
    })
}

const THOUSAND: usize = 1000;
/// The number of lines from which a file is worth having, even with one user.
const SMALL: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<SourceFile> {
        let parse = |(path, text): &(&str, &str)| SourceFile::parse(path, (*text).to_owned()).expect("it is Rust");
        files.iter().map(parse).collect()
    }

    #[test]
    fn a_crate_with_too_many_files_is_told_with_those_that_could_go() {
        let files = files(&[
            ("lib.rs", "mod till; mod coin; mod note; pub use coin::Coin;"),
            ("till.rs", "use crate::Coin; use crate::note::Note;"),
            ("coin.rs", "pub struct Coin;"),
            ("note.rs", "use super::coin::Coin; pub struct Note;"),
        ]);
        let expected = "shop: 4 files for 4 lines of code, and 3 may be; files under 50 lines with one user: \
                        note.rs (till.rs)";
        assert_eq!(problem("shop", &files, 3).as_deref(), Some(expected));
        assert_eq!(problem("shop", &files, 4), None);
    }

    #[test]
    fn a_large_crate_may_have_more() {
        let long = "struct S;\n".repeat(1999);
        let mut files = files(&[("lib.rs", "mod a;"), ("a.rs", &long), ("b.rs", ""), ("c.rs", "")]);
        assert_eq!(problem("shop", &files, 2), None);
        files.pop();
        assert!(problem("shop", &files, 1).is_some());
    }

    #[test]
    fn a_user_is_known_through_names_that_are_given_on_and_by_paths_of_its_own_children() {
        let files = files(&[
            ("lib.rs", "mod pay; pub use pay::Card;"),
            ("pay.rs", "mod card; mod chip; mod sum; pub use card::Card; use chip::Chip; fn f() { sum::up() }"),
            ("pay/card.rs", "pub struct Card;"),
            ("pay/chip.rs", "pub struct Chip;"),
            ("pay/sum.rs", "use super::Chip; use crate::Card; pub fn up() {}"),
        ]);
        let users = users(&files);
        let of = |module: [&str; 2]| {
            let users = users.get(module.map(str::to_owned).as_slice());
            users.map(|users| users.iter().cloned().collect::<Vec<_>>()).unwrap_or_default()
        };
        assert_eq!(of(["pay", "card"]), ["pay/sum.rs"]);
        assert_eq!(of(["pay", "chip"]), ["pay.rs", "pay/sum.rs"]);
        assert_eq!(of(["pay", "sum"]), ["pay.rs"]);
    }

    #[test]
    fn small_figures_have_a_place_behind_the_point() {
        assert_eq!(per_thousand(38, 4931), "7.7");
        assert_eq!(per_thousand(0, 0), "0.0");
    }
}
