//! Scripts: answers from a file, results on standard output, exit codes.

use std::fs;

use crate::demo::Demo;
use crate::program::{MRTR, run, run_with};

#[test]
fn answers_come_from_a_file_and_only_the_result_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    fs::write(folder.path().join("answers.json"), r#"{"login": {"user": "ada"}, "lgin": {}}"#).unwrap();
    let ran = run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--answers", "answers.json"]);
    ran.gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
    assert_eq!(ran.err, "never asked: lgin\n");
    let ran = run(
        folder.path(),
        &["call", &demo.url, "weather", "--json", r#"{"city": "Oslo"}"#, "--answers", "answers.json", "--json-output"],
    );
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["content"][0]["text"], "Oslo: 12 °C and light rain. Take an umbrella, ada.");
}

#[test]
fn every_kind_of_answer_can_be_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let call =
        |tool: &str, answers: &str| run_with(folder.path(), &["call", &demo.url, tool, "--answers", "-"], answers);
    call("book_table", r#"{"booking": "decline"}"#).gives("No table was booked: you declined\n");
    call("book_table", r#"{"booking": {"action": "cancel"}}"#).gives("No table was booked: you left the question\n");
    let content = r#"{"name": "Ada", "mail": "ada@example.com", "day": "2026-12-24", "distance": 1, "outside": true, "menu": "Fish"}"#;
    let whole = format!(r#"{{"booking": {{"action": "accept", "content": {content}}}}}"#);
    for answers in [format!(r#"{{"booking": {content}}}"#), whole] {
        let booked = call("book_table", &answers);
        assert!(booked.out.contains(r#""guests":2,"#), "the default is filled in: {}{}", booked.out, booked.err);
    }
    let unfit = content.replace("Fish", "Stones").replace("12-24", "13-24");
    call("book_table", &format!(r#"{{"booking": {unfit}}}"#))
        .says(4, &["the answer to `booking` does not fit the form: `day`: expected a date"]);
    let declined = call("connect", r#"{"connect": false}"#);
    declined.says(3, &["the tool failed:", "declined"]);
}

#[test]
fn an_answer_that_does_not_fit_is_not_sent_and_one_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let call = ["call", &demo.url, "weather", "city=Oslo", "--answers", "-"];
    run_with(folder.path(), &call, r#"{"login": {"user": "a"}}"#).says(
        4,
        &["the answer to `login` does not fit the form: `user`: expected ", "mrtr resume mrtr-weather.call.json"],
    );
    run_with(folder.path(), &call, "{}").says(
        4,
        &[
            "`login` was not answered: there is no terminal to ask at, and no answer was given",
            "asked: login: The weather is for users. Who are you? (user: text)",
            r#"--answers FILE, in which is {"login":{"user":"…"}}"#,
        ],
    );
    run_with(folder.path(), &call, "[]")
        .says(2, &["the answers from standard input are not a JSON object", "\"decline\" or \"cancel\""]);
    run_with(folder.path(), &call, "{").says(2, &["the answers from standard input are not JSON:"]);
    let call = ["call", &demo.url, "weather", "city=Oslo", "--answers", "nothing.json"];
    run(folder.path(), &call).says(2, &["the answers in nothing.json cannot be read: No such file"]);
}

#[test]
fn a_model_and_roots_are_offered_by_flag_and_otherwise_not_declared() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let call = ["call", &demo.url, "summarise", "text=War and Peace"];
    run(folder.path(), &call).says(
        4,
        &["the call needs answers to `sampling/createMessage`, and no option offers it here", "--sample-with TEXT"],
    );
    let said = run(folder.path(), &[&call[..], &["--sample-with", "Brief."]].concat());
    said.gives("Brief. (says mrtr --sample-with)\n");
    assert!(said.err.contains("asks a model: Sum this up in one sentence:\n    | War and Peace\n"), "{}", said.err);
    let command = "sh -c 'grep -o \"War and Peace\"'";
    run(folder.path(), &[&call[..], &["--sample-command", command]].concat()).gives("War and Peace (says sh)\n");
    let failed = run(folder.path(), &[&call[..], &["--sample-command", "false"]].concat());
    failed.says(4, &["`summary` was not answered: `false`: exit status: 1"]);
    let missing = run(folder.path(), &[&call[..], &["--root", "no/such/folder"]].concat());
    missing.says(2, &["`no/such/folder` is not a root", "give a folder that exists"]);
    let web = run(folder.path(), &[&call[..], &["--root", "http://x/"]].concat());
    web.says(2, &["`http://x/` is not a root: a root is a folder", "give a folder that exists"]);

    let traced =
        |more: &[&str]| run(folder.path(), &[&call[..], &["--trace", "--sample-with", "x"], more].concat()).err;
    assert!(!traced(&[]).contains("\"roots\""));
    assert!(traced(&["--root", "."]).contains("\"roots\""));
}

#[test]
fn a_charge_is_made_once_and_a_task_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let keys = crate::putting_down::made_keys(folder.path());
    let serve = ["--port", "0", "--db", "tasks.sqlite", "--state-keys", &keys];
    let demo = Demo::start_with(folder.path(), &serve);
    let consent = r#"{"consent": {"agreed": true}}"#;
    let charge = ["call", &demo.url, "charge", "cents=995", "--answers", "-"];
    run_with(folder.path(), &charge, consent).gives("Charged 9.95 €: receipt 1.\n");

    run(folder.path(), &["call", &demo.url, "echo", "--save", "echo.json"])
        .says(4, &["asked: echo_input: What shall be echoed?"]);
    let port = demo.port();
    demo.kill();
    let _demo = Demo::start_with(folder.path(), &["--port", &port, "--db", "tasks.sqlite", "--state-keys", &keys]);
    let words = r#"{"echo_input": {"input": "still there"}}"#;
    run_with(folder.path(), &["resume", "echo.json", "--answers", "-"], words).gives("Echo: still there\n");
}

#[test]
fn a_token_and_headers_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let stub = crate::stub::Stub::start(|message, head| {
        let head = head.to_ascii_lowercase();
        let is_sent = head.contains("authorization: bearer secret") && head.contains("x-tenant: acme");
        Some(if is_sent { ("200 OK", crate::stub::list(message)) } else { ("401 Unauthorized", String::new()) })
    });
    let listed = run(folder.path(), &["tools", &stub.url, "--token", "secret", "--header", "X-Tenant: acme"]);
    assert!(listed.code == Some(0) && listed.out.contains("wait"), "{}", listed.err);
    let mut command = crate::program::command(folder.path(), &["tools", &stub.url, "--header", "X-Tenant: acme"]);
    let listed = command.env("MRTR_TOKEN", "secret").output().unwrap();
    assert!(listed.status.success());
    run(folder.path(), &["tools", &stub.url, "--header", "acme"]).says(2, &["a header is written `Name: value`"]);
}

#[test]
fn arguments_are_what_the_tool_takes() {
    let folder = tempfile::tempdir().unwrap();
    let server = format!("{MRTR} serve --stdio");
    let call = |more: &[&str]| {
        let call = ["call", "--stdio", &server, "update_work_item", "--answers", "-"];
        run_with(folder.path(), &[&call[..], more].concat(), r#"{"resolution": {"resolution": "Fixed"}}"#)
    };
    call(&["workItemId=7", r#"fields={"a": 1, "b": 2}"#]).gives("Bug #7 resolved, 2 fields set\n");
    call(&["workItemId=7"]).gives("Bug #7 resolved, 0 fields set\n");
}

/// Characters that steer a terminal or turn text around, as a server may write them into JSON without escaping them.
const ACTS: &str = "\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{e0041}";

#[test]
fn json_output_has_nothing_in_it_that_acts_and_means_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let stub = crate::stub::Stub::start(|message, _| {
        let result = match message["method"].as_str() {
            Some("tools/list") => serde_json::json!({ "tools": [{ "name": "wait", "description": ACTS,
                "inputSchema": { "type": "object" } }] }),
            _ => serde_json::json!({ "content": [{ "type": "text", "text": format!("\u{1b}[31m{ACTS}é") }], ACTS: 1 }),
        };
        let text = serde_json::json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
        // White space that moves the cursor is JSON too.
        Some(("200 OK", text.replace("\"content\":", "\r\"content\":\r\r")))
    });
    let shown = run(folder.path(), &["call", &stub.url, "wait", "--json-output"]);
    let listed = run(folder.path(), &["tools", &stub.url, "--json"]);
    for out in [&shown.out, &listed.out] {
        assert!(!out.chars().any(|char| ACTS.contains(char) && char != '2' && char != 'J'), "{out:?}");
        assert!(!out.chars().any(|char| char.is_control() && char != '\n'), "{out:?}");
        assert!(out.contains(r"\u007f\u009b2J\u202e\u2066\u200b\udb40\udc41"), "{out}");
    }
    let result: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!((&result["content"][0]["text"], &result[ACTS]), (&format!("\u{1b}[31m{ACTS}é").into(), &1.into()));
    assert!(shown.out.contains('é'), "letters stay as they are");
    let tools: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(tools[0]["description"], ACTS);
    // Without the flag, a program gets the words as they are.
    run(folder.path(), &["call", &stub.url, "wait"]).gives(&format!("\u{1b}[31m{ACTS}é\n"));
}
