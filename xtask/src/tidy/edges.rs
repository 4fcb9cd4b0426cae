//! The rule that members of the workspace depend on each other as declared.

use std::collections::BTreeSet;

use super::declared::EDGES;
use crate::metadata::{Metadata, Package};

pub(super) fn problems(metadata: &Metadata) -> Vec<String> {
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

    fn packages() -> Vec<Package> {
        let text = r#"[
            { "name": "client", "manifest_path": "p", "features": {}, "dependencies": [
                { "name": "schema", "kind": null, "path": "p" },
                { "name": "state", "kind": "dev", "path": "p" },
                { "name": "serde", "kind": null }
            ] },
            { "name": "schema", "manifest_path": "p", "features": {}, "dependencies": [] }
        ]"#;
        serde_json::from_str(text).expect("they are of this form")
    }

    #[test]
    fn edges_as_declared_are_fine_and_tests_may_have_more() {
        assert_eq!(compared(&packages(), &[("client", &["schema"]), ("schema", &[])]), Vec::<String>::new());
    }

    #[test]
    fn an_edge_that_is_new_or_gone_is_told() {
        let expected =
            ["client depends on schema, which is not declared", "client: its edge to http is declared, and gone"];
        assert_eq!(compared(&packages(), &[("client", &["http"]), ("schema", &[])]), expected);
    }

    #[test]
    fn a_member_that_is_new_or_gone_is_told() {
        let expected =
            ["schema: no edges are declared for this member", "http has declared edges, and there is no such member"];
        assert_eq!(compared(&packages(), &[("client", &["schema"]), ("http", &[])]), expected);
    }
}
