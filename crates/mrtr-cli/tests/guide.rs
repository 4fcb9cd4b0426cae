//! Types the guide's commands, as a reader would.

use std::process::Command;

const PAGES: [&str; 5] = [
    include_str!("../../../docs/GUIDE.md"),
    include_str!("../../../docs/guide/SERVERS.md"),
    include_str!("../../../docs/guide/HOSTS.md"),
    include_str!("../../../docs/guide/DEPLOYMENT.md"),
    include_str!("../../../docs/guide/FAQ.md"),
];

#[test]
fn every_command_that_the_guide_names_is_there() {
    let spans = PAGES.iter().flat_map(|page| page.split('`').skip(1).step_by(2));
    let commands: Vec<_> = spans.filter_map(|span| span.strip_prefix("mrtr ")).collect();
    assert!(commands.len() > 5, "only {commands:?} were found");
    for words in commands {
        // With `--help` nothing is done, and every word before it is read all the same.
        let mut mrtr = Command::new(env!("CARGO_BIN_EXE_mrtr"));
        let output = mrtr.args(words.split_whitespace()).arg("--help").output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`mrtr {words}`: {said}");
    }
}
