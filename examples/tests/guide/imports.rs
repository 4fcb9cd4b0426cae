//! The list of `use` lines at the end of a page is complete: with the prelude and the list, a reader can compile the
//! page's blocks.
//!
//! Most blocks use what the reader's own program has, so they do not compile alone. Each stands in a file that does, and
//! that file says where a name comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, UseTree};

use crate::page::{self, Block, Page};

/// The pages with such a list.
const PAGES: [&str; 2] = ["GUIDE.md", "guide/SERVERS.md"];

/// Types that a list may leave out although its page names them. Each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("Builder", "a program gets it from `Server::builder`, and does not name it"),
    ("Conversation", "a program gets it from a call, and need not name it"),
    ("Flows", "of mrtr-rmcp, as its section says"),
    ("PostgresStore", "its feature is not among those of the pages"),
    ("Required", "a variant of `TaskPolicy`, which another type is named like"),
];

/// The crates whose names a list must have. The page says which other crates a block needs.
const LISTED: [&str; 3] = ["mrtr", "std", "tokio"];

/// Blocks of programs that use this crate have sections of their own, which a list leaves out.
const OTHER_SDK: &str = "mrtr_rmcp";

#[test]
fn a_list_has_each_name_that_the_blocks_of_its_page_take_from_elsewhere() {
    let prelude = imports(&prelude());
    let sources = sources();
    let mut missing = BTreeSet::new();
    for page in pages() {
        let list = list(page);
        for block in blocks(page) {
            let bare = page::without_layout(block.text);
            let Some((_, imported)) = sources.iter().find(|(source, _)| source.contains(&bare)) else { continue };
            if imported.values().any(|root| root == OTHER_SDK) {
                continue;
            }
            let own = imports(block.text);
            for name in words(block.text.parse().expect("it is Rust")) {
                let Some(root) = imported.get(&name).filter(|root| LISTED.contains(&root.as_str())) else { continue };
                if ![&prelude, &list, &own].iter().any(|names| names.contains_key(&name)) {
                    missing.insert(format!("docs/{}:{}: `{name}`, of {root}", page.path, block.line));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no list has\n{}", missing.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_list_has_each_type_that_its_page_names_in_a_sentence() {
    let (prelude, types) = (imports(&prelude()), public_types());
    let mut missing = BTreeSet::new();
    for page in pages() {
        let list = list(page);
        let own: BTreeSet<_> = blocks(page).flat_map(|block| imports(block.text).into_keys()).collect();
        for (number, name) in named(page.text) {
            let is_here = prelude.contains_key(name) || list.contains_key(name) || own.contains(name);
            let is_left_out = LEFT_OUT.iter().any(|(left_out, _)| *left_out == name);
            if types.contains(name) && !is_here && !is_left_out {
                missing.insert(format!("docs/{}:{number}: `{name}`", page.path));
            }
        }
    }
    assert!(missing.is_empty(), "no list has\n{}", missing.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_list_has_no_name_that_its_page_does_not_use() {
    let prelude = imports(&prelude());
    for page in pages() {
        let list = list(page);
        let in_blocks =
            blocks(page).filter(|block| !is_list(block)).map(|block| block.text.parse().expect("it is Rust"));
        let in_sentences = named(page.text).map(|(_, name)| name.to_owned());
        let used: BTreeSet<_> = in_blocks.flat_map(words).chain(in_sentences).collect();
        let idle: Vec<_> = list.keys().filter(|name| !used.contains(*name)).collect();
        assert!(idle.is_empty(), "docs/{}: {idle:?}", page.path);
        let twice: Vec<_> = list.keys().filter(|name| prelude.contains_key(*name)).collect();
        assert!(twice.is_empty(), "docs/{}: the prelude has {twice:?}", page.path);
    }
}

fn pages() -> impl Iterator<Item = Page> {
    page::PAGES.into_iter().filter(|page| PAGES.contains(&page.path))
}

fn blocks(page: Page) -> impl Iterator<Item = Block> {
    page::blocks("rust").filter(move |block| block.page.path == page.path)
}

/// The names that the list of a page brings in.
fn list(page: Page) -> BTreeMap<String, String> {
    let mut lists = blocks(page).filter(is_list);
    let list = lists.next().unwrap_or_else(|| panic!("docs/{}: there is no list", page.path));
    assert!(lists.next().is_none(), "docs/{}: there are two lists", page.path);
    imports(list.text)
}

/// Returns true for a block of `use` lines alone.
fn is_list(block: &Block) -> bool {
    let items = syn::parse_file(block.text).map(|file| file.items).unwrap_or_default();
    !items.is_empty() && items.iter().all(|item| matches!(item, Item::Use(_)))
}

/// The names that the `use` lines of a text bring in, each with the crate that it comes from. A text that is no whole
/// file, such as a few statements, brings in none.
fn imports(rust: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    read_items(syn::parse_file(rust).map(|file| file.items).unwrap_or_default(), &mut names);
    names
}

fn read_items(items: Vec<Item>, names: &mut BTreeMap<String, String>) {
    for item in items {
        match item {
            Item::Use(item) => read_use(&item.tree, &[], names),
            Item::Mod(item) => read_items(item.content.map(|(_, items)| items).unwrap_or_default(), names),
            _ => {}
        }
    }
}

/// Reads the end of a `use` line, behind this path.
fn read_use(tree: &UseTree, path: &[String], names: &mut BTreeMap<String, String>) {
    let mut brings = |name: String| {
        let root = path.first().unwrap_or(&name).clone();
        names.insert(name, root);
    };
    match tree {
        UseTree::Path(part) => {
            let longer: Vec<_> = path.iter().cloned().chain([part.ident.to_string()]).collect();
            read_use(&part.tree, &longer, names);
        }
        UseTree::Name(name) if name.ident == "self" => path.last().cloned().into_iter().for_each(brings),
        UseTree::Name(name) => brings(name.ident.to_string()),
        UseTree::Rename(name) => brings(name.rename.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| read_use(tree, path, names)),
        UseTree::Glob(_) => {}
    }
}

/// The words of a block that may be imported names: not members, and not parts of a path behind its first.
fn words(tokens: TokenStream) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut before = [' ', ' '];
    for token in tokens {
        let is_member = before == [':', ':'] || (before[1] == '.' && before[0] != '.');
        before = [before[1], ' '];
        match token {
            TokenTree::Group(group) => words.extend(self::words(group.stream())),
            TokenTree::Ident(word) if !is_member => drop(words.insert(word.to_string())),
            TokenTree::Punct(sign) => before[1] = sign.as_char(),
            TokenTree::Ident(_) | TokenTree::Literal(_) => {}
        }
    }
    words
}

/// The names of types in the sentences and tables of a page, in `code`, with their lines.
fn named(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut is_block, mut is_of_other_sdk) = (false, false);
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.starts_with("```");
        is_block ^= is_fence;
        // A section about another SDK names its types.
        if !is_block && line.starts_with('#') {
            is_of_other_sdk = line.contains("rmcp");
        }
        !is_block && !is_fence && !is_of_other_sdk
    });
    let codes = lines.flat_map(|(at, line)| line.split('`').skip(1).step_by(2).map(move |code| (at + 1, code)));
    codes.flat_map(|(number, code)| {
        let is_sign = |letter: char| !letter.is_alphanumeric() && letter != '_';
        // What follows a dot or a colon is a member.
        let names = code.split_inclusive(is_sign).scan(' ', move |before, word| {
            let name = word.trim_end_matches(is_sign);
            let is_first = !['.', ':'].contains(&std::mem::replace(before, word.chars().last().unwrap_or(' ')));
            Some((number, if is_first { name } else { "" }))
        });
        names.filter(|(_, name)| name.starts_with(char::is_uppercase))
    })
}

fn prelude() -> String {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/mrtr/src/prelude.rs"))
}

/// The files that blocks stand in, without their layout, and what each imports.
fn sources() -> Vec<(String, BTreeMap<String, String>)> {
    page::sources().into_iter().map(|(path, bare)| (bare, imports(&read(Path::new(&path))))).collect()
}

/// The names of all public types and traits of our crates.
fn public_types() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let source = page::rust_below(&crates);
    let declared = source.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ")?;
        let name = ["struct ", "enum ", "trait "].iter().find_map(|kind| line.strip_prefix(kind))?;
        name.split(|letter: char| !letter.is_alphanumeric()).next()
    });
    declared.map(str::to_owned).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
