//! The imports of a file's library code from its own crate, in a `use` or by a path in code.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemMod, ItemUse, Macro, Meta, Path, VisRestricted};

use crate::source::{self, SourceFile, from_root, used_names};

/// Lists the imports, each as a path from the root of the crate. Tests and comments do not count.
pub(super) fn of_file(file: &SourceFile) -> Vec<Vec<String>> {
    starting_with(STARTS.map(str::to_owned).to_vec(), file)
}

/// Returns the paths of [`of_file`], and those that begin with a module below the file.
pub(super) fn with_children(file: &SourceFile) -> Vec<Vec<String>> {
    let modules = file.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(item) if item.content.is_none() => Some(item.ident.to_string()),
        _ => None,
    });
    starting_with(modules.chain(STARTS.map(str::to_owned)).collect(), file)
}

fn starting_with(starts: Vec<String>, file: &SourceFile) -> Vec<Vec<String>> {
    let mut imports = Imports { starts, module: file.module.clone(), found: Vec::new() };
    imports.visit_file(&file.syntax);
    imports.found
}

struct Imports {
    /// The first segments of the paths to report.
    starts: Vec<String>,
    /// The module of the code, which may be one inside the file.
    module: Vec<String>,
    found: Vec<Vec<String>>,
}

impl Imports {
    /// Takes a path of this crate; those of others, and names that a `use` has brought in, are no imports.
    fn note(&mut self, path: &[String]) {
        if path.len() > 1 && path.first().is_some_and(|first| self.starts.contains(first)) {
            self.found.push(from_root(path, &self.module));
        }
    }

    /// Finds paths in the tokens of a macro as `crate`, `::` and a name: they are no syntax yet.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(first) if self.starts.iter().any(|start| first == start) => {
                    self.note(&path_at(&tokens[at..]));
                }
                _ => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Imports {
    fn visit_item(&mut self, item: &'a Item) {
        if !source::is_marked(source::attributes(item), "cfg", "test") {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !source::is_marked(&item.attrs, "cfg", "test") {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        for used in used_names(&item.tree) {
            // A glob brings in names that are unknown here; `*` stands for them.
            let glob = used.name.is_none().then(|| "*".to_owned());
            self.note(&used.path.into_iter().chain(glob).collect::<Vec<_>>());
        }
    }

    fn visit_path(&mut self, path: &'a Path) {
        self.note(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        visit::visit_macro(self, call);
        self.scan(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
        }
    }

    /// `pub(in crate::flow)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'a VisRestricted) {}
}

/// The path that these tokens begin with.
fn path_at(tokens: &[TokenTree]) -> Vec<String> {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(name), after @ ..] = rest {
        path.push(name.to_string());
        let [one, other, next @ ..] = after else { break };
        if !is_colon(one) || !is_colon(other) {
            break;
        }
        rest = next;
    }
    path
}

const STARTS: [&str; 3] = ["crate", "self", "super"];

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile::parse(path, text.to_owned()).expect("it is Rust");
        of_file(&file).into_iter().map(|import| import.join("::")).collect()
    }

    #[test]
    fn a_use_imports_each_of_its_names() {
        let text = "use crate::{journal::{Asked, Entry as Line}, Name}; use super::run; use std::fs; use crate::x::*;";
        let expected = ["journal::Asked", "journal::Entry", "Name", "run", "x::*"];
        assert_eq!(imports("flow.rs", text), expected);
    }

    #[test]
    fn a_path_in_code_imports_too() {
        let text = "
            #[wire(when = crate::feature::A)]
            pub(in crate::nothing) struct S(super::super::a::T);
            impl crate::b::B for S {}
            fn f() { crate::c::g::<self::d::D>(); format!(\"{}\", crate::e::E); std::fs::read(); }
            macro_rules! m { () => { $crate::h::H } }";
        let expected = ["feature::A", "a::T", "b::B", "c::g", "flow::ask::d::D", "e::E", "h::H"];
        assert_eq!(imports("flow/ask.rs", text), expected);
    }

    #[test]
    fn tests_and_comments_import_nothing() {
        let text = "
            //! See [`crate::server::Server`].
            /// ```\n/// use crate::server::Server;\n/// ```
            mod inner { use super::sibling; }
            #[cfg(test)] use crate::server::A;
            #[cfg(test)] mod tests { use crate::server::B; }
            impl S { #[cfg(test)] fn f() { crate::server::C } }";
        assert_eq!(imports("flow.rs", text), ["flow::sibling"]);
    }
}
