//! Calls that one process saves, on Ctrl-C, with --save or when a server dies, and another process resumes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::{Value, json};

use crate::demo::Demo;
use crate::person::{CTRL_C, Person};
use crate::program::{MRTR, run, run_with};
use crate::stub::{Stub, list};

const ADA: &str = r#"{"login": {"user": "ada"}}"#;
const FORECAST: &str = "Oslo: 12 °C and light rain. Take an umbrella, ada.\n";

#[test]
fn ctrl_c_at_a_question_saves_the_call_and_another_process_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let mut person = Person::types_command(folder.path(), &["call", &demo.url, "weather", "city=Oslo"]);
    person.sees("User name");
    person.types(CTRL_C);
    person.sees("`login` was not answered: interrupted by Ctrl-C");
    person.sees("the call is saved: mrtr resume mrtr-weather.call.json");
    assert_eq!(person.waits().1, 130);
    let file = folder.path().join("mrtr-weather.call.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let mut person = Person::types_command(folder.path(), &["resume", "mrtr-weather.call.json"]);
    person.sees(&format!("resuming `weather` at {}", demo.url));
    person.sees("User name");
    person.enters("ada");
    person.gets("Take an umbrella, ada.");
    assert!(!file.exists(), "what is done is gone");
}

#[test]
fn a_call_is_put_down_by_choice_and_keeps_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let keys = made_keys(folder.path());
    let server = format!("{MRTR} serve --stdio --state-keys {keys}");
    let call =
        ["call", "--stdio", &server, "update_work_item", "workItemId=7", "--save", "later.json", "--answers", "-"];
    let put_down = run_with(folder.path(), &call, r#"{"resolution": {"resolution": "Duplicate"}}"#);
    put_down.says(
        4,
        &[
            "saved: later.json\n",
            "asked: duplicate_of: Which work item is the original? (duplicateOfId: a whole number, at least 1)",
            "  → mrtr resume later.json\n",
            "the server ended with this command, and must have kept its keys in a file",
        ],
    );
    assert_eq!(put_down.out, "");
    assert!(!put_down.err.contains("error:"), "it is what the person asked for: {}", put_down.err);
    // The file is for this call alone.
    run(folder.path(), &call).says(
        2,
        &["later.json holds another saved call", "mrtr resume later.json", "rm later.json", "give --save another name"],
    );
    let resumed = run_with(
        folder.path(),
        &["resume", "later.json", "--answers", "-", "--keep"],
        r#"{"duplicate_of": {"duplicateOfId": 5}}"#,
    );
    resumed.gives("Bug #7 resolved as duplicate of #5\n");
    assert!(folder.path().join("later.json").exists(), "it was to be kept");
}

#[test]
fn a_server_that_dies_while_it_asks_costs_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let keys = made_keys(folder.path());
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--state-keys", &keys]);
    let (url, port) = (demo.url.clone(), demo.port());
    let mut person = Person::types_command(folder.path(), &["call", &url, "weather", "city=Oslo"]);
    person.sees("User name");
    demo.kill();
    person.enters("ada");
    person.sees(&format!("no connection to {url}"));
    person.sees("check the address and the port, and that the server runs");
    person.sees("the call is saved: mrtr resume mrtr-weather.call.json");
    assert_eq!(person.waits().1, 1);

    let _demo = Demo::start_with(folder.path(), &["--port", &port, "--state-keys", &keys]);
    run(folder.path(), &["resume", "mrtr-weather.call.json"]).gives(FORECAST);
}

#[test]
fn a_call_whose_server_was_restarted_without_keys_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let port = demo.port();
    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    demo.kill();
    let _demo = Demo::start_with(folder.path(), &["--port", &port]);
    run_with(folder.path(), &["resume", "call.json", "--answers", "-"], ADA).says(
        1,
        &[
            "the server answered: The request state is not valid (-32602)",
            "the server was restarted without its keys, or has others now (mrtr serve --state-keys FILE keeps them)",
            "or the call was answered before",
            "or it waited too long: more than an hour",
            "or its file was changed",
            "the file of the call stays; to remove it: rm call.json",
        ],
    );
    assert!(folder.path().join("call.json").exists());
}

#[test]
fn a_task_that_its_server_lost_has_remedies_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let port = demo.port();
    run(folder.path(), &["call", &demo.url, "echo", "--save", "my echo.json"])
        .says(4, &["saved: my echo.json", "  → mrtr resume 'my echo.json'\n"]);
    demo.kill();
    let _demo = Demo::start_with(folder.path(), &["--port", &port]);
    let lost =
        "the server was restarted without its tasks or its keys (mrtr serve --db FILE --state-keys FILE keeps both)";
    let resumed = run(folder.path(), &["resume", "my echo.json"]);
    resumed.says(1, &["Unknown task (-32602)", lost, "to remove it: rm 'my echo.json'"]);
    assert!(!resumed.err.contains("the call is saved"), "{}", resumed.err);
    run(folder.path(), &["resume", "my echo.json", "--cancel"]).says(1, &["Unknown task (-32602)", lost]);
}

/// A server that never sees that a page was visited. It asks for two pages in turns, so that no round is put off.
fn asks_for_visits() -> Stub {
    let rounds = AtomicU32::new(0);
    Stub::start(move |message, _| {
        if message["method"] == "tools/list" {
            return Some(("200 OK", list(message)));
        }
        let url = ["https://example.com/a", "https://example.com/b"][rounds.fetch_add(1, Relaxed) as usize % 2];
        let params = json!({ "mode": "url", "message": "Connect\nyour account", "url": url });
        let result = json!({ "resultType": "input_required", "requestState": "sealed",
            "inputRequests": { "connect": { "method": "elicitation/create", "params": params } } });
        Some(("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
    })
}

#[test]
fn a_page_that_a_file_agrees_to_is_shown_once_and_the_call_is_saved_at_last() {
    let folder = tempfile::tempdir().unwrap();
    let ran =
        run_with(folder.path(), &["call", &asks_for_visits().url, "wait", "--answers", "-"], r#"{"connect": true}"#);
    ran.says(
        4,
        &[
            "the server still asks after 10 rounds",
            "visit the page, then resume the call",
            "the call is saved: mrtr resume mrtr-wait.call.json",
        ],
    );
    for page in ["a", "b"] {
        let shown = format!("\nconnect: Connect\n    | your account (visit https://example.com/{page})\n");
        assert_eq!(format!("\n{}", ran.err).matches(&shown).count(), 1, "{}", ran.err);
    }
}

#[test]
fn an_answer_of_the_wrong_kind_is_not_sent_and_a_misspelt_key_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let stub = asks_for_visits();
    let call = ["call", &stub.url, "wait", "--answers", "-"];
    run_with(folder.path(), &call, r#"{"connect": {"x": 1}, "logn": {}}"#).says(
        4,
        &[
            "`connect` was not answered: its answer is not one to a page",
            r#"a page takes true, false, "decline" or "cancel""#,
            "in --answers, never asked: logn",
            // The first question still: nothing was answered.
            "asked: connect: Connect\n    | your account (visit https://example.com/a)",
        ],
    );
}

#[test]
fn ctrl_c_before_the_call_says_that_nothing_was_called() {
    let folder = tempfile::tempdir().unwrap();
    let (asked, asks) = std::sync::mpsc::channel();
    let stub = Stub::start(move |_, _| {
        asked.send(()).unwrap();
        None
    });
    let mut person = Person::types_command(folder.path(), &["call", &stub.url, "wait"]);
    asks.recv().unwrap();
    person.types(CTRL_C);
    person.sees("interrupted before the tool was called");
    assert_eq!(person.waits().1, 130);
}

/// The first of the questions has no answer, and the person does not agree to a page that may not be opened.
#[test]
fn a_call_that_is_put_down_keeps_every_answer_that_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let stub = Stub::start(|message, _| {
        let form = json!({ "method": "elicitation/create", "params": { "mode": "form", "message": "?",
            "requestedSchema": { "type": "object", "properties": { "word": { "type": "string" } } } } });
        let page = |url: &str| {
            let params = json!({ "mode": "url", "message": "?", "url": url });
            json!({ "method": "elicitation/create", "params": params })
        };
        let (open, safe) = (page("http://example.com/"), page("https://example.com/"));
        let answers = &message["params"]["inputResponses"];
        let result = match answers["a"].is_object() {
            _ if message["method"] == "tools/list" => return Some(("200 OK", list(message))),
            true => json!({ "resultType": "complete", "content": [{ "type": "text", "text": answers.to_string() }] }),
            false => json!({ "resultType": "input_required", "requestState": "sealed",
                "inputRequests": { "a": form, "b": form, "c": form, "d": open, "e": safe } }),
        };
        Some(("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
    });
    let call = ["call", &stub.url, "wait", "--save", "call.json", "--answers", "-"];
    let given = r#"{ "b": { "word": "bee" }, "c": "decline", "d": "accept", "e": "accept" }"#;
    run_with(folder.path(), &call, given).says(4, &["saved: call.json", "asked: a: "]);
    let saved: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("call.json")).unwrap()).unwrap();
    let saved = saved.to_string();
    assert!(saved.contains("bee") && saved.contains("decline"), "{saved}");
    let resumed = run_with(folder.path(), &["resume", "call.json", "--answers", "-"], r#"{ "a": {}, "d": "decline" }"#);
    let answers: Value =
        serde_json::from_str(&resumed.out).unwrap_or_else(|_| panic!("{}{}", resumed.out, resumed.err));
    assert_eq!(answers["b"], json!({ "action": "accept", "content": { "word": "bee" } }));
    let actions = ["c", "d", "e"].map(|key| answers[key]["action"].as_str().unwrap_or_default());
    assert_eq!(actions, ["decline", "decline", "accept"]);
}

#[test]
fn ctrl_c_while_the_server_works_cancels_the_call_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (called, calls) = std::sync::mpsc::channel();
    let stub = Stub::hangs(called);
    let mut person = Person::types_command(folder.path(), &["call", &stub.url, "wait"]);
    calls.recv().unwrap();
    person.types(CTRL_C);
    person.sees("interrupted: the call is cancelled, and the server was told");
    assert_eq!(person.waits().1, 130);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_saved_call_goes_to_no_file_of_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let call = ["call", "http://127.0.0.1:1/mcp", "weather", "--save", "notes.txt"];
    run(folder.path(), &call)
        .says(2, &["notes.txt exists already and is not a saved call", "give --save another name"]);
    let call = ["call", "http://127.0.0.1:1/mcp", "weather", "--save", "no/such/folder"];
    run(folder.path(), &call).says(2, &["there is no folder for no/such/folder"]);
    assert_eq!(fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_call_without_a_name_of_its_own_is_saved_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    for name in ["mrtr-weather.call.json", "mrtr-weather-2.call.json"] {
        let ran = run(folder.path(), &["call", &demo.url, "weather", "city=Oslo"]);
        ran.says(4, &[&format!("the call is saved: mrtr resume {name}\n")]);
        assert!(folder.path().join(name).exists());
    }
    run_with(folder.path(), &["resume", "mrtr-weather-2.call.json", "--answers", "-"], ADA).gives(FORECAST);
}

#[test]
fn what_is_no_saved_call_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]);
    let path = folder.path().join("call.json");
    let saved = fs::read_to_string(&path).unwrap();
    let resume = |text: &str| {
        fs::write(&path, text).unwrap();
        run(folder.path(), &["resume", "call.json"])
    };
    resume("{}").says(1, &["call.json is not a call that mrtr saved", "give the file that `mrtr call` named"]);
    resume("no JSON").says(1, &["call.json is not a call that mrtr saved"]);
    resume(&saved.replace("\"version\": 1", "\"version\": 2")).says(
        1,
        &[
            "was saved in version 2 of its format, and this mrtr knows version 1",
            "resume it with the mrtr that saved it",
        ],
    );
    resume(&saved.replace("\"format\": 1", "\"format\": 9")).says(1, &["saved in format 9", "make the call again"]);
    resume(&saved.replace("2026-07-28", "1999-01-01")).says(1, &["cannot be resumed", "make the call again"]);
    run(folder.path(), &["resume", "nothing.json"]).says(1, &["nothing.json cannot be read: No such file"]);
    let in_folder = run(folder.path(), &["resume", "."]);
    in_folder.says(1, &[". is a folder, and not a saved call"]);
    assert!(!in_folder.err.contains("chmod"), "{}", in_folder.err);

    fs::write(&path, &saved).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    run(folder.path(), &["resume", "call.json"]).says(1, &["other users may change call.json", "chmod 600 call.json"]);
}

#[test]
fn a_call_whose_server_has_other_keys_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let port = demo.port();
    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]);
    demo.kill();
    let _demo = Demo::start_with(folder.path(), &["--port", &port]);
    let resumed = run_with(folder.path(), &["resume", "call.json", "--answers", "-"], ADA);
    resumed.says(1, &["The request state is not valid (-32602)", "make the call again"]);
    assert!(!resumed.err.contains("the call is saved"), "{}", resumed.err);
}

/// A file of keys, made by the program itself.
pub(crate) fn made_keys(folder: &Path) -> String {
    let path = folder.join("keys").display().to_string();
    assert_eq!(run(folder, &["keys", "new", &path]).code, Some(0));
    path
}
