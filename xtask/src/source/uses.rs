//! The names that a `use` brings in, and what a path stands for.

use syn::UseTree;

/// A name that a `use` brings in: what it stands for, and what it is called there. A glob keeps all names.
pub(crate) struct UsedName {
    pub(crate) path: Vec<String>,
    pub(crate) name: Option<String>,
}

/// All names that a `use` brings in.
pub(crate) fn used_names(tree: &UseTree) -> Vec<UsedName> {
    let mut found = Vec::new();
    follow(tree, &mut Vec::new(), &mut found);
    found
}

fn follow(tree: &UseTree, path: &mut Vec<String>, found: &mut Vec<UsedName>) {
    let mut note = |last: &syn::Ident, name: &syn::Ident| {
        let path = path.iter().cloned().chain([last.to_string()]).collect();
        found.push(UsedName { path, name: Some(name.to_string()) });
    };
    match tree {
        UseTree::Name(name) => note(&name.ident, &name.ident),
        UseTree::Rename(rename) => note(&rename.ident, &rename.rename),
        UseTree::Glob(_) => found.push(UsedName { path: path.clone(), name: None }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| follow(tree, path, found)),
        UseTree::Path(within) => {
            path.push(within.ident.to_string());
            follow(&within.tree, path, found);
            path.pop();
        }
    }
}

/// A path from the root of the crate, of one that is written in this module.
pub(crate) fn from_root(path: &[String], module: &[String]) -> Vec<String> {
    let mut target = module.to_vec();
    for segment in path {
        match segment.as_str() {
            "crate" => target.clear(),
            "self" => {}
            "super" => drop(target.pop()),
            _ => target.push(segment.clone()),
        }
    }
    target
}
