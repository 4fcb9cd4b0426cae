//! The rules of published packages: what a registry's page shows is there, and an archive needs nothing outside of it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::TokenTree;
use syn::{Attribute, Expr, Meta};

use super::declared::CATEGORIES;
use crate::source::SourceFile;
use crate::workspace::{Metadata, Package, cargo_command, root};

pub(super) fn problems(metadata: &Metadata) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for package in metadata.published() {
        let archive = Archive::list(package)?;
        let of_package =
            [facts(package), licences(&archive)?, front_page(package, &archive)?, outside(package, &archive)];
        problems.extend(of_package.concat().into_iter().map(|problem| format!("{}: {problem}", package.name)));
    }
    Ok(problems)
}

/// The files that an archive will have.
struct Archive {
    folder: PathBuf,
    /// The paths from the package's folder.
    files: Vec<PathBuf>,
}

impl Archive {
    fn list(package: &Package) -> Result<Self> {
        let mut cargo = cargo_command();
        cargo.args(["package", "--list", "--allow-dirty", "--offline", "--package", &package.name]);
        let output = cargo.output().context("could not start `cargo package`")?;
        if !output.status.success() {
            bail!("`cargo package --list` failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?.to_owned();
        Ok(Self { folder, files: String::from_utf8(output.stdout)?.lines().map(PathBuf::from).collect() })
    }

    fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file == Path::new(path))
    }

    /// The text files of these endings. Cargo writes some files itself; they are not there yet.
    fn texts(&self, extension: &str) -> impl Iterator<Item = (&Path, String)> {
        let files = self.files.iter().filter(move |file| file.extension().is_some_and(|found| found == extension));
        files.filter_map(|file| Some((file.as_path(), fs::read_to_string(self.folder.join(file)).ok()?)))
    }
}

/// Checks what a registry shows, and what docs.rs builds.
fn facts(package: &Package) -> Vec<String> {
    let Package { description, keywords, categories, readme, metadata, .. } = package;
    let mut problems = Vec::new();
    let mut check = |holds: bool, problem: &str| {
        if !holds {
            problems.push(problem.to_owned());
        }
    };
    check(description.as_ref().is_some_and(|text| !text.is_empty()), "no `description`");
    check(readme.is_some(), "no `readme`");
    check((1..=5).contains(&keywords.len()), "`keywords` must be one to five");
    check(keywords.iter().all(|keyword| is_keyword(keyword)), "a keyword is not one that crates.io takes");
    check((1..=5).contains(&categories.len()), "`categories` must be one to five");
    check(
        categories.iter().all(|category| CATEGORIES.contains(&category.as_str())),
        "a category is not in CATEGORIES of declared.rs; see crates.io/category_slugs",
    );
    if has_library(package) {
        let docs = &metadata["docs"]["rs"];
        check(docs["all-features"] == true, "`[package.metadata.docs.rs]` lacks `all-features = true`");
        check(
            docs["rustdoc-args"] == serde_json::json!(["--cfg", "docsrs"]),
            "`[package.metadata.docs.rs]` lacks `rustdoc-args = [\"--cfg\", \"docsrs\"]`",
        );
    }
    problems
}

fn has_library(package: &Package) -> bool {
    package.manifest_path.with_file_name("src").join("lib.rs").is_file()
}

/// Returns true for what crates.io takes as a keyword.
fn is_keyword(keyword: &str) -> bool {
    let begins = keyword.starts_with(|first: char| first.is_ascii_alphanumeric());
    let is_plain = keyword.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+".contains(letter));
    begins && is_plain && keyword.len() <= 20
}

/// Checks that the archive has both licences, word for word.
fn licences(archive: &Archive) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text = fs::read_to_string(root().join(name)).with_context(|| format!("{name} cannot be read"))?;
        let own = fs::read_to_string(archive.folder.join(name)).ok();
        if !archive.has(name) || own != Some(text) {
            problems.push(format!("its archive lacks {name}; link to the one at the root"));
        }
    }
    Ok(problems)
}

/// Checks that the front page on docs.rs shows a program, also with default features, and names features beside items.
fn front_page(package: &Package, archive: &Archive) -> Result<Vec<String>> {
    if !has_library(package) {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(archive.folder.join("src/lib.rs"))?;
    let attributes = SourceFile::parse("lib.rs", text)?.syntax.attrs;
    let readme = fs::read_to_string(archive.folder.join("README.md")).unwrap_or_default();
    let mut problems = Vec::new();
    let needed = attributes.iter().find_map(features_of_readme);
    match needed {
        None => problems.push("lib.rs does not take in README.md".to_owned()),
        Some(features) if !package.has_by_default(&features) => {
            problems.push(format!("the front page needs {features:?}, which are not all on by default"));
        }
        Some(_) => {}
    }
    if !shows_program(&readme) {
        problems.push("README.md shows no program".to_owned());
    }
    let says_features = attributes.iter().any(|attribute| tokens(attribute) == ["docsrs", "feature", "doc_cfg"]);
    if package.features.keys().any(|feature| feature != "default") && !says_features {
        problems.push("lib.rs lacks `#![cfg_attr(docsrs, feature(doc_cfg))]`".to_owned());
    }
    Ok(problems)
}

/// Returns the features without which an attribute does not take in the README; `None` for another attribute.
fn features_of_readme(attribute: &Attribute) -> Option<Vec<String>> {
    if let Meta::NameValue(pair) = &attribute.meta {
        let Expr::Macro(included) = &pair.value else { return None };
        let is_readme = included.mac.tokens.to_string() == README;
        return (pair.path.is_ident("doc") && is_readme).then(Vec::new);
    }
    let words = tokens(attribute);
    let rest = words.strip_prefix(&["all".to_owned()][..]).unwrap_or(&words);
    let at = rest.iter().position(|word| word == "doc")?;
    let (condition, doc) = rest.split_at(at);
    let is_readme = attribute.path().is_ident("cfg_attr") && doc == ["doc", "include_str", README];
    // A README whose program another stage compiles is still the front page.
    let features = condition.strip_prefix(&["not".to_owned(), "doctest".to_owned()]).unwrap_or(condition);
    let named = features.chunks(2).map(|pair| match pair {
        [word, name] if word == "feature" => Some(name.trim_matches('"').to_owned()),
        _ => None,
    });
    if is_readme { named.collect() } else { None }
}

const README: &str = "\"../README.md\"";

/// The words and texts of an attribute's list, without its punctuation.
fn tokens(attribute: &Attribute) -> Vec<String> {
    fn flatten(stream: proc_macro2::TokenStream, found: &mut Vec<String>) {
        for token in stream {
            match token {
                TokenTree::Group(group) => flatten(group.stream(), found),
                TokenTree::Punct(_) => {}
                word => found.push(word.to_string()),
            }
        }
    }
    let mut found = Vec::new();
    if let Meta::List(list) = &attribute.meta {
        flatten(list.tokens.clone(), &mut found);
    }
    found
}

/// Returns true if a page has a block of Rust that is compiled.
fn shows_program(page: &str) -> bool {
    let heads = page.lines().filter_map(|line| line.strip_prefix("```rust"));
    heads.into_iter().any(|head| !head.contains("ignore"))
}

/// Finds what an archive's files need from outside: files, packages that the archive's manifest leaves out, and pages
/// that a link finds only in the repository.
fn outside(package: &Package, archive: &Archive) -> Vec<String> {
    let mut problems = Vec::new();
    let left_out = package.dependencies.iter().filter(|dependency| dependency.is_left_out_of_archives());
    let left_out = left_out.map(|dependency| dependency.name.replace('-', "_")).collect::<Vec<_>>();
    let own = package.name.replace('-', "_");
    for (path, text) in archive.texts("rs") {
        for (number, line) in (1..).zip(text.lines()) {
            let at = format!("{}:{number}", path.display());
            if leaves(path, line) {
                problems.push(format!("{at}: a file outside of the package; put the test under `exclude`"));
            }
            let used = left_out.iter().find(|name| **name != own && line.contains(&format!("{name}::")));
            if let Some(name) = used {
                problems.push(format!(
                    "{at}: {name}, which the archive's manifest leaves out; put the test under `exclude`"
                ));
            }
        }
    }
    for (path, text) in archive.texts("md") {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        for link in
            links.filter(|link| !["https://", "#"].iter().any(|begin| link.starts_with(begin)) && !link.contains("::"))
        {
            problems.push(format!("{}: the link {link} leads nowhere outside of the repository", path.display()));
        }
    }
    problems
}

/// Returns true if a line takes in a file that lies outside of the package; `path` is that of the line's file there.
fn leaves(path: &Path, line: &str) -> bool {
    let from_root = line.contains("CARGO_MANIFEST_DIR");
    if !from_root && !["#[path", "include_str!", "include_bytes!", "include!"].iter().any(|word| line.contains(word)) {
        return false;
    }
    let folder = if from_root { Path::new("") } else { path.parent().unwrap_or(path) };
    line.split('"').skip(1).step_by(2).any(|text| {
        let mut depth = folder.components().count();
        Path::new(text.trim_start_matches('/')).components().any(|part| match part {
            Component::ParentDir if depth == 0 => true,
            Component::ParentDir => {
                depth -= 1;
                false
            }
            Component::Normal(_) => {
                depth += 1;
                false
            }
            _ => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_outside_of_the_package_is_told() {
        let told = |path: &str, line: &str| leaves(Path::new(path), line);
        assert!(told("tests/a.rs", "#[path = \"../../mrtr-state/tests/b.rs\"]"));
        assert!(told("tests/a/main.rs", "    include_str!(\"../../../README.md\"),"));
        assert!(told("tests/a/b.rs", "Path::new(env!(\"CARGO_MANIFEST_DIR\")).join(\"../schema\")"));
        assert!(told("tests/a.rs", "concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../x\")"));
        assert!(!told("tests/a/b.rs", "#[path = \"../../src/b.rs\"]"), "the package has it");
        assert!(!told("tests/a.rs", "assert_eq!(path, \"../../etc\");"), "no file is taken in");
    }

    fn attribute(text: &str) -> Attribute {
        let file = syn::parse_file(text).expect("it is Rust");
        file.attrs.into_iter().next().expect("it has an attribute")
    }

    #[test]
    fn a_front_page_needs_the_features_that_its_attribute_names() {
        let needed = |text: &str| features_of_readme(&attribute(text));
        assert_eq!(needed("#![doc = include_str!(\"../README.md\")]"), Some(Vec::new()));
        assert_eq!(
            needed("#![cfg_attr(all(feature = \"a\", feature = \"b\"), doc = include_str!(\"../README.md\"))]"),
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(
            needed("#![cfg_attr(feature = \"a\", doc = include_str!(\"../README.md\"))]"),
            Some(vec!["a".to_owned()])
        );
        assert_eq!(
            needed("#![cfg_attr(not(doctest), doc = include_str!(\"../README.md\"))]"),
            Some(Vec::new()),
            "another stage compiles its program"
        );
        for other in
            ["#![doc = \"A\"]", "#![doc = include_str!(\"../OTHER.md\")]", "#![cfg_attr(docsrs, feature(doc_cfg))]"]
        {
            assert_eq!(needed(other), None, "{other}");
        }
        assert_eq!(tokens(&attribute("#![cfg_attr(docsrs, feature(doc_cfg))]")), ["docsrs", "feature", "doc_cfg"]);
    }

    #[test]
    fn a_release_names_its_archives_as_binstall_looks_for_them() {
        let metadata = crate::workspace::metadata().expect("there is a workspace");
        let command = metadata.packages.iter().find(|package| package.name == "mrtr-cli").expect("it is a member");
        let binstall = &command.metadata["binstall"];
        let values = [("name", "mrtr-cli"), ("target", "${{ matrix.target }}"), ("version", "${VERSION}")];
        let fill = |template: &serde_json::Value| {
            let template = template.as_str().expect("it is a text").to_owned();
            values.iter().fold(template, |text, (name, value)| text.replace(&format!("{{ {name} }}"), value))
        };
        let folder = fill(&binstall["bin-dir"]).replace("/{ bin }{ binary-ext }", "");
        assert!(fill(&binstall["pkg-url"]).ends_with(&format!("/download/v${{VERSION}}/{folder}{{ archive-suffix }}")));
        let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("it is there");
        assert!(workflow.contains(&format!("ARCHIVE=\"{folder}\"\n")), "{folder}");
        assert_eq!((&binstall["pkg-fmt"], workflow.contains("tar czf \"$ARCHIVE.tgz\"")), (&"tgz".into(), true));
    }

    #[test]
    fn keywords_are_those_that_crates_io_takes() {
        assert!(["mcp", "json-rpc", "c++", "2024"].into_iter().all(is_keyword));
        assert!(!["-mcp", "two words", "a-keyword-that-is-too-long"].into_iter().any(is_keyword));
    }

    #[test]
    fn a_page_shows_a_program_if_it_is_compiled() {
        assert!(shows_program("# A\n\n```rust,no_run\nfn main() {}\n```\n"));
        assert!(!shows_program("# A\n\n```rust,ignore\nfn main() {}\n```\n```toml\n```\n"));
    }
}
