//! What a file has: its items, modules and exports, and whether an item's comment shows an example.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Item, ItemMacro, Meta};

use crate::source::{docs, is_public, text_of_doc};

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
    text_of_doc(&attribute)
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
