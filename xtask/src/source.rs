//! Rust files, read and parsed: the one walker of all commands that look at source.

mod syntax;
mod uses;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use syntax::{attributes, docs, is_marked, is_public, text_of_doc};
pub(crate) use uses::{UsedName, from_root, used_names};

/// A file of Rust.
pub(crate) struct SourceFile {
    /// Where it lies, from the folder that was walked.
    pub(crate) path: PathBuf,
    /// The module that it is, where that folder is a crate's `src`. The root is empty.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
}

impl SourceFile {
    pub(crate) fn parse(path: impl Into<PathBuf>, text: String) -> Result<Self> {
        let path = path.into();
        let syntax = syn::parse_file(&text).with_context(|| format!("{} is not Rust", path.display()))?;
        Ok(Self { module: module_of(&path), path, text, syntax })
    }

    /// Whether it is the root of a library or a program.
    pub(crate) fn is_root(&self) -> bool {
        self.module.is_empty()
    }
}

/// All files of Rust below a folder, in order of their paths.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    walk(folder, &mut paths)?;
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        SourceFile::parse(path.strip_prefix(folder)?, text)
    };
    paths.into_iter().map(read).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        // What cargo builds may hold generated Rust, also below a fuzz crate, which has a target folder of its own.
        if path.is_dir() && !path.ends_with("target") {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// `flow/ask.rs` is `flow::ask`; `lib.rs` and `main.rs` are the root.
fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let mut module: Vec<_> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let is_root = module.len() == 1 && ["lib", "main"].contains(&module[0].as_str());
    if is_root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_module_that_its_path_names() {
        let modules = ["lib.rs", "main.rs", "flow.rs", "flow/ask.rs", "pay/mod.rs", "flow/main.rs"];
        let modules = modules.map(|path| module_of(Path::new(path)).join("::"));
        assert_eq!(modules, ["", "", "flow", "flow::ask", "pay", "flow::main"]);
    }
}
