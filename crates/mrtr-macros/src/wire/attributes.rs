//! The `#[wire(…)]` attributes, parsed.

use syn::ext::IdentExt;
use syn::{Attribute, Expr, Ident, Lit, LitStr, Meta, Path, Token};

/// The `#[wire(…)]` attributes of a struct or an enum.
#[derive(Default)]
pub(crate) struct TypeAttributes {
    pub(crate) name: Option<LitStr>,
    /// Constant members of a struct.
    pub(crate) constants: Vec<(String, LitStr)>,
    /// The member that tells the variants of an enum apart.
    pub(crate) tag: Option<LitStr>,
    /// True if the type is meant to have members beyond the named ones.
    pub(crate) open: bool,
    /// True if the struct is not an object by itself, but members that several objects share.
    pub(crate) part: bool,
    /// The feature that a revision must have for this type to exist in it.
    pub(crate) when: Option<Path>,
}

impl TypeAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut parsed = Self::default();
        for attribute in wire_only(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    parsed.name = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("when") {
                    parsed.when = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("open") {
                    parsed.open = true;
                } else if meta.path.is_ident("part") {
                    parsed.part = true;
                } else if meta.path.is_ident("tag") && meta.input.peek(Token![=]) {
                    parsed.tag = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("tag") {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    let key = content.call(Ident::parse_any)?;
                    content.parse::<Token![=]>()?;
                    parsed.constants.push((key.unraw().to_string(), content.parse()?));
                } else {
                    return Err(meta.error("not an attribute of a wire type"));
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }
}

/// The `#[wire(…)]` attributes of a field or a variant.
#[derive(Default)]
pub(crate) struct MemberAttributes {
    pub(crate) rename: Option<LitStr>,
    pub(crate) when: Option<Path>,
    pub(crate) required: Option<Path>,
    pub(crate) format: Option<LitStr>,
    pub(crate) value: Option<LitStr>,
    pub(crate) lenient: bool,
    pub(crate) extra: bool,
    pub(crate) flatten: bool,
}

impl MemberAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut parsed = Self::default();
        for attribute in wire_only(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    parsed.rename = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("when") {
                    parsed.when = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("required") {
                    parsed.required = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("format") {
                    parsed.format = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("value") {
                    parsed.value = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("lenient") {
                    parsed.lenient = true;
                } else if meta.path.is_ident("extra") {
                    parsed.extra = true;
                } else if meta.path.is_ident("flatten") {
                    parsed.flatten = true;
                } else {
                    return Err(meta.error("not an attribute of a wire member"));
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }
}

/// Returns the doc comment as the schema's `description`: a line per paragraph, up to the first heading or example.
pub(crate) fn description(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(literal) = &pair.value else { continue };
        let Lit::Str(line) = &literal.lit else { continue };
        if !pair.path.is_ident("doc") {
            continue;
        }
        let line = line.value();
        let line = line.trim();
        if line.starts_with("# ") || line.starts_with("```") {
            break; // The example of a doc comment is for Rust readers.
        }
        if line.is_empty() {
            text.push('\n');
        } else {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push(' ');
            }
            text.push_str(line);
        }
    }
    text.trim().to_owned()
}

/// Turns `snake_case` into `camelCase`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

fn wire_only(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("wire"))
}
