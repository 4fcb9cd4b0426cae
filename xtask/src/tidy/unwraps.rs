//! The rule that library code never unwraps: an `expect` states its invariant instead.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ExprMethodCall, ImplItemFn, Item, Macro};

use super::Crate;
use crate::source::{self, SourceFile};

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let files = crates.iter().flat_map(|found| found.files.iter().map(|file| (&found.name, file)));
    let counts = files.map(|(name, file)| (name, file, unwraps(file))).filter(|(_, _, count)| *count > 0);
    counts
        .map(|(name, file, count)| format!("crates/{name}/src/{}: {count} × .unwrap()", file.path.display()))
        .collect()
}

/// Counts the unwraps in the library code of a file. Tests and comments do not count.
fn unwraps(file: &SourceFile) -> usize {
    let mut unwraps = Unwraps(0);
    unwraps.visit_file(&file.syntax);
    unwraps.0
}

struct Unwraps(usize);

impl<'a> Visit<'a> for Unwraps {
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

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        self.0 += usize::from(call.method == "unwrap");
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.0 += in_tokens(call.tokens.clone());
    }
}

/// Finds calls in the tokens of a macro as a dot, the name and parentheses: they are no syntax yet.
fn in_tokens(tokens: TokenStream) -> usize {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let groups = tokens.iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(in_tokens(group.stream())),
        _ => None,
    });
    groups.sum::<usize>() + tokens.windows(3).filter(|window| is_unwrap(window)).count()
}

fn is_unwrap(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(dot), TokenTree::Ident(name), TokenTree::Group(arguments)] = tokens else { return false };
    dot.as_char() == '.' && name == "unwrap" && arguments.delimiter() == Delimiter::Parenthesis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_in(text: &str) -> Vec<String> {
        let file = SourceFile::parse("a.rs", text.to_owned()).expect("it is Rust");
        problems(&[Crate { name: "shop".to_owned(), files: vec![file] }])
    }

    #[test]
    fn an_unwrap_in_library_code_is_told() {
        let text = "fn f() { g().unwrap(); format!(\"{}\", h().unwrap()) } impl S { fn i() { (|| j().unwrap())() } }";
        assert_eq!(problems_in(text), ["crates/shop/src/a.rs: 3 × .unwrap()"]);
    }

    #[test]
    fn tests_examples_and_other_names_may() {
        let text = "
            /// ```\n/// f().unwrap();\n/// ```
            fn f() { g().unwrap_or_default(); unwrap(); }
            #[cfg(test)] mod tests { fn f() { g().unwrap() } }
            #[cfg(test)] fn h() { g().unwrap() }";
        assert_eq!(problems_in(text), Vec::<String>::new());
    }
}
