//! What several commands ask of an item: whether it is public, how it is marked, what its comment says.

use syn::{Attribute, Expr, Item, Lit, Meta, Visibility};

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an attribute such as `#[cfg(test)]` stands there.
pub(crate) fn is_marked(attributes: &[Attribute], path: &str, with: &str) -> bool {
    let says = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident(path) && list.tokens.to_string() == with,
        Meta::Path(alone) => with.is_empty() && alone.is_ident(path),
        Meta::NameValue(_) => false,
    };
    attributes.iter().any(says)
}

/// The lines of an item's doc comment.
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

/// What an item is marked with.
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
