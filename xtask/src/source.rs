//! Rust files, read and parsed: the one walker of all commands that look at source.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

/// A file of Rust.
pub(crate) struct SourceFile {
    /// The file's path, from the folder that was walked.
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

    /// Returns true if it is the root of a library or a program.
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
        // Target folders may hold generated Rust; a fuzz crate has a target folder of its own.
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

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns true if an attribute such as `#[cfg(test)]` stands there.
pub(crate) fn is_marked(attributes: &[Attribute], path: &str, with: &str) -> bool {
    let says = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident(path) && list.tokens.to_string() == with,
        Meta::Path(alone) => with.is_empty() && alone.is_ident(path),
        Meta::NameValue(_) => false,
    };
    attributes.iter().any(says)
}

/// Returns the lines of an item's doc comment.
pub(crate) fn docs(attributes: &[Attribute]) -> Vec<String> {
    attributes.iter().filter_map(|attribute| text_of_doc(&attribute.meta)).collect()
}

/// The text of `doc = "…"`.
pub(crate) fn text_of_doc(attribute: &Meta) -> Option<String> {
    let Meta::NameValue(pair) = attribute else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    let Lit::Str(text) = &value.lit else { return None };
    pair.path.is_ident("doc").then(|| text.value())
}

/// The attributes of an item.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// A name that a `use` brings in: what it stands for, and what it is called there. A glob keeps all names.
pub(crate) struct UsedName {
    pub(crate) path: Vec<String>,
    pub(crate) name: Option<String>,
}

/// All names that a `use` brings in.
pub(crate) fn used_names(tree: &UseTree) -> Vec<UsedName> {
    let mut found = Vec::new();
    follow(tree, &mut Vec::new(), &mut found);
    found
}

fn follow(tree: &UseTree, path: &mut Vec<String>, found: &mut Vec<UsedName>) {
    let mut note = |last: &syn::Ident, name: &syn::Ident| {
        let path = path.iter().cloned().chain([last.to_string()]).collect();
        found.push(UsedName { path, name: Some(name.to_string()) });
    };
    match tree {
        UseTree::Name(name) => note(&name.ident, &name.ident),
        UseTree::Rename(rename) => note(&rename.ident, &rename.rename),
        UseTree::Glob(_) => found.push(UsedName { path: path.clone(), name: None }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| follow(tree, path, found)),
        UseTree::Path(within) => {
            path.push(within.ident.to_string());
            follow(&within.tree, path, found);
            path.pop();
        }
    }
}

/// A path from the root of the crate, of one that is written in this module.
pub(crate) fn from_root(path: &[String], module: &[String]) -> Vec<String> {
    let mut target = module.to_vec();
    for segment in path {
        match segment.as_str() {
            "crate" => target.clear(),
            "self" => {}
            "super" => drop(target.pop()),
            _ => target.push(segment.clone()),
        }
    }
    target
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
