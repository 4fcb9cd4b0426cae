//! `mrtr tour`, as the process that a person starts.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use expectrl::Expect as _;
use mrtr_postgres_cluster::Cluster;
use serde_json::Value;
use tempfile::TempDir;

/// Each story's name, its heading, and the number of its claims.
const STORIES: [(&str, &str, usize); 9] = [
    ("weather", "Weather with a login", 3),
    ("azure-devops", "Azure DevOps in three rounds", 4),
    ("rolling-upgrade", "A rolling upgrade between two versions", 4),
    ("load-shedding", "Load shedding between two instances", 4),
    ("mixed-kinds", "Mixed kinds in one round", 4),
    ("echo-task", "The echo task, its server killed while it waits", 4),
    ("lost-reply", "A charge that is not made twice", 4),
    ("two-eras", "The same handler for a client of 2025", 4),
    ("fleet", "Three instances, one key, one PostgreSQL", 6),
];

/// The stories that can be played here: the last one needs PostgreSQL. In CI it is there.
fn playable() -> &'static [(&'static str, &'static str, usize)] {
    let is_there = Cluster::is_installed();
    assert!(is_there || std::env::var_os("CI").is_none(), "PostgreSQL is not installed, and CI leaves nothing out");
    if is_there { &STORIES } else { &STORIES[..STORIES.len() - 1] }
}

/// The command, with a folder of its own for what it keeps while it runs.
fn tour(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    command.arg("tour").args(arguments).env("TMPDIR", folder).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.env_remove("CARGO");
    command
}

/// A folder for what it keeps. Others may pass through it: PostgreSQL does not run as root.
fn folder() -> TempDir {
    let mut folder = tempfile::Builder::new();
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    folder.tempdir().unwrap()
}

/// Runs it to its end, and checks that it leaves nothing behind.
fn ended(arguments: &[&str]) -> (Output, String) {
    let folder = folder();
    let output = tour(folder.path(), arguments).output().unwrap();
    assert_nothing_left(folder.path());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

fn assert_nothing_left(folder: &Path) {
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.is_empty(), "files are left: {files:?}");
    // The process of a story gets a file in this folder.
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(|process| {
        let command = std::fs::read(process.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).into_owned())
    });
    let left: Vec<_> = processes.filter(|command| command.contains(&*folder.to_string_lossy())).collect();
    assert!(left.is_empty(), "processes are left: {left:?}");
}

#[test]
fn it_shows_every_story_and_all_that_it_claims_holds() {
    let (output, text) = ended(&[]);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let left_out = String::from_utf8_lossy(&output.stderr).contains("left out: the story fleet, since PostgreSQL");
    assert_eq!(left_out, playable().len() < STORIES.len());
    for (number, (name, title, _)) in (1..).zip(playable()) {
        let heading = text.lines().find(|line| line.starts_with(&format!("{number}. {title}")));
        assert!(heading.unwrap_or_else(|| panic!("{title} is not told: {text}")).ends_with(&format!("({name})")));
    }
    let claims: usize = playable().iter().map(|(.., claims)| claims).sum();
    assert_eq!(text.lines().filter(|line| line.starts_with("✓ ")).count(), claims, "{text}");
    assert!(text.contains(&format!("{} stories, {claims} claims checked: all hold.", playable().len())), "{text}");
    // It ends with what to try next.
    let (_, next) = text.split_once("What to try next").unwrap();
    for command in ["mrtr serve", "mrtr call URL TOOL", "docs/HOSTS.md"] {
        assert!(next.contains(command), "{next}");
    }
    // Someone who installed the command does not have the repository's files.
    for page in text.split_whitespace().filter(|word| word.contains(".md")) {
        assert!(page.starts_with("https://"), "{page} is not a link");
    }
}

#[test]
fn it_fits_a_narrow_terminal_and_a_pipe_gets_no_colours() {
    let (_, text) = ended(&[]);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[cfg(unix)]
#[test]
fn a_terminal_gets_colours_unless_it_wants_none() {
    let folder = folder();
    let command = || tour(folder.path(), &["--story", "weather"]);
    let mut plain = command();
    plain.env("NO_COLOR", "1");
    let (coloured, plain) = (on_a_terminal(command()), on_a_terminal(plain));
    assert!(coloured.contains("\u{1b}[1m1. Weather with a login\u{1b}[0m"), "{coloured:?}");
    assert!(plain.contains("1. Weather with a login") && !plain.contains('\u{1b}'), "{plain:?}");
}

/// The text that a program shows on a terminal.
#[cfg(unix)]
fn on_a_terminal(mut command: Command) -> String {
    command.env("TERM", "xterm");
    let mut session = expectrl::Session::spawn(command).unwrap();
    session.set_expect_timeout(Some(std::time::Duration::from_mins(1)));
    let shown = session.expect(expectrl::Eof).unwrap();
    String::from_utf8_lossy(shown.as_bytes()).into_owned()
}

#[test]
fn its_drawing_has_who_to_whom_what_is_asked_what_a_state_weighs_and_effects() {
    let (_, text) = ended(&["--story", "rolling-upgrade"]);
    for line in [
        "  client   v1   v2",
        "     ├─────►│    │  tools/call link_accounts",
        "     │      │    │    ? google_login: Your name at Google?",
        "     │      ✗    │  version 1 is replaced",
        "     │           │    = github_login: name=\"ada-at-github\"",
        "     │           ●  links ada-at-github and ada-at-microsoft",
    ] {
        assert!(text.lines().any(|shown| shown == line), "there is no\n{line}\nin\n{text}");
    }
    let weight = text.lines().find_map(|line| line.split_once("│◄─────┤    │  input_required  state ")).unwrap().1;
    assert!(weight.trim_end_matches(" bytes").parse::<usize>().unwrap() > 100, "{weight}");
}

#[test]
fn its_json_has_each_story_with_its_messages() {
    let (output, text) = ended(&["--json"]);
    assert!(output.status.success() && !text.contains('\u{1b}'));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["holds"], true);
    let stories = document["stories"].as_array().unwrap();
    assert_eq!(stories.len(), playable().len());
    for (story, &(name, title, claims)) in stories.iter().zip(playable()) {
        assert_eq!((&story["name"], &story["title"]), (&name.into(), &title.into()));
        let events = story["events"].as_array().unwrap();
        let messages: Vec<_> = events.iter().filter(|event| event["kind"] == "message").collect();
        // A request and a reply each, at least twice; whole, as they were seen.
        assert!(messages.len() >= 4, "{story}");
        assert!(messages.iter().all(|message| message["message"]["jsonrpc"] == "2.0"), "{story}");
        assert!(messages.iter().any(|message| message["message"]["method"] == "tools/call"), "{story}");
        assert!(messages.iter().all(|message| message["bytes"].as_u64() > message["stateBytes"].as_u64()), "{story}");
        let held: Vec<_> = story["claims"].as_array().unwrap().iter().map(|claim| &claim["holds"]).collect();
        assert_eq!(held, vec![&Value::Bool(true); claims], "{story}");
    }
    assert!(stories[6]["events"].as_array().unwrap().iter().any(|event| event["kind"] == "lost"), "{}", stories[6]);
}

#[test]
fn it_kills_a_real_process_and_another_one_goes_on() {
    let (_, text) = ended(&["--story", "echo-task"]);
    let after =
        |words: &str| text.lines().find_map(|line| line.split_once(words)).unwrap_or_else(|| panic!("{text}")).1;
    let (killed, next): (u32, u32) = (after("kill -9 ").parse().unwrap(), after("as process ").parse().unwrap());
    assert_ne!(killed, next);
    let shown = |words| text.find(words).unwrap_or_else(|| panic!("no {words}: {text}"));
    assert!(shown("● ") < shown("kill -9 ") && shown("kill -9 ") < shown("tasks/update"), "{text}");
}

#[test]
fn stories_can_be_listed_and_chosen() {
    let (output, text) = ended(&["--list"]);
    assert!(output.status.success());
    let listed: Vec<_> = text.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let expected: Vec<_> = STORIES.iter().map(|(name, title, _)| (*name, *title)).collect();
    assert_eq!(listed.into_iter().map(|(name, title)| (name, title.trim_start())).collect::<Vec<_>>(), expected);

    let (_, text) = ended(&["--story", "weather", "--story", "lost-reply"]);
    let headings: Vec<_> = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).collect();
    assert_eq!(headings.len(), 3, "two stories and the end: {text}");
    assert!(headings[0].ends_with("(weather)") && headings[1].ends_with("(lost-reply)"), "{text}");
}

#[test]
fn a_story_that_is_not_there_is_refused_with_those_that_are() {
    let (output, _) = ended(&["--story", "flood"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("flood"), "{error}");
    for (name, ..) in STORIES {
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn what_keeps_a_story_from_its_end_fails_the_tour() {
    let folder = TempDir::new().unwrap();
    let output = tour(&folder.path().join("not-there"), &["--story", "weather"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: weather: there is no room for a temporary folder"), "{error}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    // A tour that ended before the interrupt shows nothing: then the test starts another one.
    assert!((0..20).any(|_| is_interrupted_in_the_middle()), "no tour was slow enough");
}

/// Interrupts the tour while its story has a process of its own. Returns false if the story was over by then.
#[cfg(unix)]
fn is_interrupted_in_the_middle() -> bool {
    let folder = folder();
    let mut tour = tour(folder.path(), &["--story", "echo-task"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tour.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("task working")));
    let id = rustix::process::Pid::from_child(&tour);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let ended = tour.wait().unwrap();
    assert_nothing_left(folder.path());
    assert!([Some(130), Some(0)].contains(&ended.code()), "{ended:?}");
    ended.code() == Some(130)
}
