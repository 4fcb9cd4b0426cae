//! `cargo xtask readme-projects`: the dependencies that a page names are all that its programs need.
//!
//! The pages' programs run as doc-tests too, but there they find whatever this workspace has. Here each page is a project
//! as its reader would begin one: the block of dependencies, and every program, checked on its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::workspace::{cargo_command, crates, metadata, print, profiles, root};

/// The source that a page names for a crate that is not released yet.
const OURS: &str = "git = \"https://github.com/mrtr-rs/mrtr\"";

pub(crate) fn run() -> Result<Outcome> {
    let metadata = metadata()?;
    let target = metadata.target_directory;
    let mut outcome = Outcome::Passed;
    for (name, file) in pages()? {
        let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
        let page = Page::read(&text);
        let Some(dependencies) = page.dependencies else { continue };
        let folder = target.join("readme-projects").join(&name);
        write(&folder, &name, dependencies, &page.programs)?;
        let passes = check(&folder, &target)?;
        let verdict = if passes { "enough" } else { "NOT ENOUGH: add what its programs use to its block" };
        print(&format!("{name}: {} programs, dependencies: {verdict}", page.programs.len()))?;
        if !passes {
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}

/// The pages that may name dependencies, with a name for the project of each.
fn pages() -> Result<Vec<(String, PathBuf)>> {
    let mut pages = vec![("readme-workspace".to_owned(), root().join("README.md"))];
    for (name, folder) in crates()? {
        let file = folder.join("README.md");
        if file.exists() {
            pages.push((format!("readme-{name}"), file));
        }
    }
    Ok(pages)
}

/// A project of its own, with the versions that the workspace is locked to.
fn write(folder: &Path, name: &str, dependencies: &str, programs: &[String]) -> Result<()> {
    let bins = folder.join("src/bin");
    if bins.exists() {
        fs::remove_dir_all(&bins)?;
    }
    fs::create_dir_all(&bins)?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\npublish = false\n\n{}\n[workspace]\n{}",
        from_here(dependencies)?,
        profiles()?
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    for (number, program) in programs.iter().enumerate() {
        fs::write(bins.join(format!("program_{}.rs", number + 1)), program)?;
    }
    Ok(())
}

/// The block, with our crates taken from this workspace: they are not where the block says until they are pushed.
fn from_here(dependencies: &str) -> Result<String> {
    let mut block = String::new();
    for line in dependencies.lines() {
        let name = line.split_once('=').map_or("", |(name, _)| name.trim());
        if name.starts_with("mrtr") && !line.contains(OURS) {
            bail!("`{line}`: name the crate by {OURS}");
        }
        let path = format!("path = \"{}\"", root().join("crates").join(name).display());
        block.push_str(&line.replace(OURS, &path));
        block.push('\n');
    }
    Ok(block)
}

fn check(folder: &Path, target: &Path) -> Result<bool> {
    let mut command = cargo_command();
    command.args(["check", "--bins", "--quiet", "--offline"]).current_dir(folder).env("CARGO_TARGET_DIR", target);
    Ok(command.status().context("could not start cargo")?.success())
}

/// The parts of a page that a reader copies.
struct Page<'t> {
    dependencies: Option<&'t str>,
    /// The programs, each a file that compiles, if the page is right.
    programs: Vec<String>,
}

impl<'t> Page<'t> {
    fn read(text: &'t str) -> Self {
        let mut page = Self { dependencies: None, programs: Vec::new() };
        let mut rest = text;
        while let Some((head, body, after)) = next_block(rest) {
            let mut words = head.split(',').map(str::trim);
            match words.next() {
                Some("toml") if body.starts_with("[dependencies]") => page.dependencies = Some(body),
                Some("rust") if !words.any(|word| word == "ignore" || word == "compile_fail") => {
                    page.programs.push(program(body));
                }
                _ => {}
            }
            rest = after;
        }
        page
    }
}

/// Returns what follows the fence, what lies in it, and the rest.
fn next_block(text: &str) -> Option<(&str, &str, &str)> {
    const FENCE: &str = "```";
    let at = if text.starts_with(FENCE) { 0 } else { text.find("\n```")? + 1 };
    let (head, rest) = text[at + FENCE.len()..].split_once('\n')?;
    let end = if rest.starts_with(FENCE) { 0 } else { rest.find("\n```")? + 1 };
    Some((head, &rest[..end], &rest[end + FENCE.len()..]))
}

/// Makes a program of an example, as rustdoc does: it uncovers hidden lines, and puts an example without a `main` into
/// one.
fn program(body: &str) -> String {
    let shown: Vec<_> = body
        .lines()
        .map(|line| match line.trim_start() {
            "#" => "",
            hidden => hidden.strip_prefix("# ").unwrap_or(line),
        })
        .collect();
    let shown = shown.join("\n");
    let allowed = "#![allow(unused, dead_code)]\n";
    if shown.contains("fn main()") {
        return format!("{allowed}{shown}\n");
    }
    format!("{allowed}fn main() {{\n    let _ = || {{\n{shown}\n    }};\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::{Page, from_here};

    #[test]
    fn our_crates_come_from_here_and_others_from_where_they_are() {
        let block =
            "[dependencies]\nmrtr = { git = \"https://github.com/mrtr-rs/mrtr\", features = [\"x\"] }\nserde = \"1\"";
        let block = from_here(block).expect("it names ours as it should");
        assert!(block.contains("crates/mrtr\", features = [\"x\"] }") && block.contains("serde = \"1\""), "{block}");
        assert!(from_here("mrtr = \"0.1\"").is_err(), "nothing is released");
    }

    #[test]
    fn a_page_is_its_dependencies_and_its_programs() {
        let text = "# A\n\n```toml\n[dependencies]\nx = \"1\"\n```\n\n```rust\n# use x::Y;\nlet y = Y;\n```\n\
                    ```rust,ignore\nno\n```\n\n```rust,no_run\nfn main() {}\n```\n";
        let page = Page::read(text);
        assert_eq!(page.dependencies, Some("[dependencies]\nx = \"1\"\n"));
        let [fragment, whole] = &page.programs[..] else { panic!("two programs: {:?}", page.programs) };
        assert!(fragment.contains("fn main() {\n    let _ = || {\nuse x::Y;\nlet y = Y;"), "{fragment}");
        assert!(whole.ends_with("fn main() {}\n"), "{whole}");
    }
}
