//! `#[derive(Wire)]`: reading, writing, JSON Schema and test values of a wire type, all from its one definition.
//!
//! For use inside `mrtr-schema` only: the generated code names its modules.
//!
//! On a struct:
//!
//! | attribute | what it says |
//! |---|---|
//! | `name = "Tool"` | the name of its definition in the published specification |
//! | `when = FEATURE` | only revisions with that feature have the type |
//! | `tag(type = "text")` | a member with a constant value |
//! | `open` | the type is meant to have members beyond the named ones |
//! | `part` | the struct is not an object by itself, but members that several objects share (`Part`); see `flatten` |
//!
//! On a field:
//!
//! | attribute | what it says |
//! |---|---|
//! | `rename = "_meta"` | the member's name, where it is not the field's in camel case |
//! | `when = FEATURE` | the member exists only in revisions with that feature |
//! | `required = FEATURE` | an `Option` that may not be left out in revisions with that feature |
//! | `lenient` | absent means the default, and on an `Option` null means absent, unless read strictly |
//! | `format = "uri"` | the `format` that the schema gives |
//! | `flatten` | the field's type is a `part`, whose members become those of the object |
//! | `extra` | keeps unknown members |
//!
//! An enum of unit variants is a closed set of strings, with `rename = "…"` for a word that is not the variant in camel
//! case. On an enum of newtype variants, `tag = "type"` names the member that tells them apart, and `value = "text"` on
//! each variant says what that member holds.

mod attributes;
mod choice;
mod object;
mod words;

use syn::{Data, DeriveInput, Fields};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object::expand(input, fields),
            _ => Err(syn::Error::new_spanned(input, "Wire needs named fields")),
        },
        Data::Enum(data) if data.variants.iter().all(|v| matches!(v.fields, Fields::Unit)) => {
            words::expand(input, data)
        }
        Data::Enum(data) => choice::expand(input, data),
        Data::Union(_) => Err(syn::Error::new_spanned(input, "Wire is not for unions")),
    }
}
