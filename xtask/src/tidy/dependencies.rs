//! The rules of dependencies: members depend on each other as declared, a crate brings no more packages than its
//! budget, and a command has no feature for tests.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use super::declared::{BUDGETS, Budget, EDGES, NOT_SHIPPED};
use crate::workspace::{Metadata, Package, cargo_command};

/// A budget, and the number of packages there are.
pub(super) struct Counted {
    budget: &'static Budget,
    packages: usize,
}

pub(super) fn counted() -> Result<Vec<Counted>> {
    let count = |budget| Ok(Counted { budget, packages: packages(&tree(budget)?).len() });
    BUDGETS.iter().map(count).collect()
}

pub(super) fn problems(counted: &[Counted]) -> Vec<String> {
    let over = counted.iter().filter(|found| found.packages > found.budget.packages);
    over.map(|found| format!("{} is over its budget of packages", found.line())).collect()
}

pub(super) fn report(counted: &[Counted]) -> String {
    let lines = counted.iter().map(|found| format!("  {}", found.line())).collect::<Vec<_>>();
    format!("Packages that a user builds, of the budget:\n{}", lines.join("\n"))
}

impl Counted {
    fn line(&self) -> String {
        let Budget { name, features, packages: most } = self.budget;
        let features = if features.is_empty() { String::new() } else { format!(" with {features}") };
        format!("{name}{features}: {} of {most}", self.packages)
    }
}

/// Asks cargo for the dependencies on one target, so that their number does not depend on the machine.
fn tree(budget: &Budget) -> Result<String> {
    let mut cargo = cargo_command();
    cargo.args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--no-dedupe", "--target", TARGET]);
    cargo.args(["--no-default-features", "--package", budget.name, "--features", budget.features]);
    let output = cargo.output().context("could not start `cargo tree`")?;
    if !output.status.success() {
        bail!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Finds what is wrong with the features of the commands that users install.
pub(super) fn not_shipped() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (package, feature) in NOT_SHIPPED {
        let mut cargo = cargo_command();
        cargo.args(["tree", "--locked", "--edges", "normal,features", "--prefix", "none", "--package", package]);
        let output = cargo.output().context("could not start `cargo tree`")?;
        if !output.status.success() {
            bail!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        problems.extend(shipped(package, feature, &String::from_utf8(output.stdout)?));
    }
    Ok(problems)
}

fn shipped(package: &str, feature: &str, tree: &str) -> Option<String> {
    let is_there = tree.lines().any(|line| line.trim_end_matches(" (*)") == feature);
    is_there.then(|| format!("{package} is installed with {feature}, which is for tests"))
}

/// Reads the packages of a tree. Each line is a name, a version and remarks; a package may stand in many.
fn packages(tree: &str) -> BTreeSet<(&str, &str)> {
    let words = tree.lines().map(|line| line.split(' '));
    words.filter_map(|mut words| Some((words.next()?, words.next()?))).collect()
}

const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(super) fn edge_problems(metadata: &Metadata) -> Vec<String> {
    compared(&metadata.packages, &EDGES)
}

fn compared(packages: &[Package], declared: &[(&str, &[&str])]) -> Vec<String> {
    let mut found = Vec::new();
    for Package { name, dependencies, .. } in packages {
        let Some((_, declared)) = declared.iter().find(|(member, _)| member == name) else {
            found.push(format!("{name}: no edges are declared for this member"));
            continue;
        };
        let edges = dependencies.iter().filter(|dependency| dependency.is_edge());
        let edges: BTreeSet<_> = edges.map(|dependency| dependency.name.as_str()).collect();
        let declared: BTreeSet<_> = declared.iter().copied().collect();
        found
            .extend(edges.difference(&declared).map(|edge| format!("{name} depends on {edge}, which is not declared")));
        found.extend(
            declared.difference(&edges).map(|edge| format!("{name}: its edge to {edge} is declared, and gone")),
        );
    }
    let gone = declared.iter().filter(|(member, _)| !packages.iter().any(|package| package.name == *member));
    found.extend(gone.map(|(member, _)| format!("{member} has declared edges, and there is no such member")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_counts_once_and_two_versions_of_it_twice() {
        let tree = "a v0.1.0 (path)\nsyn v2.0.0\nserde v1.0.0\nsyn v3.0.0\nserde v1.0.0\nd v1.0.0 (proc-macro)\n\n";
        assert_eq!(packages(tree).len(), 5);
    }

    #[test]
    fn a_feature_for_tests_that_a_command_has_is_told() {
        let tree = "shop v0.1.0 (path)\ntill feature \"default\"\ntill v0.1.0 (path)\ntill feature \"testing\" (*)\n";
        let expected = "shop is installed with till feature \"testing\", which is for tests";
        assert_eq!(shipped("shop", "till feature \"testing\"", tree).as_deref(), Some(expected));
        assert_eq!(shipped("shop", "till feature \"test\"", tree), None);
    }

    #[test]
    fn more_than_the_budget_is_told_and_less_is_not() {
        static BUDGET: Budget = Budget { name: "shop", features: "till", packages: 3 };
        let expected =
            [Vec::new(), Vec::new(), vec!["shop with till: 4 of 3 is over its budget of packages".to_owned()]];
        assert_eq!([2, 3, 4].map(|packages| problems(&[Counted { budget: &BUDGET, packages }])), expected);
    }

    fn members() -> Vec<Package> {
        let text = r#"[
            { "name": "client", "version": "1.0.0", "manifest_path": "p", "keywords": [], "categories": [], "features": {},
              "metadata": null, "dependencies": [
                { "name": "schema", "kind": null, "path": "p", "req": "^1" },
                { "name": "state", "kind": "dev", "path": "p", "req": "*" },
                { "name": "serde", "kind": null, "req": "^1" }
            ] },
            { "name": "schema", "version": "1.0.0", "manifest_path": "p", "keywords": [], "categories": [],
              "features": {}, "metadata": null, "dependencies": [] }
        ]"#;
        serde_json::from_str(text).expect("they are of this form")
    }

    #[test]
    fn edges_as_declared_are_fine_and_tests_may_have_more() {
        assert_eq!(compared(&members(), &[("client", &["schema"]), ("schema", &[])]), Vec::<String>::new());
    }

    #[test]
    fn an_edge_that_is_new_or_gone_is_told() {
        let expected =
            ["client depends on schema, which is not declared", "client: its edge to http is declared, and gone"];
        assert_eq!(compared(&members(), &[("client", &["http"]), ("schema", &[])]), expected);
    }

    #[test]
    fn a_member_that_is_new_or_gone_is_told() {
        let expected =
            ["schema: no edges are declared for this member", "http has declared edges, and there is no such member"];
        assert_eq!(compared(&members(), &[("client", &["schema"]), ("http", &[])]), expected);
    }
}
