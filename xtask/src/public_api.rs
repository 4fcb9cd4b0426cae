//! `cargo xtask public-api`: where `serde_json::Value` stands in public signatures, and why.
//!
//! Our types keep JSON as its sender wrote it; a `Value` loses numbers and costs time. Each place that has one all the
//! same is listed in `xtask/public-api.json` with its reason.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use syn::visit::Visit;
use syn::{
    Field, File, Ident, ImplItemFn, ItemFn, ItemImpl, ItemStruct, ItemTrait, ItemUse, Path, Signature, TraitItemFn,
    Type, UseTree, visit,
};

use crate::source::is_public;
use crate::workspace::{print, published_crates, root};
use crate::{Outcome, source};

pub(crate) fn run() -> Result<Outcome> {
    let path = root().join("xtask/public-api.json");
    let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut allowed: BTreeMap<String, String> = serde_json::from_str(&text).context("the allow-list is not JSON")?;

    let mut outcome = Outcome::Passed;
    for item in items_with_value()? {
        let reason = allowed.remove(&item);
        if reason.is_none() {
            outcome = Outcome::Failed;
        }
        print(&format!("{item}: {}", reason.as_deref().unwrap_or("not in the allow-list")))?;
    }
    for item in allowed.keys() {
        outcome = Outcome::Failed;
        print(&format!("{item}: in the allow-list, and nowhere else"))?;
    }
    Ok(outcome)
}

fn items_with_value() -> Result<Vec<String>> {
    let mut items = Vec::new();
    for (name, folder) in published_crates()? {
        for file in source::read_folder(&folder.join("src"))? {
            let found = with_value(&file.syntax);
            items.extend(found.into_iter().map(|item| format!("{}::{item}", name.replace('-', "_"))));
        }
    }
    items.sort();
    items.dedup();
    Ok(items)
}

/// Their names, with the type they belong to.
fn with_value(file: &File) -> Vec<String> {
    let mut items = Items { imported: imports_value(file), owner: None, found: Vec::new() };
    items.visit_file(file);
    items.found
}

struct Items {
    /// True if the file calls it `Value`.
    imported: bool,
    owner: Option<String>,
    found: Vec<String>,
}

impl Items {
    fn note(&mut self, name: &Ident) {
        self.found.push(match &self.owner {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_string(),
        });
    }

    fn check(&mut self, signature: &Signature) {
        let mut value = NamesValue { imported: self.imported, found: false };
        value.visit_signature(signature);
        if value.found {
            self.note(&signature.ident);
        }
    }

    fn within(&mut self, owner: String, visit: impl FnOnce(&mut Self)) {
        let before = self.owner.replace(owner);
        visit(self);
        self.owner = before;
    }
}

impl<'a> Visit<'a> for Items {
    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if is_public(&item.vis) {
            self.check(&item.sig);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if is_public(&item.vis) {
            self.check(&item.sig);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        self.check(&item.sig);
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        if is_public(&item.vis) {
            self.within(item.ident.to_string(), |items| visit::visit_item_trait(items, item));
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let Type::Path(owner) = &*item.self_ty else { return };
        let Some(owner) = owner.path.segments.last() else { return };
        self.within(owner.ident.to_string(), |items| {
            if let Some((path, _)) = &item.trait_ {
                let mut value = NamesValue { imported: items.imported, found: false };
                value.visit_path(path);
                if value.found
                    && let Some(name) = path.segments.last()
                {
                    items.note(&name.ident);
                }
            } else {
                visit::visit_item_impl(items, item);
            }
        });
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        if is_public(&item.vis) {
            self.within(item.ident.to_string(), |items| visit::visit_item_struct(items, item));
        }
    }

    fn visit_field(&mut self, field: &'a Field) {
        let mut value = NamesValue { imported: self.imported, found: false };
        value.visit_type(&field.ty);
        if is_public(&field.vis)
            && value.found
            && let Some(name) = &field.ident
        {
            self.note(name);
        }
    }
}

struct NamesValue {
    imported: bool,
    found: bool,
}

impl<'a> Visit<'a> for NamesValue {
    fn visit_path(&mut self, path: &'a Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found |= match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["Value"] => self.imported,
            ["serde_json", "Value"] => true,
            _ => false,
        };
        visit::visit_path(self, path);
    }
}

fn imports_value(file: &File) -> bool {
    let mut imports = Imports(false);
    imports.visit_file(file);
    imports.0
}

struct Imports(bool);

impl<'a> Visit<'a> for Imports {
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if let UseTree::Path(path) = &item.tree
            && path.ident == "serde_json"
        {
            self.0 |= names_value(&path.tree);
        }
    }
}

fn names_value(tree: &UseTree) -> bool {
    match tree {
        UseTree::Name(name) => name.ident == "Value",
        UseTree::Group(group) => group.items.iter().any(names_value),
        UseTree::Path(_) | UseTree::Rename(_) | UseTree::Glob(_) => false,
    }
}
