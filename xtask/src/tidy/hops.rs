//! The hops of ARCHITECTURE: the functions that a call passes through exist, and lead from one to the next.

use std::fs;
use std::ops::Range;
use std::path::Path;

/// The lists, by the heading that each stands under.
const LISTS: [&str; 3] =
    ["#### The hops of a plain call", "#### The hops of a retry", "#### The hops of a task's round"];

/// The most hops of a plain call.
const MOST: usize = 35;

/// A function that a call passes through.
struct Hop {
    path: String,
    function: String,
    /// The file without its comments, and the places in it where functions of that name have their bodies.
    code: String,
    bodies: Vec<Range<usize>>,
}

/// Counts the hops of a plain call, and finds what is wrong with the lists of hops in docs/ARCHITECTURE.md.
pub(super) fn counted(root: &Path) -> (usize, Vec<String>) {
    let page = fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap_or_default();
    let mut problems = Vec::new();
    let mut lengths = Vec::new();
    for (place, heading) in LISTS.into_iter().enumerate() {
        let names = listed(&page, heading);
        if names.is_empty() {
            problems.push(format!("docs/ARCHITECTURE.md: nothing is listed under `{heading}`"));
        }
        lengths.push(names.len());
        let hops: Result<Vec<_>, _> = names.iter().map(|name| Hop::read(root, name)).collect();
        match hops {
            // The other lists have a handler in the middle, and a handler calls what its author wants.
            Ok(hops) if place == 0 => problems.extend(leads_nowhere(&hops)),
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if lengths[0] > MOST {
        problems.push(format!("docs/ARCHITECTURE.md: a plain call has {} hops, more than {MOST}", lengths[0]));
    }
    (lengths[0], problems)
}

/// The names in the numbered list under a heading, item by item: the text between the first two backquotes of each.
fn listed<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let lines = page.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
    let items = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    items.filter_map(|line| line.split('`').nth(1)).collect()
}

impl Hop {
    /// Reads `crate/src/file.rs::function`.
    fn read(root: &Path, name: &str) -> Result<Self, String> {
        let problem = |what: &str| format!("docs/ARCHITECTURE.md: `{name}` {what}");
        let (path, function) = name.split_once("::").ok_or_else(|| problem("names no function"))?;
        let text = fs::read_to_string(root.join("crates").join(path)).map_err(|_| problem("names no file"))?;
        let code: Vec<_> =
            text.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line }).collect();
        let code = code.join("\n");
        let bodies = bodies(&code, function);
        if bodies.is_empty() {
            return Err(problem("is no function of that file"));
        }
        Ok(Self { path: path.to_owned(), function: function.to_owned(), code, bodies })
    }

    /// Finds a mention of a name in a body of it, from this place on.
    fn mention(&self, name: &str, from: usize) -> Option<usize> {
        let within = |body: &Range<usize>| find_word(&self.code[..body.end], name, from.max(body.start));
        self.bodies.iter().filter_map(within).min()
    }
}

/// Finds hops that lead nowhere. Each function but the first must be called by one before it, in the order of that
/// one's body, or stand behind a closure or a trait in the file of the one before it.
fn leads_nowhere(hops: &[Hop]) -> Vec<String> {
    let mut read_up_to = vec![0; hops.len()];
    let mut problems = Vec::new();
    for (place, hop) in hops.iter().enumerate().skip(1) {
        let caller = (0..place).rev().find_map(|before| {
            let found = hops[before].mention(&hop.function, read_up_to[before])?;
            Some((before, found + hop.function.len()))
        });
        match caller {
            Some((before, end)) => read_up_to[before] = end,
            None if find_word(&hops[place - 1].code, &hop.function, 0).is_some() => {}
            None => problems.push(format!(
                "docs/ARCHITECTURE.md: no function before it leads to `{}::{}`, after what is listed there already",
                hop.path, hop.function
            )),
        }
    }
    problems
}

/// Finds the bodies of the functions of a name, signatures included: up to the bracket below their first letter.
fn bodies(code: &str, function: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = find_word(code, function, from) {
        from = start + function.len();
        if !code[..start].ends_with("fn ") {
            continue;
        }
        let line = code[..start].rfind('\n').map_or(0, |end| end + 1);
        let indent = code[line..].len() - code[line..].trim_start().len();
        let closing = format!("\n{}}}\n", " ".repeat(indent));
        // A declaration without a body ends before any bracket opens.
        let end = code[start..].find([';', '{']).filter(|end| code.as_bytes()[start + *end] == b'{');
        if let Some(length) = end.and_then(|_| format!("{}\n", &code[start..]).find(&closing)) {
            found.push(from..start + length);
        }
    }
    found
}

/// Finds a name that stands as a word of its own.
fn find_word(text: &str, name: &str, from: usize) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut places = text.get(from..)?.match_indices(name).map(|(place, _)| from + place);
    places.find(|place| !text[..*place].ends_with(is_part) && !text[place + name.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_the_page_lead_from_hop_to_hop() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let (hops, problems) = counted(root);
        assert_eq!(problems, Vec::<String>::new());
        assert!(hops > 20, "a call passes through more than {hops} functions");
    }

    fn hop(function: &str, code: &str) -> Hop {
        Hop {
            path: "a.rs".to_owned(),
            function: function.to_owned(),
            code: code.to_owned(),
            bodies: bodies(code, function),
        }
    }

    #[test]
    fn what_is_out_of_order_is_found() {
        let code = "fn first() {\n    second();\n    third();\n}\n\nfn second() {\n}\n\nfn third() {\n}\n";
        let names = |names: [&str; 3]| names.map(|name| hop(name, code));
        assert!(leads_nowhere(&names(["first", "second", "third"])).is_empty());
        let apart = [hop("first", code), hop("third", "fn third() {\n}\n"), hop("second", "fn second() {\n}\n")];
        assert_eq!(leads_nowhere(&apart).len(), 1, "`second` is called before `third`");
    }

    #[test]
    fn a_name_is_a_word_and_a_body_is_its_own() {
        let code = "fn run() {\n    run_whole();\n}\nfn run_whole() {\n}\n";
        assert_eq!(bodies(code, "run").len(), 1);
        assert!(hop("run", code).mention("run_whole", 0).is_some());
        assert!(hop("run_whole", code).mention("run", 0).is_none());
    }
}
