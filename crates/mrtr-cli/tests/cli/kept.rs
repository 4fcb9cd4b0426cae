//! The answers of attempts that failed: none of them is used against what is answered now.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::json;

use crate::bank::Bank;
use crate::demo::Demo;
use crate::program::{Ran, run, run_with};
use crate::stub::{Stub, list};

const ADA: &str = r#"{"login": {"user": "ada"}}"#;
const BOB: &str = r#"{"login": {"user": "bob"}}"#;
const FIVE: &str = r#"{"amount": {"euros": 5}}"#;
const SEVEN: &str = r#"{"amount": {"euros": 7}}"#;

/// Begins a transfer, and saves it as `call.json` at its question.
fn begin_transfer(folder: &Path) -> Bank {
    let bank = Bank::start();
    let call = ["call", &bank.url, "transfer", "--token", "ada", "--save", "call.json"];
    run(folder, &call).says(4, &["asked: amount: How much? (euros: a whole number, 1 to 500)"]);
    bank
}

fn resume(folder: &Path, token: &str, answers: &str) -> Ran {
    run_with(folder, &["resume", "call.json", "--token", token, "--answers", "-"], answers)
}

#[test]
fn an_attempt_that_is_refused_leaves_no_answer_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let _bank = begin_transfer(folder.path());
    let saved = || fs::read_to_string(folder.path().join("call.json")).unwrap();
    let before = saved();
    // Another caller's state.
    resume(folder.path(), "bob", FIVE).says(1, &["The request state is not valid", "another token than when it began"]);
    assert_eq!(saved(), before);
    // No caller at all.
    resume(folder.path(), "nobody", FIVE).says(
        1,
        &[
            "refuses the credentials",
            "the answers given now are not saved, since the server did not let this caller in",
            "the call is saved: mrtr resume call.json",
        ],
    );
    assert!(!saved().contains("\"euros\": 5"), "{}", saved());
    let sent = resume(folder.path(), "ada", SEVEN);
    sent.gives("ada sent 7 euros\n");
    assert_eq!(sent.err.lines().count(), 1, "it names the server alone: {}", sent.err);
}

/// Saves a call at its question, and kills its server. Returns the server's keys and port, to start it again.
fn saved_at_a_server_that_is_gone(folder: &Path) -> (String, String) {
    let keys = crate::putting_down::made_keys(folder);
    let demo = Demo::start_with(folder, &["--port", "0", "--state-keys", &keys]);
    let port = demo.port();
    run(folder, &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    demo.kill();
    (keys, port)
}

#[test]
fn an_answer_that_reached_no_server_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, port) = saved_at_a_server_that_is_gone(folder.path());
    let resume = |answers: &str| run_with(folder.path(), &["resume", "call.json", "--answers", "-"], answers);
    resume(ADA).says(1, &["no connection to", "the call is saved: mrtr resume call.json"]);
    // A mistake in the new answer is told, and the old one is not sent in its place.
    let _demo = Demo::start_with(folder.path(), &["--port", &port, "--state-keys", &keys]);
    resume(r#"{"login": {"user": "b"}}"#).says(4, &["the answer to `login` does not fit the form"]);
    // What does not fit is not kept either.
    let resumed = resume(BOB);
    resumed.gives("Oslo: 12 °C and light rain. Take an umbrella, bob.\n");
    assert!(!resumed.err.contains("asked"), "{}", resumed.err);
}

#[test]
fn an_answer_in_the_file_is_named_when_it_is_sent_and_when_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, port) = saved_at_a_server_that_is_gone(folder.path());
    let resume = |answers| {
        let resume = ["resume", "call.json", "--keep", "--answers", "-"];
        run_with(folder.path(), &resume, answers)
    };
    resume(ADA).says(1, &["no connection to"]);
    let _demo = Demo::start_with(folder.path(), &["--port", &port, "--state-keys", &keys]);
    for (given, user, said) in
        [("{}", "ada", "\nanswered before: login\n"), (BOB, "bob", "\nreplaced by --answers: login\n")]
    {
        let resumed = resume(given);
        resumed.gives(&format!("Oslo: 12 °C and light rain. Take an umbrella, {user}.\n"));
        assert!(resumed.err.ends_with(said), "{}", resumed.err);
    }
}

#[test]
fn an_answer_that_the_server_may_have_taken_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let stub = Stub::start(move |message, _| {
        let answers = &message["params"]["inputResponses"];
        let form = json!({ "type": "object", "properties": { "euros": { "type": "integer" } } });
        let result = match answers.is_object() {
            _ if message["method"] == "tools/list" => return Some(("200 OK", list(message))),
            true if !up.load(Relaxed) => return Some(("502 Bad Gateway", String::new())),
            true => json!({ "resultType": "complete", "content": [{ "type": "text",
                "text": format!("sent {}", answers["amount"]["content"]["euros"]) }] }),
            false => json!({ "resultType": "input_required", "requestState": "sealed", "inputRequests": { "amount": {
                "method": "elicitation/create", "params": { "message": "?", "requestedSchema": form } } } }),
        };
        Some(("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
    });
    run_with(folder.path(), &["call", &stub.url, "wait", "--answers", "-"], FIVE)
        .says(1, &["status 502", "the call is saved: mrtr resume mrtr-wait.call.json"]);
    is_up.store(true, Relaxed);
    let file = folder.path().join("mrtr-wait.call.json");
    let before = fs::read_to_string(&file).unwrap();
    let resume = |answers| run_with(folder.path(), &["resume", "mrtr-wait.call.json", "--answers", "-"], answers);
    resume(SEVEN).says(
        4,
        &[
            "the answer to `amount` is not the one in the file, which was sent before and which the server may have taken",
            "leave `amount` out of --answers: mrtr resume mrtr-wait.call.json",
            "find out what the server has done, and make the call again",
        ],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "nothing was done");
    // An older mrtr did not say what had become of the answers.
    fs::write(&file, before.replace("\"mayBeTaken\": true", "\"of\": \"old\"")).unwrap();
    resume(SEVEN).says(4, &["which the server may have taken"]);
    // The same answer is no contradiction, nor is it called unasked.
    let resumed = resume(r#"{"amount": {"euros": 5}, "other": {}}"#);
    resumed.gives("sent 5\n");
    assert!(
        resumed.err.ends_with("answered before: amount\nnot asked since the call was saved: other\n"),
        "{}",
        resumed.err
    );
}
