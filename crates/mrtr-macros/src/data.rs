//! `#[data]`: the derives, and a check of the types inside.
//!
//! The derives of serde and schemars name traits and crates that the program may never have heard of. The check comes
//! before them, and says of the type of a field that it lacks `#[data]`. It leaves out what it cannot judge: types with
//! parameters of the item, and fields that an attribute has read or written in another way.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Field, GenericArgument, GenericParam, Ident, PathArguments, Type};

pub(crate) fn expand(item: &TokenStream) -> TokenStream {
    // What cannot be parsed is for the compiler to explain.
    let check = syn::parse2(item.clone()).ok().and_then(|item| check(&item));
    quote! {
        #check
        #[derive(::mrtr::serde::Serialize, ::mrtr::serde::Deserialize, ::mrtr::schemars::JsonSchema)]
        #[serde(crate = "::mrtr::serde")]
        #[schemars(crate = "::mrtr::schemars")]
        #item
    }
}

/// Writes code that compiles only if each type inside can be a part of the item. It is never run.
fn check(item: &DeriveInput) -> Option<TokenStream> {
    if is_special(&item.attrs) {
        return None;
    }
    let parameters = item.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    });
    let parameters: Vec<_> = parameters.collect();
    let mut parts = Vec::new();
    for field in fields(&item.data) {
        add_parts(&field.ty, &mut parts);
    }
    let mut seen = HashSet::new();
    parts.retain(|part| !needs_item(part, &parameters) && seen.insert(part.to_token_stream().to_string()));
    if parts.is_empty() {
        return None;
    }
    Some(quote! {
        #[allow(deprecated, unused_qualifications, clippy::absolute_paths)]
        const _: fn() = || { #(::mrtr::__data::is_data::<#parts>();)* };
    })
}

/// The fields that are read and written as their types say.
fn fields(data: &Data) -> Vec<&Field> {
    let fields: Vec<_> = match data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => {
            let variants = data.variants.iter().filter(|variant| !is_special(&variant.attrs));
            variants.flat_map(|variant| &variant.fields).collect()
        }
        Data::Union(_) => Vec::new(),
    };
    fields.into_iter().filter(|field| !is_special(&field.attrs)).collect()
}

/// Returns true if an attribute may have something read or written in another way than by its type, or left out.
fn is_special(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("serde") || path.is_ident("schemars") {
            return has_word(attribute.meta.to_token_stream(), &|word| SPECIAL.contains(&&*word.to_string()));
        }
        path.is_ident("cfg") || path.is_ident("cfg_attr")
    })
}

/// The options of serde and schemars that say so.
const SPECIAL: [&str; 13] = [
    "skip",
    "skip_serializing",
    "skip_deserializing",
    "with",
    "serialize_with",
    "deserialize_with",
    "schema_with",
    "borrow",
    "bound",
    "from",
    "try_from",
    "into",
    "remote",
];

/// Adds the types that a type is made of: what std's collections hold, and everything else as it is.
fn add_parts<'a>(ty: &'a Type, parts: &mut Vec<&'a Type>) {
    match ty {
        Type::Paren(inner) => add_parts(&inner.elem, parts),
        Type::Group(inner) => add_parts(&inner.elem, parts),
        Type::Array(array) => add_parts(&array.elem, parts),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| add_parts(ty, parts)),
        Type::Path(path) => match path.path.segments.last().map(|last| (last, held(&last.ident))) {
            Some((last, Some(held))) => {
                let PathArguments::AngleBracketed(arguments) = &last.arguments else { return };
                let types = arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                });
                // Hashers and allocators come after them.
                types.take(held).for_each(|ty| add_parts(ty, parts));
            }
            _ => parts.push(ty),
        },
        _ => {}
    }
}

/// The number of types that a collection of std's holds: it is data if they are.
fn held(collection: &Ident) -> Option<usize> {
    match &*collection.to_string() {
        "Option" | "Vec" | "VecDeque" | "BinaryHeap" | "LinkedList" | "HashSet" | "BTreeSet" => Some(1),
        "HashMap" | "BTreeMap" => Some(2),
        _ => None,
    }
}

/// Returns true if a type means nothing outside of the item: it has a lifetime, or a parameter of the item.
fn needs_item(ty: &Type, parameters: &[&Ident]) -> bool {
    let tokens = ty.to_token_stream();
    has_mark(tokens.clone(), '\'') || has_word(tokens, &|word| word == "Self" || parameters.contains(&word))
}

fn has_mark(tokens: TokenStream, mark: char) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => punct.as_char() == mark,
        TokenTree::Group(group) => has_mark(group.stream(), mark),
        _ => false,
    })
}

fn has_word(tokens: TokenStream, is_it: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => is_it(&word),
        TokenTree::Group(group) => has_word(group.stream(), is_it),
        _ => false,
    })
}
