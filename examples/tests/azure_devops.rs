//! The example that everything is measured by: short, and it does what it says.

use std::process::Command;

/// The bar for how little an author writes.
const MOST_LINES: usize = 35;

#[test]
fn its_handler_and_server_are_at_most_35_lines_with_their_use_lines() {
    let source = include_str!("../azure_devops.rs");
    let (author, _) = source.split_once("// ---- What plays").expect("the driver begins there");
    let lines = author.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//!"));
    assert!(lines.clone().count() <= MOST_LINES, "{} lines", lines.count());
}

#[test]
fn it_asks_twice_and_links_once() {
    let output = Command::new(env!("CARGO_BIN_EXE_azure_devops"))
        .env("MRTR_STATE_KEYS", "tracker=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=")
        .output()
        .expect("the example is built");
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = "asked: [\"resolution\"]\nasked: [\"duplicate_of\"]\n\
        tracker: #4522 is linked to #4301 (1 links made)\ndone: Bug #4522 resolved as duplicate of #4301\n";
    assert_eq!(printed, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
