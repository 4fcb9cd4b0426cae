//! `cargo xtask sql-neighbours`: the facade in one program with the SQL libraries of others.
//!
//! A program links one SQLite, so `libsqlite3-sys` is in it once, and what each library takes of it must meet. Each
//! combination is a project of its own, for which Cargo chooses versions; the oldest and the newest rusqlite among them
//! are then compiled against.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::Outcome;
use crate::workspace::{cargo_command, metadata, print, root};

/// A project with a package besides ours, and the choice by which Cargo finds versions for both.
struct Neighbour {
    name: &'static str,
    dependency: &'static str,
    fits: bool,
    /// True if our store is compiled with the versions that Cargo chose. For the other neighbours resolving is enough:
    /// our store would get the same versions as beside one of these.
    is_compiled: bool,
}

const NEIGHBOURS: [Neighbour; 13] = [
    fits("sqlx-0.8", "sqlx = { version = \"0.8\", features = [\"runtime-tokio\"] }"),
    compiled("sqlx-0.8-sqlite", "sqlx = { version = \"0.8\", features = [\"runtime-tokio\", \"sqlite\"] }"),
    fits("sqlx-0.8.1-sqlite", "sqlx = { version = \"=0.8.1\", features = [\"runtime-tokio\", \"sqlite\"] }"),
    // It takes a `libsqlite3-sys` from before the oldest rusqlite that we compile with. The README says so.
    Neighbour {
        name: "sqlx-0.8.0-sqlite",
        dependency: "sqlx = { version = \"=0.8.0\", features = [\"runtime-tokio\", \"sqlite\"] }",
        fits: false,
        is_compiled: false,
    },
    fits("sqlx-0.9", "sqlx = { version = \"0.9\", features = [\"runtime-tokio\"] }"),
    fits("sqlx-0.9-sqlite", "sqlx = { version = \"0.9\", features = [\"runtime-tokio\", \"sqlite\"] }"),
    fits("sea-orm-1", "sea-orm = { version = \"1\", features = [\"runtime-tokio-rustls\", \"sqlx-postgres\"] }"),
    fits("sea-orm-1-sqlite", "sea-orm = { version = \"1\", features = [\"runtime-tokio-rustls\", \"sqlx-sqlite\"] }"),
    fits("sea-orm-2", "sea-orm = { version = \"2\", features = [\"runtime-tokio-rustls\", \"sqlx-postgres\"] }"),
    fits("sea-orm-2-sqlite", "sea-orm = { version = \"2\", features = [\"runtime-tokio-rustls\", \"sqlx-sqlite\"] }"),
    fits("diesel-2.2-sqlite", "diesel = { version = \"~2.2\", features = [\"sqlite\"] }"),
    fits("diesel-2-sqlite", "diesel = { version = \"2\", features = [\"sqlite\"] }"),
    compiled("alone", ""),
];

const fn fits(name: &'static str, dependency: &'static str) -> Neighbour {
    Neighbour { name, dependency, fits: true, is_compiled: false }
}

const fn compiled(name: &'static str, dependency: &'static str) -> Neighbour {
    Neighbour { name, dependency, fits: true, is_compiled: true }
}

/// Features of ours: all that have a database, and one at a time.
const FEATURES: [&str; 3] = ["\"postgres\", \"sqlite\"", "\"sqlite\"", "\"postgres\""];

pub(crate) fn run() -> Result<Outcome> {
    let target = metadata()?.target_directory;
    let folder = target.join("sql-neighbours");
    if !can_reach_registry(&folder.join("registry"))? {
        print("the registry cannot be reached, which says what versions there are of the libraries of others")?;
        let is_ci = std::env::var_os("CI").is_some();
        return Ok(if is_ci { Outcome::Failed } else { Outcome::LeftOut("the registry") });
    }
    let mut outcome = Outcome::Passed;
    for neighbour in &NEIGHBOURS {
        let project = folder.join(neighbour.name);
        let mut problems = Vec::new();
        for features in FEATURES {
            let has_sqlite = features.contains("sqlite");
            let chosen = resolve(&project, features, neighbour.dependency)?;
            if chosen.is_some() != (neighbour.fits || !has_sqlite) {
                problems.push(format!("with {features}, a choice of versions was{} found", not(chosen.is_some())));
            }
            if features == FEATURES[1]
                && let Some(chosen) = &chosen
            {
                print(&format!("{}: {chosen}", neighbour.name))?;
                if neighbour.is_compiled && !check(&project, &target)? {
                    problems.push(format!("mrtr-sqlite does not compile with {chosen}"));
                }
            }
        }
        for problem in problems {
            print(&format!("{}: {problem}", neighbour.name))?;
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}

fn not(is: bool) -> &'static str {
    if is { "" } else { " not" }
}

/// Has Cargo ask it for a package: without an answer there is no lock file.
fn can_reach_registry(project: &Path) -> Result<bool> {
    write(project, "", "libsqlite3-sys = \"*\"")?;
    lock(project)
}

/// Says which versions Cargo chose, if there were any.
fn resolve(project: &Path, features: &str, dependency: &str) -> Result<Option<String>> {
    write(project, features, dependency)?;
    if !lock(project)? {
        return Ok(None);
    }
    let lock = fs::read_to_string(project.join("Cargo.lock"))?;
    Ok(Some(versions(&lock)))
}

fn write(project: &Path, features: &str, dependency: &str) -> Result<()> {
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("src/lib.rs"), "")?;
    let ours = if features.is_empty() { String::new() } else { ours(features) };
    let manifest = format!(
        "[package]\nname = \"neighbour\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n{ours}{dependency}\n\n\
         [workspace]\n"
    );
    fs::write(project.join("Cargo.toml"), manifest)?;
    match fs::remove_file(project.join("Cargo.lock")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn ours(features: &str) -> String {
    let path = |name: &str| -> PathBuf { root().join("crates").join(name) };
    format!("mrtr = {{ path = \"{}\", features = [{features}] }}\n", path("mrtr").display())
}

fn lock(project: &Path) -> Result<bool> {
    let mut command = cargo_command();
    let output = command.args(["generate-lockfile", "--quiet"]).current_dir(project).output();
    Ok(output.context("could not start cargo")?.status.success())
}

/// Compiles what of ours sees rusqlite, not the library beside it.
fn check(project: &Path, target: &Path) -> Result<bool> {
    let mut command = cargo_command();
    command.args(["check", "--quiet", "--package", "mrtr-sqlite"]).current_dir(project).env("CARGO_TARGET_DIR", target);
    Ok(command.status().context("could not start cargo")?.success())
}

/// The versions in a lock file of what links SQLite.
fn versions(lock: &str) -> String {
    let wanted = ["rusqlite", "libsqlite3-sys"];
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        let (name, version) = (value("name")?.trim_matches('"'), value("version")?.trim_matches('"'));
        wanted.contains(&name).then(|| format!("{name} {version}"))
    });
    packages.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::versions;

    #[test]
    fn the_versions_that_were_chosen_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"libsqlite3-sys\"\nversion = \"0.30.1\"\n\n[[package]]\nname = \"mrtr\"\n\
                    version = \"0.1.0\"\n\n[[package]]\nname = \"rusqlite\"\nversion = \"0.32.1\"\n";
        assert_eq!(versions(lock), "libsqlite3-sys 0.30.1, rusqlite 0.32.1");
    }
}
