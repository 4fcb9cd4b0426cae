//! A type inside a type with `#[data]`, in the ways in which it can be there, and none of them has it.

use mrtr::prelude::*;

enum Weeks {
    Two,
    Four,
}

struct Copy {
    shelf: u32,
}

#[data]
struct Loan {
    isbn: String,
    weeks: Weeks,
}

#[data]
struct Shelf {
    copies: std::collections::BTreeMap<String, Vec<Option<Copy>>>,
}

fn main() {}
