//! The methods that macros write: setters that several types share.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Item, LitStr};

use super::Method;
use crate::source::SourceFile;

/// The macros of a crate, by name.
type Macros<'a> = BTreeMap<String, &'a TokenStream>;

/// Finds the public methods that macros give a type: those in an `impl $type` of a macro that is called with the type's
/// name.
pub(super) fn methods(files: &[SourceFile], type_name: &str) -> Vec<Method> {
    let items = || files.iter().flat_map(|file| &file.syntax.items);
    let named = items().filter_map(|item| match item {
        Item::Macro(item) => Some((item.ident.as_ref()?.to_string(), &item.mac.tokens)),
        _ => None,
    });
    let macros: Macros<'_> = named.collect();
    let mut found = Vec::new();
    for item in items() {
        let Item::Macro(item) = item else { continue };
        let Some(name) = item.mac.path.get_ident().filter(|_| item.ident.is_none()) else { continue };
        let tokens = item.mac.tokens.clone();
        if tokens.clone().into_iter().any(|token| matches!(&token, TokenTree::Ident(ident) if ident == type_name)) {
            called(&macros, &name.to_string(), tokens, &mut found);
        }
    }
    found
}

/// Adds what a call of a macro writes. A method without documentation in the macro has that of the call.
fn called(macros: &Macros<'_>, name: &str, call: TokenStream, found: &mut Vec<Method>) {
    let Some(body) = macros.get(name) else { return };
    let (mut written, mut docs) = (Vec::new(), Vec::new());
    walk(macros, name, (*body).clone(), &mut written);
    let tokens: Vec<_> = call.into_iter().collect();
    docs.extend(tokens.iter().filter_map(doc));
    for mut method in written {
        if method.docs.is_empty() {
            method.docs.clone_from(&docs);
        }
        found.push(method);
    }
}

fn walk(macros: &Macros<'_>, within: &str, body: TokenStream, found: &mut Vec<Method>) {
    let tokens: Vec<_> = body.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match (token, &tokens[at + 1..]) {
            (TokenTree::Ident(word), [dollar, TokenTree::Ident(_), TokenTree::Group(members), ..])
                if word == "impl" && is_mark(dollar, '$') && members.delimiter() == Delimiter::Brace =>
            {
                collect(members.stream(), found);
            }
            (TokenTree::Ident(name), [mark, TokenTree::Group(call), ..])
                if is_mark(mark, '!') && name != within && macros.contains_key(&name.to_string()) =>
            {
                called(macros, &name.to_string(), call.stream(), found);
            }
            (TokenTree::Group(group), _) => walk(macros, within, group.stream(), found),
            _ => {}
        }
    }
}

/// Adds the public methods of an `impl`.
fn collect(members: TokenStream, found: &mut Vec<Method>) {
    let tokens: Vec<_> = members.into_iter().collect();
    let mut docs = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match (token, &tokens[at + 1..]) {
            (TokenTree::Ident(word), [TokenTree::Ident(function), TokenTree::Ident(name), ..])
                if word == "pub" && function == "fn" =>
            {
                found.push(Method { name: name.to_string(), docs: std::mem::take(&mut docs) });
            }
            (TokenTree::Group(body), _) if body.delimiter() == Delimiter::Brace => docs.clear(),
            _ => docs.extend(doc(token)),
        }
    }
}

/// Returns the line of `[doc = "…"]`, which stands behind a `#`.
fn doc(token: &TokenTree) -> Option<String> {
    let TokenTree::Group(group) = token else { return None };
    let tokens: Vec<_> = group.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(doc), _, TokenTree::Literal(text)] if doc == "doc" => {
            syn::parse_str::<LitStr>(&text.to_string()).ok().map(|text| text.value())
        }
        _ => None,
    }
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setters_that_a_macro_writes_are_found_by_type() {
        let text = "
            macro_rules! shared {
                ($item:ident, $(#[$description:meta])+) => {
                    impl $item {
                        $(#[$description])+
                        pub fn description(self) {}
                        /// Sets the title.
                        #[must_use]
                        pub fn title(self) { inner(); }
                        fn inside(self) {}
                    }
                    impl Clone for $item { fn clone(&self) -> Self { $item } }
                };
            }
            macro_rules! both { ($($item:ident)*) => {$(
                impl $item { /// Sets the type. pub fn kind(self) {} }
                shared!($item, /// Says what it is.
                );
            )*}; }
            shared!(Tool, /// Says what it does.
            );
            both!(File Folder);";
        let text = text.replace("/// Sets the type. ", "#[doc = \" Sets the type.\"] ");
        let files = [SourceFile::parse("tool.rs", text).unwrap()];
        let of = |name: &str| {
            let found = methods(&files, name).into_iter();
            found.map(|method| format!("{}:{}", method.name, method.docs.join(" "))).collect::<Vec<_>>()
        };
        assert_eq!(of("Tool"), ["description: Says what it does.", "title: Sets the title."]);
        assert_eq!(of("File"), ["kind: Sets the type.", "description: Says what it is.", "title: Sets the title."]);
        assert_eq!(of("Folder"), of("File"));
        assert!(of("Other").is_empty());
    }
}
