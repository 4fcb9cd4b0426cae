//! The terminal handler, driven through a pseudo-terminal and through a pipe, against a server over real HTTP.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use expectrl::session::OsSession;
use expectrl::{Eof, Expect, Session};

const ASKER: &str = env!("CARGO_BIN_EXE_terminal_asker");
const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";
const ESC: &str = "\x1b";
const CTRL_C: &str = "\x03";

/// A person at a terminal.
struct Person(OsSession);

impl Person {
    fn before(tool: &str) -> Self {
        let mut command = Command::new(ASKER);
        command.arg(tool).env("NO_COLOR", "1");
        let mut session = Session::spawn(command).expect("the program starts");
        session.set_expect_timeout(Some(Duration::from_mins(1)));
        Self(session)
    }

    /// Waits for a text, and gives what came before it.
    fn sees(&mut self, text: &str) -> String {
        let seen = self.0.expect(text).unwrap_or_else(|error| panic!("`{text}` does not come: {error}"));
        String::from_utf8_lossy(seen.before()).into_owned()
    }

    fn types(&mut self, keys: &str) {
        self.0.send(keys).expect("the program reads");
    }

    /// Returns what the program says at its end.
    fn hears(mut self, word: &str) -> String {
        self.sees(word);
        let rest = self.0.expect(Eof).expect("it ends");
        String::from_utf8_lossy(rest.as_bytes()).trim().to_owned()
    }
}

#[test]
fn every_kind_of_field_is_asked_in_its_own_way_and_what_does_not_fit_is_asked_again() {
    let mut person = Person::before("everything");
    let who = person.sees("asks, for `everything`:");
    assert!(who.contains("http://127.0.0.1:") && !who.contains("secret"), "{who}");
    person.sees("  Please tell us\r\n");
    let message = person.sees("all about you");
    assert!(message.contains(r"\u{1b}[2J"), "it is escaped: {message}");

    person.sees("Full name");
    person.sees("As in your passport · 2 to 20 characters");
    person.types("A");
    person.types(ENTER);
    person.sees("expected 2 to 20 characters");
    person.types("da");
    person.types(ENTER);

    person.sees("E-mail");
    person.types("ada");
    person.types(ENTER);
    person.sees("expected an e-mail address");
    person.types("@example.com");
    person.types(ENTER);

    person.sees("Height");
    person.types("tall");
    person.types(ENTER);
    person.sees("not a number");
    person.types("\x7f\x7f\x7f\x7f1.70");
    person.types(ENTER);

    person.sees("Copies [3]");
    person.sees("a whole number, 1 to 9");
    person.types("0");
    person.types(ENTER);
    person.sees("expected 1 to 9");
    person.types("\x7f");
    person.types(ENTER);

    person.sees("News (y/n)");
    person.types(ENTER);
    person.sees("an answer is needed");
    person.types("y");
    person.types(ENTER);

    person.sees("Color");
    person.sees("Blue");
    person.types(DOWN);
    person.types(ENTER);

    person.sees("Size (optional)");
    person.sees("Fits a giant");
    person.sees("(left empty)");
    person.types("giant");
    person.types(ENTER);

    person.sees("Country");
    person.sees("Finland");
    person.types(DOWN);
    person.types(ENTER);

    person.sees("Toppings");
    person.sees("Blue");
    person.types(ENTER);
    person.sees("expected at least 1 option");
    person.types(" ");
    person.types(DOWN);
    person.types(DOWN);
    person.types(" ");
    person.types(ENTER);

    person.sees("Extras (optional)");
    person.sees("Fits a giant");
    person.types(ENTER);

    person.sees("Note (optional)");
    person.types(ENTER);
    person.sees("(left empty)");

    let result = person.hears("result: ");
    let expected = concat!(
        r#"{"name":"Ada","mail":"ada@example.com","height":1.7,"copies":3,"news":true,"color":"Green","size":"large","#,
        r#""country":"fi","toppings":["Red","Blue"],"extras":null,"note":null}"#
    );
    assert_eq!(result, expected);
}

#[test]
fn esc_declines() {
    let mut person = Person::before("login");
    person.sees("User name");
    person.types(ESC);
    person.sees("Decline: say no to the server");
    person.types(ENTER);
    assert_eq!(person.hears("result: "), "declined");

    let mut person = Person::before("login");
    person.sees("User name");
    person.types(ESC);
    person.sees("Decline: say no to the server");
    // Esc in the menu goes back.
    person.types(ESC);
    person.sees("User name");
    person.sees("Esc for no answer");
    person.types("ada");
    person.types(ENTER);
    assert_eq!(person.hears("result: "), "hello ada");
}

#[test]
fn a_question_may_be_left_unanswered_or_gone_back_to() {
    let mut person = Person::before("login");
    person.sees("User name");
    person.types(ESC);
    person.sees("Go back to the question");
    person.types(DOWN);
    person.types(DOWN);
    person.types(ENTER);
    person.sees("User name");
    person.sees("Esc for no answer");
    person.types(ESC);
    person.sees("Cancel: leave it unanswered");
    person.types(DOWN);
    person.types(ENTER);
    assert_eq!(person.hears("result: "), "cancelled");
}

#[test]
fn ctrl_c_ends_the_call_with_an_error_that_carries_it() {
    let mut person = Person::before("login");
    person.sees("User name");
    person.types(CTRL_C);
    assert_eq!(person.hears("error: "), "`login` was not answered: interrupted by Ctrl-C (open: login)");
}

#[test]
fn questions_of_one_round_are_asked_one_after_the_other() {
    let mut person = Person::before("two_at_once");
    let mut answers = Vec::new();
    let between = |seen: String| assert!(!seen.contains("asks"), "the other question comes later: {seen}");
    for name in ["ada", "bob"] {
        person.sees("asks, for `two_at_once`:");
        let is_first = person.sees("?").contains("The first");
        between(person.sees("User name"));
        person.types(name);
        person.sees(name);
        person.types(ENTER);
        answers.push((!is_first, name));
    }
    answers.sort_unstable();
    assert_eq!(person.hears("result: "), format!("{} and {}", answers[0].1, answers[1].1));
}

#[test]
fn a_url_is_shown_whole_and_visited_or_not() {
    let url = format!("https://bank.example@example.com/connect?account=1&why={}", "because-".repeat(20));
    let mut person = Person::before("connect");
    person.sees("asks, for `connect`:");
    person.sees("Please connect your account");
    person.sees(&url);
    person.sees("(the host is example.com)");
    let asked = person.sees("Will you visit this URL? (y/n)");
    assert!(!asked.contains("Open this"), "{asked}");
    person.types("y");
    person.types(ENTER);
    person.sees("Open this in your browser: ");
    person.sees(&url);
    assert_eq!(person.hears("result: "), "connected");

    let mut person = Person::before("connect");
    person.sees("Will you visit this URL? (y/n)");
    person.types("n");
    person.types(ENTER);
    assert!(person.hears("result: ").contains("declined"));

    let mut person = Person::before("connect");
    person.sees("Will you visit this URL? (y/n)");
    person.types(CTRL_C);
    assert!(person.hears("error: ").contains("(open: connect)"));
}

/// Returns what a program says on both its outputs when these answers are piped in.
fn piped(program: &str, tool: &str, answers: &str) -> (String, String) {
    let mut command = Command::new(program);
    command.arg(tool).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("the program starts");
    process.stdin.take().expect("it is piped").write_all(answers.as_bytes()).expect("the program reads");
    let output = process.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it writes text");
    assert!(output.status.success(), "{}", text(output.stderr));
    (text(output.stdout), text(output.stderr))
}

#[test]
fn answers_may_be_piped_in_a_line_a_field() {
    let answers = "A\nAda\nada@example.com\n1.7\n\nyes\n2\n\nFinland\nRed, 3\nFits a child\nFine\n";
    let (result, prompts) = piped(ASKER, "everything", answers);
    let expected = concat!(
        r#"result: {"name":"Ada","mail":"ada@example.com","height":1.7,"copies":3,"news":true,"color":"Green","#,
        r#""size":null,"country":"fi","toppings":["Red","Blue"],"extras":["small"],"note":"Fine"}"#,
        "\n"
    );
    assert_eq!(result, expected, "{prompts}");
    for shown in [
        "? Full name: A\n# expected 2 to 20 characters\n? Full name: Ada\n",
        "  a whole number, 1 to 9\n? Copies [3]: \n",
        "  1. Red\n  2. Green\n  3. Blue\n? Color: 2\n",
        "? Toppings, separated by commas: Red, 3\n",
    ] {
        assert!(prompts.contains(shown), "{shown}\nin\n{prompts}");
    }
}

#[test]
fn a_pipe_that_ends_ends_the_call_and_esc_declines_in_it_too() {
    let (error, prompts) = piped(ASKER, "login", "");
    assert_eq!(
        error,
        "error: `login` was not answered: the input ended before the question was answered (open: login)\n"
    );
    assert!(prompts.ends_with("? User name: \n"), "{prompts}");
    assert_eq!(piped(ASKER, "login", "\u{1b}\n").0, "result: declined\n");
    assert_eq!(piped(ASKER, "connect", "yes\n").0, "result: connected\n");
    assert_eq!(piped(ASKER, "login", "no end of line").0, "result: hello no end of line\n");
}

#[test]
fn the_example_shows_questions_answers_rounds_and_the_result() {
    let (result, prompts) = piped(env!("CARGO_BIN_EXE_terminal_client"), "", "Duplicate\n4301\n");
    assert_eq!(result, "Bug resolved as duplicate of #4301\n");
    for shown in [
        "-- round 1\n",
        "How was this bug resolved?",
        "? resolution: Duplicate\n",
        "? work_item: 4301\n",
        "-- round 2\n",
    ] {
        assert!(prompts.contains(shown), "{shown} in {prompts}");
    }
}
