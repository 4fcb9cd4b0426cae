//! The methods that pages of the guide and examples call, told by the types of what they are called on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, FnArg, ItemFn, Local, Macro, Pat, PatType, Token, Type};

/// A section of a page, or an example, with the methods that it calls.
pub(super) struct Place {
    /// The link to the place, from a page in `docs/guide`.
    pub(super) link: String,
    uses: BTreeSet<Use>,
}

/// The name of a type and that of its method.
pub(super) type Use = (&'static str, String);

/// The places, in the order in which a reader should look: pages first.
pub(super) struct Places(Vec<Place>);

impl Places {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut places = Vec::new();
        for path in PAGES {
            let file = root.join("docs").join(path);
            let text = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
            places.extend(sections(path, &text));
        }
        let mut examples = Vec::new();
        for entry in fs::read_dir(root.join("examples"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                examples.push(path);
            }
        }
        examples.sort();
        for path in examples {
            let mut uses = Uses::default();
            uses.read(&fs::read_to_string(&path)?);
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            places.push(Place { link: format!("[`{name}`](../../examples/{name}.rs)"), uses: uses.found });
        }
        Ok(Self(places))
    }

    pub(super) fn find(&self, type_name: &str, method: &str) -> Option<&Place> {
        self.0.iter().find(|place| place.uses.iter().any(|(of, name)| *of == type_name && name == method))
    }
}

const PAGES: [&str; 6] =
    ["GUIDE.md", "guide/SERVERS.md", "guide/HOSTS.md", "guide/DEPLOYMENT.md", "guide/FAQ.md", "EXISTING_APP.md"];

/// The sections of a page that have a block of Rust.
fn sections(path: &str, text: &str) -> Vec<Place> {
    let mut sections: Vec<Place> = Vec::new();
    let (mut heading, mut block) = (String::new(), None::<String>);
    for line in text.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some("rust" | "rust,no_run")) => block = Some(String::new()),
            (None, None) if line.starts_with('#') => line.trim_start_matches('#').trim().clone_into(&mut heading),
            (Some(code), Some(_)) => {
                let mut uses = Uses::default();
                uses.read(code);
                sections.push(Place { link: link(path, &heading), uses: uses.found });
                block = None;
            }
            (Some(code), None) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, _) => {}
        }
    }
    sections
}

/// A link to a heading, by the anchor that GitHub makes of it.
fn link(path: &str, heading: &str) -> String {
    let target = path.strip_prefix("guide/").map_or_else(|| format!("../{path}"), str::to_owned);
    let kept = |letter: &char| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter);
    let anchor: String = heading.to_lowercase().chars().filter(kept).collect();
    format!("[{heading}]({target}#{})", anchor.replace(' ', "-"))
}

/// Collects the methods that Rust calls on the types of [`super::LISTED`].
///
/// The type of what a method is called on is told by the chain that it stands in, by the types of parameters and by
/// what variables were made of, and else by the usual names of variables.
#[derive(Default)]
pub(super) struct Uses {
    found: BTreeSet<Use>,
    variables: BTreeMap<String, &'static str>,
}

impl Uses {
    /// Reads a file, or a part of one: items, or statements.
    pub(super) fn read(&mut self, code: &str) {
        let wrapped = format!("async fn part() {{ {code} }}");
        if let Ok(file) = syn::parse_file(code).or_else(|_| syn::parse_file(&wrapped)) {
            self.visit_file(&file);
        }
    }

    fn type_of(&self, expression: &Expr) -> Option<&'static str> {
        match expression {
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                self.variables.get(&name).copied().or_else(|| usual(&name))
            }
            Expr::Call(call) => {
                let (of, function) = associated(call)?;
                Some(made_by(of, &function))
            }
            Expr::MethodCall(call) => Some(made_by(self.type_of(&call.receiver)?, &call.method.to_string())),
            Expr::Await(inner) => self.type_of(&inner.base),
            Expr::Try(inner) => self.type_of(&inner.expr),
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Reference(inner) => self.type_of(&inner.expr),
            _ => None,
        }
    }

    fn set(&mut self, pattern: &Pat, type_name: Option<&'static str>) {
        if let (Pat::Ident(variable), Some(type_name)) = (pattern, type_name) {
            self.variables.insert(variable.ident.to_string(), type_name);
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        // Each function has its own variables.
        let outer = self.variables.clone();
        for input in &item.sig.inputs {
            if let FnArg::Typed(PatType { pat, ty, .. }) = input {
                self.set(pat, named(ty));
            }
        }
        visit::visit_item_fn(self, item);
        self.variables = outer;
    }

    fn visit_local(&mut self, local: &'ast Local) {
        visit::visit_local(self, local);
        if let Some(init) = &local.init {
            self.set(&local.pat, self.type_of(&init.expr));
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Some((of, function)) = associated(call) {
            self.found.insert((of, function));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if let Some(of) = self.type_of(&call.receiver) {
            self.found.insert((of, call.method.to_string()));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        // Most macros of the standard library take expressions.
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = arguments.parse2(call.tokens.clone()) {
            // The expressions of a macro do not live as long as the file, so a visitor of their own reads them.
            let mut inner = Uses { found: BTreeSet::new(), variables: self.variables.clone() };
            arguments.iter().for_each(|argument| inner.visit_expr(argument));
            self.found.append(&mut inner.found);
        }
    }
}

/// `Tool::new(…)`: the type and the function.
fn associated(call: &ExprCall) -> Option<(&'static str, String)> {
    let Expr::Path(path) = &*call.func else { return None };
    let mut segments = path.path.segments.iter().rev();
    let function = segments.next()?.ident.to_string();
    let of = segments.next()?.ident.to_string();
    // The client of tests is another type.
    if segments.next().is_some_and(|module| module.ident == "testing") {
        return None;
    }
    Some((super::LISTED.iter().find(|listed| listed.name == of)?.name, function))
}

/// The type that a method gives: itself, but for those that make another.
fn made_by(of: &'static str, method: &str) -> &'static str {
    match (of, method) {
        ("Server", "builder") => "ServerBuilder",
        ("ServerBuilder", "build") | ("Endpoint", "server") => "Server",
        ("Client", "builder") => "ClientBuilder",
        ("ClientBuilder", "build") => "Client",
        ("Serve", "bind") => "Bound",
        (of, _) => of,
    }
}

/// The type that stands there, by reference or not.
fn named(written: &Type) -> Option<&'static str> {
    match written {
        Type::Reference(inner) => named(&inner.elem),
        Type::Path(path) => {
            let mut segments = path.path.segments.iter().rev();
            let name = segments.next()?.ident.to_string();
            let module = segments.next().map(|module| module.ident.to_string());
            let name = match (&*name, module.as_deref()) {
                (_, Some("testing")) => return None,
                ("Builder", Some("server")) => "ServerBuilder",
                ("Builder", Some("client")) => "ClientBuilder",
                (name, _) => name,
            };
            Some(super::LISTED.iter().find(|listed| listed.name == name)?.name)
        }
        _ => None,
    }
}

/// The type that a variable of this name has in every example.
fn usual(name: &str) -> Option<&'static str> {
    Some(match name {
        "flow" => "Flow",
        "client" => "Client",
        "server" => "Server",
        "tasks" => "Tasks",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(code: &str) -> Vec<String> {
        let mut uses = Uses::default();
        uses.read(code);
        uses.found.into_iter().map(|(of, method)| format!("{of}::{method}")).collect()
    }

    #[test]
    fn a_chain_is_known_by_its_beginning() {
        let code = "let server = Server::builder(\"a\", \"1\").tool(Tool::new(\"b\", b).title(\"B\")).build()?;\nserver.tools();";
        let expected = [
            "Server::builder",
            "Server::tools",
            "ServerBuilder::build",
            "ServerBuilder::tool",
            "Tool::new",
            "Tool::title",
        ];
        assert_eq!(uses(code), expected);
    }

    #[test]
    fn a_parameter_is_known_by_its_type_and_a_macro_is_looked_into() {
        let code =
            "fn f(given: &Tasks, other: mrtr::server::Builder) { assert!(given.view(1)); other.state(1); x.state(2); }";
        assert_eq!(uses(code), ["ServerBuilder::state", "Tasks::view"]);
    }

    #[test]
    fn a_scripted_client_of_a_test_is_not_the_client() {
        assert_eq!(uses("testing::Client::new(&server).call_tool(\"a\")"), Vec::<String>::new());
    }

    #[test]
    fn a_method_is_found_only_where_it_is_called() {
        let text = "# A\n```rust\nasync fn pay(flow: Flow) { flow.elicit(\"a\", \"b\").await?; }\n```\n";
        let places = Places(sections("GUIDE.md", text));
        assert!(places.find("Flow", "elicit").is_some());
        assert!(places.find("Flow", "sample").is_none());
        assert!(places.find("Client", "elicit").is_none());
    }

    #[test]
    fn a_section_is_named_by_the_heading_above_its_block() {
        let text = "# A\n## Several at once: joins\n```rust\nflow.join((a, b)).await?;\n```\n";
        let sections = sections("GUIDE.md", text);
        assert_eq!(sections[0].link, "[Several at once: joins](../GUIDE.md#several-at-once-joins)");
        assert!(sections[0].uses.contains(&("Flow", "join".to_owned())));
    }
}
