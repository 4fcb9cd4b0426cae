//! The rule that code has nothing newer than the minimum supported Rust version that clippy does not find: `if let` in
//! match guards is stable only since Rust 1.95.

use syn::visit::{self, Visit};
use syn::{Expr, PatGuard};

use super::Crate;

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let files = crates.iter().flat_map(|found| found.files.iter().map(move |file| (&found.name, file)));
    let found = files.filter(|(_, file)| has_let_guard(&file.syntax));
    found
        .map(|(name, file)| {
            format!(
                "{name}: src/{}: `if let` in a match guard needs Rust 1.95; put it into the arm",
                file.path.display()
            )
        })
        .collect()
}

fn has_let_guard(file: &syn::File) -> bool {
    let mut guards = Guards { have_let: false };
    guards.visit_file(file);
    guards.have_let
}

struct Guards {
    have_let: bool,
}

impl<'f> Visit<'f> for Guards {
    fn visit_pat_guard(&mut self, guarded: &'f PatGuard) {
        self.have_let |= begins_with_let(&guarded.guard);
        visit::visit_pat_guard(self, guarded);
    }
}

/// Returns true for `let …`, also as a member of a chain.
fn begins_with_let(guard: &Expr) -> bool {
    match guard {
        Expr::Let(_) => true,
        Expr::Binary(chain) => begins_with_let(&chain.left) || begins_with_let(&chain.right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_with_a_let_is_told() {
        let has = |guard: &str| {
            let text = format!("fn f() {{ match a {{ b {guard} => 1, _ => 2 }} }}");
            has_let_guard(&syn::parse_file(&text).expect("it is Rust"))
        };
        assert!(has("if let Some(c) = d"));
        assert!(has("if e && let Some(c) = d"));
        assert!(!has("if e") && !has(""));
        let chain = syn::parse_file("fn f() { if a && let Some(b) = c {} }").expect("it is Rust");
        assert!(!has_let_guard(&chain), "chains are stable since 1.88");
    }
}
