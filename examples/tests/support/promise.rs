//! Checks what the header of an example promises against what its program prints.

use std::process::{Command, Output};

/// Runs an example to its end, and compares.
#[allow(dead_code, reason = "not every test has an example that ends")]
#[track_caller]
pub(crate) fn assert_kept(command: &mut Command, source: &str) {
    let output = command.output().expect("the example is built");
    assert!(output.status.success(), "{}", all_of(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(is_kept(source, &printed), "the header promises\n{}\n{}", promised(source).join("\n"), all_of(&output));
}

/// Returns true if these are the lines that the header shows, in which `…` stands for anything.
pub(crate) fn is_kept(source: &str, printed: &str) -> bool {
    let (promised, printed): (Vec<_>, Vec<_>) = (promised(source), printed.lines().collect());
    assert!(!promised.is_empty(), "the header shows nothing");
    promised.len() == printed.len() && promised.iter().zip(printed).all(|(promised, line)| is_like(promised, line))
}

/// The lines of the block of text in the header.
fn promised(source: &str) -> Vec<&str> {
    let header =
        source.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
    header.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect()
}

fn is_like(promised: &str, line: &str) -> bool {
    let mut parts = promised.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    for part in parts {
        if part.is_empty() {
            return !rest.is_empty();
        }
        let Some(at) = rest.find(part).filter(|at| *at > 0) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

fn all_of(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}: it printed\n{out}\nand logged\n{err}", output.status)
}
