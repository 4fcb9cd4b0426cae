//! `cargo xtask tidy`: the structure of the code, as it is declared.
//!
//! Each rule is a file in `tidy/` and gives what breaks it; what is declared stands in `tidy/declared.rs`. The figures
//! that end the report break no rule by themselves.

mod cycles;
mod declared;
mod dependencies;
mod doors;
mod figures;
mod first_line;
mod hops;
mod imports;
mod layers;
mod links;
mod newer;
mod packages;
mod predicates;
mod texts;
mod unwraps;

use std::path::Path;

use anyhow::Result;

use crate::Outcome;
use crate::source::{self, SourceFile};
use crate::workspace::{self, Metadata, print};
use declared::LAYERED;

/// A crate, and the files below its `src`.
struct Crate {
    name: String,
    files: Vec<SourceFile>,
}

pub(crate) fn run() -> Result<Outcome> {
    let metadata = workspace::metadata()?;
    let members = members(&metadata)?;
    let crates = crates()?;
    let texts = texts::committed()?;
    let counted = dependencies::counted()?;
    let (hops, hop_problems) = hops::counted(workspace::root());
    let problems = [
        first_line::problems(&texts),
        texts::openings(&texts),
        texts::machine_paths(&texts),
        links::problems(&texts),
        unwraps::problems(&crates),
        newer::problems(&members),
        predicates::problems(&crates),
        layer_problems(&crates),
        cycles::problems(&crates),
        doors::problems(&members),
        figures::indirect(&members),
        dependencies::edge_problems(&metadata),
        dependencies::problems(&counted),
        dependencies::not_shipped()?,
        packages::problems(&metadata)?,
        hop_problems,
    ]
    .concat();

    print(&figures::report(&members))?;
    print(&dependencies::report(&counted))?;
    print(&format!("a plain call passes through {hops} functions"))?;
    for problem in &problems {
        print(problem)?;
    }
    Ok(if problems.is_empty() { Outcome::Passed } else { Outcome::Failed })
}

fn layer_problems(crates: &[Crate]) -> Vec<String> {
    let problems = LAYERED.iter().flat_map(|layered| match crates.iter().find(|found| found.name == layered.name) {
        Some(found) => layers::problems(&found.files, layered),
        None => vec![format!("{} has declared layers, and there is no such crate", layered.name)],
    });
    problems.collect()
}

fn crates() -> Result<Vec<Crate>> {
    workspace::crates()?.into_iter().map(|(name, folder)| read(name, &folder)).collect()
}

/// Reads all members that have a `src`, tools among them: each example is read by itself.
fn members(metadata: &Metadata) -> Result<Vec<Crate>> {
    let folders = metadata.packages.iter().filter_map(|package| Some((&package.name, package.manifest_path.parent()?)));
    let folders = folders.filter(|(_, folder)| folder.join("src").is_dir());
    let mut members = folders.map(|(name, folder)| read(name.clone(), folder)).collect::<Result<Vec<_>>>()?;
    members.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(members)
}

fn read(name: String, folder: &Path) -> Result<Crate> {
    Ok(Crate { name, files: without_tests(source::read_folder(&folder.join("src"))?) })
}

/// The files but for those of modules that are there for tests only.
fn without_tests(files: Vec<SourceFile>) -> Vec<SourceFile> {
    let tests: Vec<Vec<String>> = files.iter().flat_map(test_modules).collect();
    files.into_iter().filter(|file| !tests.iter().any(|module| file.module.starts_with(module))).collect()
}

fn test_modules(file: &SourceFile) -> Vec<Vec<String>> {
    let items = file.syntax.items.iter();
    let modules = items.filter_map(|item| match item {
        syn::Item::Mod(item) if item.content.is_none() => Some(item),
        _ => None,
    });
    let tests = modules.filter(|item| source::is_marked(&item.attrs, "cfg", "test"));
    tests.map(|item| [&*file.module, &[item.ident.to_string()]].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_for_tests_only_is_no_library_code() {
        let parse = |(path, text): (&str, &str)| SourceFile::parse(path, text.to_owned()).expect("it is Rust");
        let files = [("lib.rs", "mod a;"), ("a.rs", "#[cfg(test)] mod t;"), ("a/t.rs", ""), ("a/t/u.rs", "")];
        let left = without_tests(files.into_iter().map(parse).collect());
        assert_eq!(left.iter().map(|file| file.path.to_str()).collect::<Vec<_>>(), [Some("lib.rs"), Some("a.rs")]);
    }
}
