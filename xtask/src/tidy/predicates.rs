//! The rule that a function named like a question changes nothing.

use syn::visit::{self, Visit};
use syn::{FnArg, ReceiverKind, Signature, Type};

use super::Crate;
use crate::source::SourceFile;

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let files = crates.iter().flat_map(|found| found.files.iter().map(|file| (&found.name, file)));
    let found = files.flat_map(|(name, file)| changing(file).into_iter().map(move |function| (name, file, function)));
    found
        .map(|(name, file, function)| {
            format!("crates/{name}/src/{}: `{function}` takes `&mut self`: name it by a verb", file.path.display())
        })
        .collect()
}

/// The functions of a file that are named like a question and take `&mut self`.
fn changing(file: &SourceFile) -> Vec<String> {
    let mut changing = Changing(Vec::new());
    changing.visit_file(&file.syntax);
    changing.0
}

struct Changing(Vec<String>);

impl<'a> Visit<'a> for Changing {
    fn visit_signature(&mut self, signature: &'a Signature) {
        let name = signature.ident.to_string();
        if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && changes_self(signature) {
            self.0.push(name);
        }
        visit::visit_signature(self, signature);
    }
}

fn changes_self(signature: &Signature) -> bool {
    let Some(FnArg::Receiver(receiver)) = signature.inputs.first() else { return false };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_some(),
        ReceiverKind::Typed(_, of) => matches!(&**of, Type::Reference(of) if of.mutability.is_some()),
        _ => false,
    }
}

const PREFIXES: [&str; 3] = ["is_", "has_", "are_"];

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_in(text: &str) -> Vec<String> {
        let file = SourceFile::parse("a.rs", text.to_owned()).expect("it is Rust");
        problems(&[Crate { name: "shop".to_owned(), files: vec![file] }])
    }

    #[test]
    fn a_question_that_may_change_what_it_is_put_to_is_told() {
        let text = "impl S { fn is_open(&mut self) -> bool { f() } }
            trait T { async fn has_room(self: &mut Self); } mod m { impl S { fn are_in(&'a mut self) {} } }";
        let told = ["is_open", "has_room", "are_in"]
            .map(|name| format!("crates/shop/src/a.rs: `{name}` takes `&mut self`: name it by a verb"));
        assert_eq!(problems_in(text), told);
    }

    #[test]
    fn questions_that_only_look_and_verbs_that_change_may() {
        let text = "impl S { fn is_open(&self) {} fn open(&mut self) {} fn has(self) {} fn island(&mut self) {} }
            fn is_in(list: &mut S) {}";
        assert_eq!(problems_in(text), Vec::<String>::new());
    }
}
