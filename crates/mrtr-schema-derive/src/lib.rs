//! `#[derive(Wire)]`: reading, writing, JSON Schema and test values of a wire type, all from its one definition.
//!
//! For use inside `mrtr-schema` only: the generated code names its modules.
//!
//! On a struct: `#[wire(name = "Tool")]` gives the name of its definition, `#[wire(tag(type = "text"))]` a member
//! with a constant value, `#[wire(open)]` says that members beyond the named ones are meant to be there, `#[wire(when =
//! FEATURE)]` that only revisions with that feature have the type, `#[wire(part)]` that it is not an object by itself but
//! members that several objects share (`Part`, taken in by a field with `flatten`). On a field: `rename = "_meta"`, `when = FEATURE` (the member exists only in revisions with
//! that feature), `required = FEATURE` (an `Option` that may not be left out there), `lenient` (absent means the
//! default, unless read strictly), `format = "uri"` (said in the schema), `extra` (keeps unknown members).
//!
//! On an enum of unit variants: a closed set of strings. On an enum of newtype variants, `#[wire(tag = "type")]` and a
//! `value = "text"` on each variant: the member that tells them apart.

mod attributes;
mod choice;
mod object;
mod words;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Fields, parse_macro_input};

/// Derives `Wire` (and `WireObject`, where it reads objects), with `Serialize` and `Deserialize` at the published revision.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
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
