//! The README's first command is the tour, and its first story looks as the README shows it.

use std::process::Command;

const README: &str = include_str!("../../../README.md");

#[test]
fn the_first_command_is_the_tour_and_shows_what_the_readme_says() {
    let after_set_up = README.split("\n```sh\n").nth(2).expect("there is a command after the set-up");
    assert!(after_set_up.starts_with("cargo run -p mrtr-cli -- tour\n```\n"), "{after_set_up}");
    let promised = README.split("\n```text\n").nth(1).and_then(|rest| rest.split("\n```").next());
    let promised = promised.expect("it shows a session");

    let mut tour = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    let output = tour.args(["tour", "--story", "weather"]).output().expect("the command is built");
    let shown = String::from_utf8(output.stdout).expect("it prints text");
    let (_, story) = shown.split_once("\n\n").expect("a story follows the opening");
    let (story, _) = story.split_once("\n\n1 story, ").expect("it ends with what was checked");
    assert_eq!(without_weights(story), without_weights(promised), "{shown}");
}

/// Hides the weights of states: they differ by a few bytes with the time and with chance.
fn without_weights(text: &str) -> String {
    let line = |line: &str| match line.split_once("state ") {
        Some((before, weight)) if weight.ends_with(" bytes") => format!("{before}state … bytes"),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
