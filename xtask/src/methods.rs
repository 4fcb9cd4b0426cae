//! `cargo xtask methods`: every public method of the main types, with a place of the guide or an example that shows it.

mod by_macros;
mod shown;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::{ImplItem, Item, Type};

use crate::source::{self, docs, is_marked, is_public};
use crate::workspace::{print, root};
use crate::{Outcome, source::SourceFile};
use shown::Places;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Write docs/guide/METHODS.md, instead of comparing it
    #[arg(long)]
    write: bool,
}

/// A type whose methods are listed.
struct Listed {
    /// The name in the page; two crates have a `Builder`.
    name: &'static str,
    package: &'static str,
    type_name: &'static str,
    /// How a program comes by one.
    heading: &'static str,
}

#[rustfmt::skip]
const LISTED: [Listed; 13] = [
    Listed { name: "Flow", package: "mrtr-flow", type_name: "Flow", heading: "`Flow`, which a handler gets" },
    Listed { name: "Tool", package: "mrtr-server", type_name: "Tool", heading: "`Tool`" },
    Listed { name: "Prompt", package: "mrtr-server", type_name: "Prompt", heading: "`Prompt`" },
    Listed { name: "Resource", package: "mrtr-server", type_name: "Resource", heading: "`Resource`" },
    Listed { name: "ResourceTemplate", package: "mrtr-server", type_name: "ResourceTemplate", heading: "`ResourceTemplate`" },
    Listed { name: "ServerBuilder", package: "mrtr-server", type_name: "Builder", heading: "`Server::builder(…)`" },
    Listed { name: "Server", package: "mrtr-server", type_name: "Server", heading: "`Server`" },
    Listed { name: "Serve", package: "mrtr-http", type_name: "Serve", heading: "`Serve`" },
    Listed { name: "Bound", package: "mrtr-http", type_name: "Bound", heading: "`Serve::new(…).bind(…)`" },
    Listed { name: "Endpoint", package: "mrtr-http", type_name: "Endpoint", heading: "`Endpoint`" },
    Listed { name: "Tasks", package: "mrtr-tasks", type_name: "Tasks", heading: "`Tasks`" },
    Listed { name: "ClientBuilder", package: "mrtr-client", type_name: "Builder", heading: "`Client::builder(…)`" },
    Listed { name: "Client", package: "mrtr-client", type_name: "Client", heading: "`Client`" },
];

/// A public method, and its documentation.
struct Method {
    name: String,
    docs: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let places = Places::read(root())?;
    let mut page = HEAD.to_owned();
    let mut unshown = Vec::new();
    for listed in &LISTED {
        let files = source::read_folder(&root().join("crates").join(listed.package).join("src"))?;
        write!(page, "\n## {}\n\n| method | shown in |\n|---|---|\n", listed.heading)?;
        for method in methods(&files, listed.type_name) {
            let place = places.find(listed.name, &method.name);
            if place.is_none() {
                unshown.push(format!("{}::{}", listed.name, method.name));
            }
            let place = place.map_or_else(|| "nowhere".to_owned(), |place| place.link.clone());
            writeln!(page, "| `{}`: {} | {place} |", method.name, summary(&method.docs))?;
        }
    }
    for method in &unshown {
        print(&format!("`{method}` is shown in no page of the guide and in no example: add it to one"))?;
    }
    let is_written = settle(&root().join("docs/guide/METHODS.md"), &page, options.write)?;
    Ok(if unshown.is_empty() && is_written { Outcome::Passed } else { Outcome::Failed })
}

/// Writes the page, or compares it with the one that is there.
fn settle(path: &Path, page: &str, write: bool) -> Result<bool> {
    if write {
        fs::write(path, page).with_context(|| format!("{} cannot be written", path.display()))?;
        return Ok(true);
    }
    let is_same = fs::read_to_string(path).is_ok_and(|written| written == page);
    if !is_same {
        print("docs/guide/METHODS.md differs from the code: run `cargo xtask methods --write`")?;
    }
    Ok(is_same)
}

/// Finds the public methods that a crate gives a type, in the order of its files.
fn methods(files: &[SourceFile], type_name: &str) -> Vec<Method> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.module.first().is_none_or(|first| first != "testing")) {
        for item in &file.syntax.items {
            let Item::Impl(item) = item else { continue };
            if item.trait_.is_some() || !is_named(&item.self_ty, type_name) {
                continue;
            }
            for member in &item.items {
                let ImplItem::Fn(method) = member else { continue };
                if is_public(&method.vis) && !is_marked(&method.attrs, "doc", "hidden") {
                    found.push(Method { name: method.sig.ident.to_string(), docs: docs(&method.attrs) });
                }
            }
        }
    }
    found.extend(by_macros::methods(files, type_name));
    found
}

fn is_named(self_type: &Type, name: &str) -> bool {
    matches!(self_type, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// The first sentence of a method's documentation, on one line and without links.
fn summary(docs: &[String]) -> String {
    let text = docs.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let end = text.match_indices(". ").map(|(at, _)| at).next();
    let sentence = end.map_or(text.trim_end_matches('.'), |end| &text[..end]);
    without_links(sentence).replace('|', "\\|")
}

/// Removes the target of each link, and leaves its text: rustdoc's targets lead nowhere on a page.
fn without_links(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((shown, behind)) = after.split_once(']') else { break };
        left.push_str(before);
        left.push_str(shown);
        rest = match behind.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, behind)) => behind,
            None => behind,
        };
    }
    left + rest
}

const HEAD: &str = "# Methods

Every public method of the main types, with a place that shows it in use: a section of the guide, or an example. \
`cargo xtask methods --write` writes this page, and the test command fails for a method that no place shows.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_methods_are_listed_with_their_first_sentence() {
        let text = "
            pub struct Tool;
            impl Tool {
                /// Sets the [title](Self::title), or `a|b`.\n/// More.
                pub fn title(self) {}
                #[doc(hidden)] pub fn hidden(self) {}
                pub(crate) fn inside(self) {}
            }
            impl Clone for Tool { fn clone(&self) -> Self { Tool } }
            impl Other { pub fn of_another(self) {} }";
        let file = SourceFile::parse("tool.rs", text.to_owned()).unwrap();
        let found = methods(&[file], "Tool");
        assert_eq!(found.iter().map(|method| &*method.name).collect::<Vec<_>>(), ["title"]);
        assert_eq!(summary(&found[0].docs), "Sets the title, or `a\\|b`");
    }
}
