//! Help that teaches, and completions.

use crate::program::run;

#[test]
fn every_command_shows_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let overview = run(folder.path(), &["--help"]);
    assert!(overview.out.contains("mrtr call http://localhost:8000/mcp weather city=Oslo"), "{}", overview.out);
    let commands =
        overview.out.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<_> =
        commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let help = run(folder.path(), &[command, "--help"]);
        assert!(help.out.contains("xamples:") && help.out.contains(&format!("mrtr {command}")), "{}", help.out);
    }
}

#[test]
fn the_help_of_a_rotation_says_when_each_step_is_due() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["keys", "rotate", "--help"]).out;
    for said in ["once every instance has it", "an hour, unless the server's author set another", "Print help\n"] {
        assert!(help.contains(said), "{said}: {help}");
    }
}

#[test]
fn shells_are_helped_to_complete() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(folder.path(), &["completions", shell]);
        assert!(script.code == Some(0) && script.out.contains("sample-with"), "{shell}");
    }
    run(folder.path(), &["completions", "csh"]).says(2, &["invalid value 'csh'"]);
}
