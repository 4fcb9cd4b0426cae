//! The page on errors has every message that a user can meet, and no message that the code does not have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A message has a variable part where the page has this sign and the code has braces.
const VARIABLE: char = '…';

/// Messages that no user can meet, or that say nothing beside what they wrap. Each with the reason.
const NOT_MET: &[(&str, &str)] = &[("for a visit", "a part of the message about a step that is not polled")];

/// Sources whose messages the page leaves out. Each with the reason.
const NOT_SHIPPED: &[(&str, &str)] = &[
    ("mrtr-bench/", "for contributors"),
    ("mrtr-fixtures/", "for contributors"),
    ("mrtr-postgres-cluster/", "for contributors"),
    ("mrtr-tour/", "plays its stories itself: a failure is a mistake of ours"),
    ("mrtr-validate/", "its findings are the content of its report"),
    ("mrtr-macros/src/wire", "a derive for mrtr-schema alone"),
    ("mrtr-schema/src/wire/", "generates values for tests"),
    ("mrtr-tasks/src/contract", "tests for those who write a store"),
    ("mrtr-state/src/single_use/contract", "tests for those who write a store"),
];

#[test]
fn every_message_of_the_page_stands_in_the_code() {
    let literals = SOURCES.values().flat_map(|source| &source.literals);
    let literals: BTreeSet<_> = literals.flat_map(|text| [bare(&with_variables(text)), bare(text)]).collect();
    let shown = shown();
    assert!(shown.len() > 200, "only {} messages were found", shown.len());
    // A long text may be a part of a longer one, such as of code that a macro makes.
    let is_part = |message: &String| message.len() > 40 && literals.iter().any(|text| text.contains(message));
    let stands = |message: &String| literals.contains(message) || is_part(message);
    let rustc = rustc_says();
    let is_rustcs = |message: &String| rustc.lines().any(|line| has_parts(line, message));
    let missing: Vec<_> =
        shown.iter().filter(|(message, _)| message.len() < 7 || !(stands(message) || is_rustcs(message))).collect();
    let lines = missing.iter().map(|(message, line)| format!("docs/{PAGE}:{line}: no source says {message:?}\n"));
    assert!(missing.is_empty(), "{}", lines.collect::<String>());
}

#[test]
fn every_message_that_a_user_can_meet_stands_on_the_page() {
    let page = page();
    let shown: BTreeSet<_> = shown().into_iter().map(|(message, _)| message).collect();
    let not_met: BTreeSet<_> = NOT_MET.iter().map(|(message, _)| bare(message)).collect();
    let mut missing = BTreeSet::new();
    let mut found = BTreeSet::new();
    for (path, source) in &*SOURCES {
        if NOT_SHIPPED.iter().any(|(left_out, _)| path.starts_with(left_out)) {
            continue;
        }
        for text in &source.messages {
            let message = bare(&with_variables(text));
            let is_left_out = not_met.contains(&message) || !says_something(&message);
            if !is_left_out && !shown.contains(&message) && !shown.contains(&bare(text)) {
                missing.insert(format!("crates/{path}: the page does not have {message:?}\n"));
            }
            found.insert(message);
        }
        for text in &source.remedies {
            let remedy = bare(&with_variables(text));
            if says_something(&remedy) && !page.contains(&remedy) && !page.contains(&bare(text)) {
                missing.insert(format!("crates/{path}: the page does not have the remedy {remedy:?}\n"));
            }
        }
    }
    assert!(found.len() > 300, "only {} messages were found", found.len());
    let idle: Vec<_> = not_met.difference(&found).collect();
    assert!(idle.is_empty(), "no source says, though it is left out of the page: {idle:?}");
    assert!(missing.is_empty(), "{}", missing.into_iter().collect::<String>());
}

/// The messages of the page, with the lines that they stand in: the first cells of its tables. A cell has the messages
/// of a family, one on a line.
fn shown() -> Vec<(String, usize)> {
    let mut shown = Vec::new();
    for (number, line) in page().lines().enumerate() {
        let Some(cells) = line.strip_prefix("| ") else { continue };
        let first = cells.split(" | ").next().unwrap_or_default();
        if first != "message" && !first.starts_with("---") {
            shown.extend(first.split("<br>").map(|message| (bare(message), number + 1)));
        }
    }
    shown
}

/// What the compiler says of the mistakes that other tests make on purpose.
fn rustc_says() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/mrtr-server/tests/compile_fail");
    let paths = folder.read_dir().expect("the folder can be read").map(|entry| entry.expect("it can be read").path());
    let said = paths.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    said.map(|path| fs::read_to_string(path).expect("it can be read")).collect()
}

/// Returns true if a line has the fixed parts of a message, in their order.
fn has_parts(line: &str, message: &str) -> bool {
    let mut rest = line;
    message.split(VARIABLE).all(|part| {
        let found = rest.split_once(part);
        rest = found.map_or("", |(_, after)| after);
        found.is_some()
    })
}

/// The page, with the bars that a table needs escaped.
fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(PAGE);
    fs::read_to_string(page).expect("it can be read").replace("\\|", "|")
}

/// A text without what a page or a line puts around it: variable parts at its ends, spaces, and the marks before what
/// follows it.
fn bare(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_around = |letter: char| letter.is_whitespace() || [VARIABLE, ':', ';', ',', '(', '`'].contains(&letter);
    text.trim_matches(is_around).to_owned()
}

/// A format string, with the sign of a variable part for each of its arguments.
fn with_variables(format: &str) -> String {
    let mut text = String::new();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '{' if letters.next_if_eq(&'{').is_none() => {
                letters.by_ref().find(|letter| *letter == '}');
                text.push(VARIABLE);
            }
            '}' => {
                letters.next_if_eq(&'}');
                text.push('}');
            }
            other => text.push(other),
        }
    }
    text
}

/// Returns true for two words or more: one word, or the signs between variable parts, cannot be searched for.
fn says_something(message: &str) -> bool {
    message.split(|letter: char| !letter.is_alphabetic()).filter(|word| word.len() > 1).count() >= 2
}

/// The part that a text plays for a user.
#[derive(Clone, Copy)]
enum Role {
    Message,
    Remedy,
    Other,
}

#[derive(Default)]
struct Source {
    /// All texts.
    literals: Vec<String>,
    /// Those that are messages for certain.
    messages: Vec<String>,
    /// Those that the command says below a message.
    remedies: Vec<String>,
}

/// The sources of all crates, by their paths below `crates`.
static SOURCES: LazyLock<BTreeMap<String, Source>> = LazyLock::new(|| {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut sources = BTreeMap::new();
    for entry in crates.read_dir().expect("the folder can be read") {
        let folder = entry.expect("it can be read").path().join("src");
        if folder.is_dir() {
            read_below(&folder, &crates, &mut sources);
        }
    }
    sources
});

fn read_below(folder: &Path, crates: &Path, sources: &mut BTreeMap<String, Source>) {
    for entry in folder.read_dir().expect("the folder can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            read_below(&path, crates, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("it can be read");
            let tokens = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut source = Source::default();
            source.read(tokens, Role::Other);
            let path = path.strip_prefix(crates).expect("it is below");
            sources.insert(path.display().to_string().replace('\\', "/"), source);
        }
    }
}

impl Source {
    /// Reads tokens. All texts of a message's expression are messages.
    fn read(&mut self, tokens: TokenStream, role: Role) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut is_test = false;
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Literal(literal) => {
                    let Some(text) = text_of(literal) else { continue };
                    match if is_named(&tokens[..at]) { Role::Message } else { role } {
                        Role::Message => self.messages.push(text.clone()),
                        Role::Remedy => self.remedies.push(text.clone()),
                        Role::Other => {}
                    }
                    self.literals.push(text);
                }
                TokenTree::Group(group) => {
                    let before = &tokens[..at];
                    match group.delimiter() {
                        Delimiter::Bracket if ends_with(before, &["#"]) => {
                            is_test |= group.stream().to_string().replace(' ', "") == "cfg(test)";
                            self.read_attribute(group.stream());
                        }
                        // The body of a module or a function of tests.
                        Delimiter::Brace if std::mem::take(&mut is_test) => {}
                        _ if LOGS.iter().any(|log| ends_with(before, &[log, "!"])) => {
                            self.read_log(group.stream());
                        }
                        _ => self.read(group.stream(), role_after(before).unwrap_or(role)),
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => is_test = false,
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Reads an attribute: documentation says nothing to a user, and neither do reasons.
    fn read_attribute(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter();
        let Some(TokenTree::Ident(name)) = tokens.next() else { return };
        match &*name.to_string() {
            "doc" | "allow" | "expect" => {}
            "error" => {
                let Some(TokenTree::Group(group)) = tokens.next() else { return };
                if let Some(TokenTree::Literal(literal)) = group.stream().into_iter().next() {
                    self.messages.extend(text_of(&literal));
                }
                self.read(group.stream(), Role::Other);
            }
            "diagnostic" => self.read(tokens.collect(), Role::Message),
            _ => self.read(tokens.collect(), Role::Other),
        }
    }

    /// Reads the arguments of a log macro, whose message comes last.
    fn read_log(&mut self, tokens: TokenStream) {
        let last = tokens.clone().into_iter().filter_map(|token| match token {
            TokenTree::Literal(literal) => text_of(&literal),
            _ => None,
        });
        self.messages.extend(last.last());
        self.read(tokens, Role::Other);
    }
}

fn text_of(literal: &proc_macro2::Literal) -> Option<String> {
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// The part that the arguments after these tokens play, if the tokens tell.
fn role_after(before: &[TokenTree]) -> Option<Role> {
    let is_new = |name: &&str| ends_with(before, &[name, ":", ":", "new"]);
    if ends_with(before, &[".", "next"]) {
        return Some(Role::Remedy);
    }
    let is_said = SAYS.iter().any(|name| ends_with(before, &[name]))
        || CARRY.iter().any(is_new)
        || ends_with(before, &["TransportError", ":", ":", "of"])
        || (ends_with(before, &["format", "!"]) && is_named(&before[..before.len() - 2]));
    is_said.then_some(Role::Message)
}

/// Returns true if these tokens begin a variable that has a message.
fn is_named(before: &[TokenTree]) -> bool {
    ["text", "message"].iter().any(|name| ends_with(before, &["let", name, "="]))
}

fn ends_with(tokens: &[TokenTree], last: &[&str]) -> bool {
    let Some(from) = tokens.len().checked_sub(last.len()) else { return false };
    tokens[from..].iter().zip(last).all(|(token, expected)| token.to_string() == *expected)
}

const PAGE: &str = "guide/ERRORS.md";
const LOGS: [&str; 3] = ["error", "warn", "info"];

/// Functions that say what they are given to somebody.
const SAYS: [&str; 8] = [
    "misuse",
    "usage",
    "invalid_params",
    "invalid_request",
    "internal_error",
    "EntryError",
    "lacking_extension",
    "mistake",
];

/// Types that carry the message that they are made with.
const CARRY: [&str; 5] = ["Failure", "ToolError", "ProtocolError", "ErrorObject", "TransportError"];
