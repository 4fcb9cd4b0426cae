//! The macros of the workspace: the attribute `#[data]`, which `mrtr` exports, and `#[derive(Wire)]` of `mrtr-schema`.
//!
// Its program needs the facade, which depends on this crate: `cargo xtask readme-projects` compiles it.
#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]

mod data;
mod wire;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives the traits that a type needs if a program asks for it, takes it as arguments or records it: `Serialize`,
/// `Deserialize` and `JsonSchema`. They are named by way of `mrtr`, so that the program needs neither serde nor
/// schemars among its dependencies.
///
/// Attributes of serde and schemars work as they do with the derives. The types of the fields need this attribute, too,
/// or the traits in another way: types of std and of other crates often have them.
///
/// `Debug` is not among the traits: an answer may be private, and a type that can be printed ends up in a log. Where a
/// program prints the type, compares it in a test or unwraps a `Result` of it, write `#[derive(Debug)]` beside this
/// attribute, above it or below.
#[proc_macro_attribute]
pub fn data(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return "::core::compile_error!(\"`#[data]` takes no arguments; options go into `#[serde(…)]` on the type\");"
            .parse()
            .expect("it is Rust");
    }
    data::expand(&item.into()).into()
}

/// Derives `Wire` (and `WireObject`, where it reads objects), with `Serialize` and `Deserialize` at the published
/// revision.
///
/// Only `mrtr-schema` can use it: the generated code names that crate's modules.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    wire::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
