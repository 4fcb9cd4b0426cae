//! The pictures: the part of Mermaid's language that the page uses, line by line.
//!
//! A renderer shows a box with an error for a line that it cannot read. These rules are narrower than Mermaid's, so that
//! what they take, it takes.

use crate::page::Block;

/// Reads a picture, or says which line is wrong.
pub(crate) fn check(block: &Block) -> Result<(), String> {
    let mut lines = block.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let rule: fn(&str, &mut Vec<String>) -> bool = match lines.next() {
        Some("sequenceDiagram") => sequence,
        Some("stateDiagram-v2") => states,
        Some("flowchart LR" | "flowchart TD") => flowchart,
        other => return Err(format!("a picture begins with {other:?}")),
    };
    let (mut known, mut depth) = (Vec::new(), 0_usize);
    for line in lines {
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "alt" | "opt" | "loop" | "subgraph" if line.len() > word.len() => depth += 1,
            "else" if depth > 0 => {}
            "end" if depth > 0 && line == "end" => depth -= 1,
            _ if rule(line, &mut known) => {}
            _ => return Err(format!("`{line}`")),
        }
    }
    if depth == 0 { Ok(()) } else { Err("a part of it has no `end`".into()) }
}

/// `participant A as …`, `A->>B: …`, `Note over A,B: …`, of participants that were named.
fn sequence(line: &str, known: &mut Vec<String>) -> bool {
    if let Some(named) = line.strip_prefix("participant ") {
        let (name, shown) = named.split_once(" as ").unwrap_or((named, named));
        known.push(name.to_owned());
        return is_name(name) && is_text(shown);
    }
    let Some((who, text)) = line.split_once(": ") else { return false };
    let who: Vec<_> = match who.strip_prefix("Note over ") {
        Some(over) => over.split(',').collect(),
        None => match who.split_once("-->>").or_else(|| who.split_once("->>")) {
            Some((from, to)) => vec![from, to],
            None => return false,
        },
    };
    is_text(text) && who.iter().all(|name| known.iter().any(|known| known == name))
}

/// `a --> b: …`, of states that are words, or the ends `[*]`.
fn states(line: &str, _: &mut Vec<String>) -> bool {
    let (states, text) = line.split_once(": ").unwrap_or((line, "always"));
    let Some((from, to)) = states.split_once(" --> ") else { return false };
    is_text(text) && [from, to].iter().all(|state| *state == "[*]" || is_name(state))
}

/// `a["…"]`, and `a -- "…" --> b` or `a --> b` of boxes that were drawn.
fn flowchart(line: &str, known: &mut Vec<String>) -> bool {
    if let Some((name, shown)) = line.split_once("[\"") {
        known.push(name.to_owned());
        return is_name(name) && shown.strip_suffix("\"]").is_some_and(is_text);
    }
    let Some((from, to)) = line.split_once(" --> ") else { return false };
    let (from, label) = from.split_once(" -- ").unwrap_or((from, "\"next\""));
    let labelled = label.strip_prefix('"').and_then(|label| label.strip_suffix('"')).is_some_and(is_text);
    labelled && [from, to].iter().all(|name| known.iter().any(|known| known == name))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Text that ends no line and no box early.
fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains([';', '#', '"', '[', ']', '{', '}', '<', '>'])
}

#[test]
fn a_picture_that_cannot_be_read_is_found() {
    let check = |text: &'static str| check(&Block { page: crate::page::GUIDE, tag: "mermaid", text, line: 1 });
    assert_eq!(check("sequenceDiagram\nparticipant A\nparticipant B as The server\nA->>B: call\n"), Ok(()));
    assert_eq!(check("stateDiagram-v2\n[*] --> working\nworking --> [*]: it ends\n"), Ok(()));
    assert_eq!(check("flowchart LR\na[\"One\"]\nb[\"Two\"]\na -- \"then\" --> b\n"), Ok(()));
    for wrong in [
        "pie\n",
        "sequenceDiagram\nA->>B: unknown\n",
        "sequenceDiagram\nparticipant A\nA->>A no text\n",
        "sequenceDiagram\nparticipant A\nloop often\nA->>A: call\n",
        "stateDiagram-v2\nworking -> done\n",
        "flowchart LR\na[\"One\"]\na --> b\n",
        "flowchart LR\na[\"One]\n",
    ] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}
