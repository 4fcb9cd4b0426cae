//! No named wire type is left out of the registry, whatever file it stands in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mrtr_schema::registry::{TypeVisitor, visit_types};
use mrtr_schema::{Revision, Wire};

#[test]
fn every_named_wire_type_is_in_the_registry() {
    let registered = registered();
    let named = named_in_sources();
    assert!(named.len() > 100, "the sources were read: {}", named.len());
    let left_out: Vec<_> = named.difference(&registered).collect();
    assert!(
        left_out.is_empty(),
        "enter these in registry.rs, or no schema, example or property test has them: {left_out:#?}"
    );
}

/// The types that the registry shows, each by its module and its name.
fn registered() -> BTreeSet<String> {
    struct Paths(BTreeSet<String>);

    impl TypeVisitor for Paths {
        fn visit<T: Wire>(&mut self, _: &'static str) {
            self.0.extend(std::any::type_name::<T>().strip_prefix("mrtr_schema::").map(str::to_owned));
        }
    }

    let mut paths = Paths(BTreeSet::new());
    for revision in Revision::ALL {
        visit_types(revision, &mut paths);
    }
    paths.0
}

/// The types to which the sources give a name of the specification, each by its module and its name.
fn named_in_sources() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut named = BTreeSet::new();
    for file in rust_files(&root) {
        let module = file.strip_prefix(&root).expect("it stands below").with_extension("");
        let module = module.to_str().expect("names of files are text").replace(['/', '\\'], "::");
        let text = fs::read_to_string(&file).expect("a source can be read");
        named.extend(named_in(&text).into_iter().map(|name| format!("{module}::{name}")));
    }
    named
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder can be read").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| rust_files(folder));
    files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")).chain(below).collect()
}

/// The public types of one file that have a name: by the derive's attribute, by a constant, or by a macro that takes
/// it.
fn named_in(source: &str) -> Vec<&str> {
    let lines: Vec<_> = source.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let mut named = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("#[wire(name = ") {
            named.extend(lines[index..].iter().find(|line| is_declaration(line)).and_then(|line| declared(line)));
        } else if line.strip_prefix("const NAME: Option<&'static str> = ").is_some_and(|name| name != "None;") {
            named.extend(
                lines[..index].iter().rev().find(|line| line.starts_with("impl")).and_then(|line| named_by(line)),
            );
        } else {
            named.extend(named_by_macro(line));
        }
    }
    named
}

fn is_declaration(line: &str) -> bool {
    ["pub struct ", "pub enum ", "struct ", "enum "].iter().any(|start| line.starts_with(start))
}

/// The public type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let name = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
    name.split(|letter: char| !letter.is_alphanumeric()).next()
}

/// The type for which a line begins to implement `Wire`. Generic ones are shown with what they are made of, by the
/// tables of methods and of errors.
fn named_by(line: &str) -> Option<&str> {
    line.strip_prefix("impl Wire for ")?.strip_suffix(" {").filter(|name| !name.starts_with('$'))
}

/// The type that a line gives to a macro together with its name.
fn named_by_macro(line: &str) -> Option<&str> {
    let arguments = line.strip_prefix("keyed_map!(").or_else(|| line.strip_prefix("task_with!("))?;
    arguments.split(',').next()
}
