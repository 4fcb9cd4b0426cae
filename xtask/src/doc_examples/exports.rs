//! The exports of a crate: its public items, by the paths at which others find them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Attribute, Item, ItemMacro, Meta};

use crate::source;
use crate::source::{SourceFile, UsedName, docs, from_root, is_public, text_of_doc, used_names};

/// A public item.
pub(super) struct Exported {
    /// The shortest path at which it is found.
    pub(super) path: String,
    pub(super) has_example: bool,
}

/// Every public item of the crate in this folder.
pub(super) fn of_crate(name: &str, folder: &Path) -> Result<Vec<Exported>> {
    let mut tree = Tree::default();
    let files = source::read_folder(&folder.join("src"))?;
    let files = files.into_iter().map(|file| (file.module.clone(), file)).collect();
    tree.read(&files, Vec::new())?;
    let mut found = Vec::new();
    tree.list(&[], name, &mut found);

    let mut shortest: BTreeMap<(Vec<String>, String), Exported> = BTreeMap::new();
    for (home, definition, path) in found {
        let has_example = match &definition.example {
            Example::Own(is_there) => *is_there,
            Example::MadeBy(maker) => tree.showing.contains(maker),
        };
        let exported = shortest
            .entry((home, definition.name.clone()))
            .or_insert_with(|| Exported { path: path.clone(), has_example });
        if path.len() < exported.path.len() {
            exported.path = path;
        }
    }
    let mut items: Vec<_> = shortest.into_values().collect();
    items.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(items)
}

/// The modules of a crate, by their paths.
#[derive(Default)]
struct Tree {
    modules: BTreeMap<Vec<String>, Module>,
    /// Macros that write an example for what they make.
    showing: BTreeSet<String>,
}

#[derive(Default)]
struct Module {
    definitions: Vec<Definition>,
    /// The names that it re-exports.
    exports: Vec<UsedName>,
    /// The public modules in it.
    children: Vec<String>,
}

/// The files of a crate, by the modules that they are.
type Files = BTreeMap<Vec<String>, SourceFile>;

/// The module that defines an item, the item, and the path at which others find it.
type Found<'a> = (Vec<String>, &'a Definition, String);

impl Tree {
    /// Reads the file of a module, and those of the modules in it.
    fn read(&mut self, files: &Files, path: Vec<String>) -> Result<()> {
        let file = files.get(&path).with_context(|| format!("module {} has no file", path.join("::")))?;
        self.add(files, &file.syntax.items, path)
    }

    fn add(&mut self, files: &Files, items: &[Item], path: Vec<String>) -> Result<()> {
        let mut module = Module::default();
        for item in items {
            module.definitions.extend(definition(item));
            match item {
                Item::Use(item) if is_public(&item.vis) => module.exports.extend(used_names(&item.tree)),
                Item::Macro(item) if item.mac.path.is_ident("macro_rules") => self.add_macro(item),
                Item::Macro(item) => module.definitions.extend(made_by(item)),
                Item::Mod(item) if !source::is_marked(&item.attrs, "cfg", "test") => {
                    let name = item.ident.to_string();
                    match &item.content {
                        Some((_, items)) => self.add(files, items, joined(&path, &name))?,
                        None => self.read(files, joined(&path, &name))?,
                    }
                    if is_public(&item.vis) && !is_hidden(&item.attrs) {
                        module.children.push(name);
                    }
                }
                _ => {}
            }
        }
        self.modules.entry(path).or_default().take_in(module);
        Ok(())
    }

    /// A macro that is exported stands at the root, wherever it is defined.
    fn add_macro(&mut self, item: &ItemMacro) {
        let Some(name) = item.ident.as_ref().map(ToString::to_string) else { return };
        if source::is_marked(&item.attrs, "macro_export", "") {
            let example = Example::Own(has_example(&docs(&item.attrs)));
            self.modules.entry(Vec::new()).or_default().definitions.push(Definition { name: name.clone(), example });
        }
        if writes_example(item.mac.tokens.clone()) {
            self.showing.insert(name);
        }
    }

    /// Notes what a module shows to those who see it under a path.
    fn list<'a>(&'a self, at: &[String], shown: &str, found: &mut Vec<Found<'a>>) {
        let Some(module) = self.modules.get(at) else { return };
        for definition in &module.definitions {
            found.push((at.to_vec(), definition, format!("{shown}::{}", definition.name)));
        }
        for child in &module.children {
            self.list(&joined(at, child), &format!("{shown}::{child}"), found);
        }
        for export in &module.exports {
            let target = from_root(&export.path, at);
            match &export.name {
                Some(name) => self.resolve(&target, &format!("{shown}::{name}"), found),
                None => self.list(&target, shown, found),
            }
        }
    }

    /// Notes what a path stands for: a module, an item, or a name that a module re-exports. Items of other crates are
    /// not ours.
    fn resolve<'a>(&'a self, target: &[String], shown: &str, found: &mut Vec<Found<'a>>) {
        if self.modules.contains_key(target) {
            return self.list(target, shown, found);
        }
        let Some((name, home)) = target.split_last() else { return };
        let Some(module) = self.modules.get(home) else { return };
        let here = module.definitions.iter().filter(|definition| definition.name == *name);
        found.extend(here.map(|definition| (home.to_vec(), definition, shown.to_owned())));
        for export in &module.exports {
            let given_on = from_root(&export.path, home);
            match &export.name {
                // A crate that is re-exported under its own name stands for itself.
                Some(given) if given == name && given_on != target => self.resolve(&given_on, shown, found),
                Some(_) => {}
                None => self.resolve(&joined(&given_on, name), shown, found),
            }
        }
    }
}

impl Module {
    fn take_in(&mut self, other: Self) {
        self.definitions.extend(other.definitions);
        self.exports.extend(other.exports);
        self.children.extend(other.children);
    }
}

fn joined(path: &[String], name: &str) -> Vec<String> {
    path.iter().map(String::as_str).chain([name]).map(str::to_owned).collect()
}

/// A named item.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) example: Example,
}

/// The place where an item's example would stand.
pub(super) enum Example {
    /// In the item's own comment; true if it has an example.
    Own(bool),
    /// In the code that this macro makes of the item, since the item's own comment has none.
    MadeBy(String),
}

/// The item, if it is public and has a page of its own.
pub(super) fn definition(item: &Item) -> Option<Definition> {
    let (visibility, name, attributes) = match item {
        Item::Struct(item) => (&item.vis, &item.ident, &item.attrs),
        Item::Enum(item) => (&item.vis, &item.ident, &item.attrs),
        Item::Union(item) => (&item.vis, &item.ident, &item.attrs),
        Item::Trait(item) => (&item.vis, &item.ident, &item.attrs),
        Item::Fn(item) => (&item.vis, &item.sig.ident, &item.attrs),
        Item::Const(item) => (&item.vis, &item.ident, &item.attrs),
        Item::Static(item) => (&item.vis, &item.ident, &item.attrs),
        Item::Type(item) => (&item.vis, &item.ident, &item.attrs),
        _ => return None,
    };
    let example = Example::Own(has_example(&docs(attributes)));
    (is_public(visibility) && !is_hidden(attributes)).then(|| Definition { name: name.to_string(), example })
}

/// Returns true if rustdoc makes no page of it: it is no part of the crate's API.
fn is_hidden(attributes: &[Attribute]) -> bool {
    source::is_marked(attributes, "doc", "hidden")
}

/// The items that a macro call lists: each a name under a comment.
pub(super) fn made_by(call: &ItemMacro) -> Vec<Definition> {
    let maker = call.mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    let mut made = Vec::new();
    let mut comment = Vec::new();
    let mut tokens = call.mac.tokens.clone().into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                comment.extend(tokens.next().and_then(|group| line(&group)));
            }
            TokenTree::Ident(name) if !comment.is_empty() => {
                let own = has_example(&comment);
                let example = if own { Example::Own(true) } else { Example::MadeBy(maker.clone()) };
                made.push(Definition { name: name.to_string(), example });
                comment.clear();
            }
            _ => comment.clear(),
        }
    }
    made
}

/// Returns true if a macro writes an example for what it makes.
pub(super) fn writes_example(tokens: TokenStream) -> bool {
    let mut comment = Vec::new();
    comments(tokens, &mut comment);
    has_example(&comment)
}

fn comments(tokens: TokenStream, lines: &mut Vec<String>) {
    for token in tokens {
        lines.extend(line(&token));
        if let TokenTree::Group(group) = token {
            comments(group.stream(), lines);
        }
    }
}

/// The text of `[doc = "…"]`.
fn line(token: &TokenTree) -> Option<String> {
    let TokenTree::Group(group) = token else { return None };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let attribute: Meta = syn::parse2(group.stream()).ok()?;
    text_of_doc(&attribute)
}

/// Returns true if a comment has a code block that rustdoc compiles and runs.
pub(super) fn has_example(comment: &[String]) -> bool {
    let mut within = false;
    for line in comment.iter().flat_map(|text| text.lines()) {
        let Some(kind) = line.trim().strip_prefix("```") else { continue };
        if !within && kind.split([',', ' ']).all(|word| matches!(word, "" | "rust" | "should_panic")) {
            return true;
        }
        within = !within;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{has_example, *};

    /// The items of a crate with these files, those without an example marked.
    fn items(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join("src").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let items = of_crate("shop", folder.path()).unwrap();
        items.into_iter().map(|item| if item.has_example { item.path } else { item.path + " lacks one" }).collect()
    }

    #[test]
    fn what_others_can_name_is_listed_and_nothing_else() {
        let library = "
            mod cart; pub mod pay; mod list;
            pub use cart::{Cart, Line as CartLine, Price};
            pub use list::*;
            pub use serde::Serialize;
            pub use serde_json;
            #[cfg(test)] mod tests;
            #[doc(hidden)] pub mod till { pub struct Drawer; }
            #[doc(hidden)] pub struct Wire;
            struct Private; pub(crate) struct Inside;";
        let cart = "mod price; pub use price::Price; pub struct Cart; pub struct Line; pub struct NotExported;";
        let pay = "pub use crate::cart::Cart; pub fn pay() {} pub mod by { pub trait Card {} } use super::Hidden;";
        let files = [
            ("lib.rs", library),
            ("cart.rs", cart),
            ("cart/price.rs", "pub enum Price {}"),
            ("pay/mod.rs", pay),
            ("list.rs", "pub const LONGEST: usize = 1; pub type List = (); const SHORTEST: usize = 0;"),
        ];
        let expected = ["Cart", "CartLine", "LONGEST", "List", "Price", "pay::by::Card", "pay::pay"];
        assert_eq!(items(&files), expected.map(|name| format!("shop::{name} lacks one")));
    }

    #[test]
    fn an_example_stands_with_an_item_or_in_the_macro_that_makes_it() {
        let library = "
            /// ```\n/// ```
            pub struct Shown;
            macro_rules! plain { ($(#[$doc:meta])* $name:ident) => { $(#[$doc])* pub struct $name; } }
            macro_rules! showing { ($(#[$doc:meta])* $name:ident) => {
                $(#[$doc])*
                /// ```\n/// ```
                pub struct $name;
            } }
            plain! { /// One.
                One }
            plain! { /// Two.\n/// ```\n/// ```
                Two }
            showing! { /// Three.
                Three }
            #[macro_export] macro_rules! exported { () => {} }";
        let expected = ["One lacks one", "Shown", "Three", "Two", "exported lacks one"];
        assert_eq!(items(&[("lib.rs", library)]), expected.map(|name| format!("shop::{name}")));
    }

    #[test]
    fn an_example_is_a_block_of_rust_that_runs() {
        let comment = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        for text in ["About.\n```\nx();\n```", "```rust\n```", "```text\n```\n```should_panic\n```"] {
            assert!(has_example(&comment(text)), "{text}");
        }
        for text in ["About.", "```text\n```", "```ignore\n```", "```no_run\n```", "```rust,no_run\n```"] {
            assert!(!has_example(&comment(text)), "{text}");
        }
    }
}
