//! A person who is asked: every kind of field, no, nothing, a page to visit, several rounds, a task.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::demo::Demo;
use crate::person::{CTRL_C, DOWN, ENTER, ESC, Person};
use crate::program::{MRTR, run, run_with};
use crate::stub::Stub;

#[test]
fn every_kind_of_field_is_asked_in_its_own_way() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let mut person = Person::types_command(folder.path(), &["call", &demo.url, "book_table"]);
    person.sees("asks, for `book_table`:");
    person.sees("Name");
    person.enters("A");
    person.sees("expected 2 to 40 characters");
    person.enters("da");
    person.sees("E-mail");
    person.enters("ada");
    person.sees("expected an e-mail address");
    person.enters("@example.com");
    person.sees("Day");
    person.enters("tomorrow");
    person.sees("expected a date");
    person.enters(&format!("{}2026-12-24", "\x7f".repeat(8)));
    person.sees("Guests [2]");
    person.enters("13");
    person.sees("expected 1 to 12");
    person.enters("\x7f\x7f");
    person.sees("Distance from the kitchen");
    person.enters("4.5");
    person.sees("Outside (y/n)");
    person.enters("n");
    person.sees("Menu");
    person.sees("Vegan");
    person.types(DOWN);
    person.types(DOWN);
    person.types(ENTER);
    person.sees("Seating (optional)");
    person.sees("Where it is quiet");
    person.enters("quiet");
    person.sees("Extras (optional)");
    person.sees("A place for a dog");
    person.types(" ");
    person.types(DOWN);
    person.types(DOWN);
    person.types(" ");
    person.types(ENTER);
    person.sees("Note (optional)");
    person.types(ENTER);
    let booked = concat!(
        r#"Booked: {"name":"Ada","mail":"ada@example.com","day":"2026-12-24","guests":2,"distance":4.5,"#,
        r#""outside":false,"menu":"Vegan","seating":"corner","extras":["chair","dog"],"note":null}"#
    );
    person.gets(booked);
}

#[test]
fn a_question_may_be_declined_or_left() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let mut person = Person::types_command(folder.path(), &["call", &demo.url, "book_table"]);
    person.sees("Name");
    person.types(ESC);
    person.sees("Decline: say no to the server");
    // Esc goes back.
    person.types(ESC);
    person.sees("Name");
    person.sees("Esc for no answer");
    person.types(ESC);
    person.sees("Decline: say no to the server");
    person.types(ENTER);
    person.gets("No table was booked: you declined");

    let mut person = Person::types_command(folder.path(), &["call", &demo.url, "book_table"]);
    person.sees("Name");
    person.types(ESC);
    person.sees("Cancel: leave it unanswered");
    person.types(DOWN);
    person.types(ENTER);
    person.gets("No table was booked: you left the question");
}

#[test]
fn three_rounds_go_over_standard_input_and_output_and_are_traced() {
    let folder = tempfile::tempdir().unwrap();
    let server = format!("{MRTR} serve --stdio");
    let call = ["call", "--stdio", &server, "update_work_item", "workItemId=4522", "--trace"];
    let mut person = Person::types_command(folder.path(), &call);
    person.sees("→ tools/call update_work_item");
    person.sees("\"workItemId\": 4522");
    person.sees("← input_required");
    person.sees("\"requestState\": \"mrtr1x.process.");
    person.sees("bytes)");
    person.sees("Resolution");
    person.enters("Duplicate");
    person.sees("→ tools/call update_work_item");
    person.sees("\"resolution\": \"Duplicate\"");
    person.sees("Original work item");
    person.enters("4301");
    person.sees("← complete");
    person.gets("Bug #4522 resolved as duplicate of #4301");
}

#[test]
fn a_page_is_visited_before_the_call_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let mut person = Person::types_command(folder.path(), &["call", &demo.url, "connect"]);
    person.sees("Please connect your account on this page.");
    person.sees("Will you visit this URL? (y/n)");
    person.enters("y");
    person.sees("Open this in your browser: ");
    let url = person.sees("\r\n");
    // Consent is no visit: the server asks again, and the person is asked otherwise.
    person.sees("still waits for this page:");
    let asked = person.sees("Try again? (y/n)");
    assert!(!asked.contains("Will you visit"), "{asked}");
    visit(&url);
    person.types(ENTER);
    person.gets("Your account is connected.");
}

/// Presses the button of a page.
fn visit(url: &str) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut connection = TcpStream::connect(host).unwrap();
    write!(connection, "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut page = String::new();
    connection.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}

#[test]
fn a_task_is_followed_asked_and_interrupted_and_followed_again() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]);
    let mut person = Person::types_command(folder.path(), &["call", &demo.url, "echo", "seconds=3"]);
    person.sees("the call has become task ");
    person.sees("Words");
    person.enters("hello");
    person.sees("the task runs");
    // Wait until the server has the answer, as its file shows.
    let is_asked =
        || run(folder.path(), &["tasks", "list", "--db", "tasks.sqlite"]).out.contains("answers to echo_input");
    while is_asked() {}
    person.types(CTRL_C);
    person.sees("interrupted: the task continues at the server");
    person.sees("the call is saved: mrtr resume mrtr-echo.call.json");
    person.sees("to end it instead: mrtr resume mrtr-echo.call.json --cancel");
    assert_eq!(person.waits().1, 130);
    let person = Person::types_command(folder.path(), &["resume", "mrtr-echo.call.json"]);
    person.gets("Echo: hello");
    assert!(!folder.path().join("mrtr-echo.call.json").exists(), "what is done is gone");
}

/// A server that asks the person to visit this URL, and returns the answer that it got.
fn asks_to_visit(url: &'static str) -> Stub {
    Stub::start(move |message, _| {
        let answer = &message["params"]["inputResponses"]["connect"]["action"];
        let result = match answer.as_str() {
            _ if message["method"] == "tools/list" => return Some(("200 OK", crate::stub::list(message))),
            Some(action) => json!({ "resultType": "complete", "content": [{ "type": "text", "text": action }] }),
            None => json!({ "resultType": "input_required", "requestState": "sealed", "inputRequests": {
                "connect": { "method": "elicitation/create", "params": { "mode": "url", "message": "Go", "url": url } } } }),
        };
        Some(("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
    })
}

#[test]
fn only_pages_on_the_web_are_offered_to_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    for (url, why) in [
        ("javascript:alert(1)", "it asks to open a `javascript:` URL; only https is opened"),
        ("JavaScript://example.com/%0aalert(1)", "it asks to open a `javascript:` URL"),
        ("file:///etc/passwd", "it asks to open a `file:` URL"),
        ("data:text/html,x", "it asks to open a `data:` URL"),
        ("ms-settings:privacy", "it asks to open a `ms-settings:` URL"),
        ("http://example.com/pay", "it asks to open a page at example.com without encryption"),
        ("http://localhost.example.com/", "it asks to open a page at localhost.example.com"),
        ("https:///pay", "whose host cannot be read"),
        ("https://%65xample.com/", "whose host cannot be read"),
    ] {
        let stub = asks_to_visit(url);
        let mut person = Person::types_command(folder.path(), &["call", &stub.url, "wait", "--save", "call.json"]);
        // The command saves the call at once, and does not tell the person to visit the page.
        person.sees("not to be opened:");
        let (_, code) = person.waits();
        assert_eq!(code, 4);
        let mut person = Person::types_command(folder.path(), &["resume", "call.json"]);
        let before = person.sees("`connect` was not answered: ");
        assert!(!before.contains("Will you visit"), "{before}");
        person.sees(why);
        assert_eq!(person.waits().1, 4);
        // A file of answers cannot agree to it either; a no is sent.
        let resume = ["resume", "call.json", "--answers", "-"];
        run_with(folder.path(), &resume, r#"{"connect": true}"#).says(4, &[why, r#"{"connect":false}"#]);
        run_with(folder.path(), &resume, r#"{"connect": false}"#).gives("decline\n");
    }
}

#[test]
fn a_punycode_host_is_shown_as_such() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["https://xn--pple-43d.com/login", "https://www.XN--pple-43d.com/login"] {
        let stub = asks_to_visit(url);
        let mut person = Person::types_command(folder.path(), &["call", &stub.url, "wait"]);
        person.sees(url);
        person.sees("--pple-43d.com, which is punycode: a browser may show it in letters that look like another name");
        person.sees("Will you visit this URL? (y/n)");
        person.enters("y");
        person.gets("accept");
    }
}
