//! The rule that layers import downwards only, and that imports name the module.

use super::declared::Layered;
use super::imports;
use crate::source::SourceFile;

/// Finds what is wrong in the library files of a crate.
pub(super) fn problems(files: &[SourceFile], layered: &Layered) -> Vec<String> {
    let modules: Vec<_> = files.iter().filter_map(|file| file.module.first()).collect();
    // The root declares modules and re-exports names; it imports nothing for itself.
    files.iter().filter(|file| !file.is_root()).flat_map(|file| problems_of_file(file, &modules, layered)).collect()
}

fn problems_of_file(file: &SourceFile, modules: &[&String], layered: &Layered) -> Vec<String> {
    let at = format!("crates/{}/src/{}", layered.name, file.path.display());
    let Some(own) = layered.rank(&file.module[0]) else {
        return vec![format!("{at}: the module {} is in no declared layer", file.module[0])];
    };
    let mut found = Vec::new();
    for import in imports::of_file(file) {
        let written = format!("crate::{}", import.join("::"));
        match import.first() {
            Some(module) if modules.contains(&module) => {
                if let Some(other) = layered.rank(module).filter(|other| *other < own) {
                    let (own, other) = (layered.layers[own].name, layered.layers[other].name);
                    found.push(format!("{at}: {own} imports {written} from {other}, which lies above"));
                }
            }
            _ => found.push(format!("{at}: {written} is what the root gives on; name the module that has it")),
        }
    }
    found.dedup();
    found
}

impl Layered {
    /// The layer that a module is in, counted from the top.
    fn rank(&self, module: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.modules.contains(&module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::declared::Layer;

    const SHOP: Layered = Layered {
        name: "shop",
        layers: &[
            Layer { name: "front", modules: &["till", "window"] },
            Layer { name: "store", modules: &["store"] },
            Layer { name: "support", modules: &["clock"] },
        ],
    };

    fn problems_of(files: &[(&str, &str)]) -> Vec<String> {
        let parse = |(path, text): &(&str, &str)| SourceFile::parse(path, (*text).to_owned()).expect("it is Rust");
        problems(&files.iter().map(parse).collect::<Vec<_>>(), &SHOP)
    }

    #[test]
    fn downwards_and_sideways_is_as_declared() {
        let files = [
            ("lib.rs", "mod till; mod window; mod store; mod clock; pub use till::Till;"),
            ("till.rs", "use crate::window::Pane; use crate::store::Shelf; fn f() { crate::clock::now() }"),
            ("window.rs", "use super::till::Till;"),
            ("store.rs", "mod shelf; use shelf::Shelf; use crate::clock::Clock;"),
            ("store/shelf.rs", "use super::Store; use crate::store::Box; #[cfg(test)] mod tests { use crate::Till; }"),
            ("clock.rs", "use std::time;"),
        ];
        assert_eq!(problems_of(&files), Vec::<String>::new());
    }

    #[test]
    fn an_import_from_above_is_told_however_it_is_written() {
        let expected = ["crates/shop/src/clock.rs: support imports crate::store::Shelf from store, which lies above"];
        for text in [
            "use crate::store::Shelf;",
            "use super::{store::Shelf};",
            "fn f(shelf: &crate::store::Shelf) {}",
            "fn f() { vec![crate::store::Shelf] }",
        ] {
            assert_eq!(problems_of(&[("clock.rs", text), ("store.rs", "")]), expected, "{text}");
        }
        let deep = [("store/shelf.rs", "use super::super::till::Till;"), ("till.rs", "")];
        let expected = ["crates/shop/src/store/shelf.rs: store imports crate::till::Till from front, which lies above"];
        assert_eq!(problems_of(&deep), expected);
    }

    #[test]
    fn what_the_root_gives_on_hides_its_layer_and_is_refused() {
        let expected = ["crates/shop/src/clock.rs: crate::Till is what the root gives on; name the module that has it"];
        assert_eq!(problems_of(&[("clock.rs", "use crate::Till;"), ("till.rs", "")]), expected);
        assert_eq!(problems_of(&[("clock.rs", "fn f() { super::Till::new() }"), ("till.rs", "")]).len(), 1);
    }

    #[test]
    fn a_new_module_needs_a_layer() {
        let expected = ["crates/shop/src/cellar/door.rs: the module cellar is in no declared layer"];
        assert_eq!(problems_of(&[("cellar/door.rs", "")]), expected);
    }
}
