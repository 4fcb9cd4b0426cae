//! Types the guide's commands, as a reader would.

use std::process::Command;

const PAGES: [&str; 5] = [
    include_str!("../../../docs/GUIDE.md"),
    include_str!("../../../docs/guide/SERVERS.md"),
    include_str!("../../../docs/guide/HOSTS.md"),
    include_str!("../../../docs/guide/DEPLOYMENT.md"),
    include_str!("../../../docs/guide/FAQ.md"),
];

/// A container is started by lists of words, since it has no shell to split a line.
#[test]
fn every_list_of_words_in_the_container_file_is_a_command() {
    let file = include_str!("../../../examples/deployment/mrtr.Dockerfile");
    let lists = file.lines().filter_map(|line| Some(&line[line.find('[')?..]));
    let lists = lists.map(|list| serde_json::from_str::<Vec<String>>(list).expect("it is a list of words"));
    let mut subcommands = Vec::new();
    for list in lists {
        let mut words = list.into_iter().filter(|word| word != "/usr/local/bin/mrtr").peekable();
        subcommands.extend(words.peek().cloned());
        let output = Command::new(env!("CARGO_BIN_EXE_mrtr")).args(words).arg("--help").output();
        let output = output.expect("it can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(subcommands, ["tools", "serve"]);
}

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
