//! What a file has: its items, modules and exports, and whether an item's comment shows an example.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Attribute, Expr, Item, ItemMacro, Lit, Meta, UseTree, Visibility};

/// A named item.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) example: Example,
}

/// Where an item's example would stand.
pub(super) enum Example {
    /// In its own comment: whether there is one.
    Own(bool),
    /// In its own comment, there being none, or in what this macro makes of it.
    MadeBy(String),
}

/// A name that a module gives on: what it stands for, and what it is called there. A glob keeps all names.
pub(super) struct Export {
    pub(super) path: Vec<String>,
    pub(super) name: Option<String>,
}

impl Export {
    /// Its path from the root, seen from the module that has it.
    pub(super) fn target(&self, at: &[String]) -> Vec<String> {
        let mut target = at.to_vec();
        for segment in &self.path {
            match segment.as_str() {
                "crate" => target.clear(),
                "self" => {}
                "super" => drop(target.pop()),
                _ => target.push(segment.clone()),
            }
        }
        target
    }
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
    is_public(visibility).then(|| Definition { name: name.to_string(), example })
}

/// The items that a macro is told to make: each a name under a comment.
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

/// Whether a macro writes an example for what it makes.
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
    text(&attribute)
}

/// What a `use` gives on.
pub(super) fn exports(tree: &UseTree) -> Vec<Export> {
    let mut found = Vec::new();
    follow(tree, &mut Vec::new(), &mut found);
    found
}

fn follow(tree: &UseTree, path: &mut Vec<String>, found: &mut Vec<Export>) {
    let mut export = |last: &syn::Ident, name: &syn::Ident| {
        let path = path.iter().cloned().chain([last.to_string()]).collect();
        found.push(Export { path, name: Some(name.to_string()) });
    };
    match tree {
        UseTree::Name(name) => export(&name.ident, &name.ident),
        UseTree::Rename(rename) => export(&rename.ident, &rename.rename),
        UseTree::Glob(_) => found.push(Export { path: path.clone(), name: None }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| follow(tree, path, found)),
        UseTree::Path(within) => {
            path.push(within.ident.to_string());
            follow(&within.tree, path, found);
            path.pop();
        }
    }
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an attribute such as `#[cfg(test)]` stands there.
pub(super) fn is_marked(attributes: &[Attribute], path: &str, with: &str) -> bool {
    let says = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident(path) && list.tokens.to_string() == with,
        Meta::Path(alone) => with.is_empty() && alone.is_ident(path),
        Meta::NameValue(_) => false,
    };
    attributes.iter().any(says)
}

pub(super) fn docs(attributes: &[Attribute]) -> Vec<String> {
    attributes.iter().filter_map(|attribute| text(&attribute.meta)).collect()
}

fn text(attribute: &Meta) -> Option<String> {
    let Meta::NameValue(pair) = attribute else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    let Lit::Str(text) = &value.lit else { return None };
    pair.path.is_ident("doc").then(|| text.value())
}

/// Whether a comment has a code block that rustdoc compiles and runs.
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
    use super::has_example;

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
