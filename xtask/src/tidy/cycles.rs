//! The rule that import cycles between the modules at a crate's root do not grow.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::declared::LARGEST_CYCLE;
use super::{Crate, imports};
use crate::source::{SourceFile, used_names};

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    crates.iter().filter_map(|found| problem(&found.name, &found.files, &LARGEST_CYCLE)).collect()
}

fn problem(name: &str, files: &[SourceFile], limits: &[(&str, usize)]) -> Option<String> {
    let Some((_, limit)) = limits.iter().find(|(limited, _)| *limited == name) else {
        return Some(format!("{name}: no largest import cycle is declared"));
    };
    let cycle = largest(files);
    (cycle.len() > *limit).then(|| {
        let names = cycle.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        format!("{name}: {} modules import each other in a circle, and at most {limit} may: {names}", cycle.len())
    })
}

/// The most modules at the root that each import all others, directly or not. One alone is no cycle.
pub(super) fn largest(files: &[SourceFile]) -> BTreeSet<String> {
    let graph = graph(files);
    let reached: BTreeMap<_, _> = graph.keys().map(|module| (module, reachable(module, &graph))).collect();
    let cycles = graph.keys().map(|module| {
        let back = reached[module].iter().filter(|other| reached.get(other).is_some_and(|from| from.contains(module)));
        back.chain([module]).cloned().collect::<BTreeSet<_>>()
    });
    cycles.max_by_key(BTreeSet::len).unwrap_or_default()
}

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules at the root, each with the others that it imports.
fn graph(files: &[SourceFile]) -> Graph {
    let mut graph: Graph =
        files.iter().filter_map(|file| file.module.first()).map(|top| (top.clone(), BTreeSet::new())).collect();
    let given_on = given_on(files);
    for file in files {
        let Some(top) = file.module.first() else { continue };
        let firsts = imports::of_file(file).into_iter().filter_map(|import| import.into_iter().next());
        let others: Vec<_> = firsts.map(|first| given_on.get(&first).cloned().unwrap_or(first)).collect();
        let others = others.into_iter().filter(|other| other != top && graph.contains_key(other)).collect::<Vec<_>>();
        graph.entry(top.clone()).or_default().extend(others);
    }
    graph
}

/// The names that the root re-exports, and the module of each. It does not follow globs.
fn given_on(files: &[SourceFile]) -> BTreeMap<String, String> {
    let items = files.iter().filter(|file| file.is_root()).flat_map(|file| &file.syntax.items);
    let uses = items.filter_map(|item| match item {
        Item::Use(item) => Some(used_names(&item.tree)),
        _ => None,
    });
    let names = uses.flatten().filter_map(|used| {
        let module = used.path.iter().find(|segment| !matches!(segment.as_str(), "crate" | "self"))?;
        Some((used.name?, module.clone()))
    });
    names.collect()
}

fn reachable(from: &str, graph: &Graph) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from];
    while let Some(module) = left.pop() {
        let next = graph.get(module).into_iter().flatten();
        left.extend(next.filter(|next| reached.insert((*next).clone())).map(String::as_str));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<SourceFile> {
        let parse = |(path, text): &(&str, &str)| SourceFile::parse(path, (*text).to_owned()).expect("it is Rust");
        files.iter().map(parse).collect()
    }

    #[test]
    fn a_cycle_is_found_also_through_the_root_and_from_within_a_module() {
        let files = files(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use c::C;"),
            ("a.rs", "use crate::b::B;"),
            ("b/inner.rs", "use crate::C;"),
            ("c.rs", "use super::a::A; use crate::d::D;"),
            ("d.rs", "use self::e::E;"),
        ]);
        assert_eq!(largest(&files).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        let expected = "shop: 3 modules import each other in a circle, and at most 2 may: a, b, c";
        assert_eq!(problem("shop", &files, &[("shop", 2)]).as_deref(), Some(expected));
        assert_eq!(problem("shop", &files, &[("shop", 3)]), None);
    }

    #[test]
    fn without_a_cycle_the_largest_is_one_and_a_new_crate_is_told() {
        let files = files(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")]);
        assert_eq!(largest(&files).len(), 1);
        assert_eq!(problem("shop", &files, &[("shop", 1)]), None);
        assert_eq!(problem("shop", &files, &[]).as_deref(), Some("shop: no largest import cycle is declared"));
    }
}
