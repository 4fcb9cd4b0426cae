//! Files of saved calls: their owner, the server that they go to, the secrets that they leave out, and one process at a
//! time.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::demo::Demo;
use crate::person::{CTRL_C, Person};
use crate::program::{MRTR, run, run_with};
use crate::stub::{Stub, list};

const ADA: &str = r#"{"login": {"user": "ada"}}"#;

#[test]
fn a_file_of_another_user_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    let mine = folder.path().join("call.json");
    // A test that runs as root can give a file away; others know a file of root's.
    let file = match fs::metadata(&mine).unwrap().uid() {
        0 => {
            chown(&mine, Some(65534), None).unwrap();
            "call.json"
        }
        _ => "/etc/passwd",
    };
    let refused = run_with(folder.path(), &["resume", file, "--answers", "-"], ADA);
    refused.says(1, &[&format!("{file} belongs to another user"), "resume a copy"]);
    assert!(!refused.err.contains("going on"), "no server is called: {}", refused.err);
    assert!(mine.exists());
    // The copy belongs to the user.
    if file == "call.json" {
        fs::copy(&mine, folder.path().join("copy.json")).unwrap();
        let resumed = run_with(folder.path(), &["resume", "copy.json", "--answers", "-"], ADA);
        resumed.gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
    }
}

/// A server that asks for a PIN, and reports the answer; after that it says no more.
fn asks_and_hangs() -> (Stub, mpsc::Receiver<Value>) {
    let (sender, answers) = mpsc::channel();
    let stub = Stub::start(move |message, _| {
        if message["method"] == "tools/list" {
            return Some(("200 OK", list(message)));
        }
        if message["params"]["inputResponses"].is_object() {
            sender.send(message["params"]["inputResponses"].clone()).unwrap();
            return None;
        }
        let form = json!({ "type": "object", "properties": { "pin": { "type": "string" } }, "required": ["pin"] });
        let asks =
            json!({ "pin": { "method": "elicitation/create", "params": { "message": "?", "requestedSchema": form } } });
        let result = json!({ "resultType": "input_required", "requestState": "sealed", "inputRequests": asks });
        Some(("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
    });
    (stub, answers)
}

#[test]
fn ctrl_c_during_a_retry_keeps_the_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (stub, answers) = asks_and_hangs();
    let mut person = Person::types_command(folder.path(), &["call", &stub.url, "wait"]);
    person.sees("pin");
    person.enters("0000");
    let sent = answers.recv().unwrap();
    assert_eq!(sent["pin"]["content"]["pin"], "0000");
    for _ in 0..2 {
        person.types(CTRL_C);
        person.sees("interrupted: the call is cancelled, and the server was told");
        person.sees("the call is saved: mrtr resume mrtr-wait.call.json");
        person.sees("what the server had begun may have been done");
        assert_eq!(person.waits().1, 130);
        // The call resumes without asking again, and its file is kept until it is done.
        person = Person::types_command(folder.path(), &["resume", "mrtr-wait.call.json"]);
        assert_eq!(answers.recv().unwrap(), sent);
    }
}

#[test]
fn of_parallel_resumes_one_goes_on_and_the_other_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (stub, answers) = asks_and_hangs();
    run(folder.path(), &["call", &stub.url, "wait", "--save", "call.json"]).says(4, &[]);
    fs::write(folder.path().join("answers.json"), r#"{"pin": {"pin": "0000"}}"#).unwrap();
    let resume = ["resume", "call.json", "--answers", "answers.json"];
    let mut first = Person::types_command(folder.path(), &resume);
    answers.recv().unwrap();
    let told = "another process resumes the call in call.json";
    run(folder.path(), &resume).says(1, &[told, "wait until that process ends"]);
    run(folder.path(), &["resume", "call.json", "--cancel"]).says(1, &[told]);
    let over = ["call", &stub.url, "wait", "--save", "call.json"];
    run(folder.path(), &over).says(1, &[told, "give --save another name"]);
    assert!(answers.try_recv().is_err(), "one has sent the answers");
    // Once the first process has released the call, another may resume it.
    first.types(CTRL_C);
    first.sees("the call is saved");
    assert_eq!(first.waits().1, 130);
    let mut next = Person::types_command(folder.path(), &resume);
    answers.recv().unwrap();
    next.types(CTRL_C);
    assert_eq!(next.waits().1, 130);
}

#[test]
fn the_credentials_of_a_url_are_neither_saved_nor_shown() {
    let folder = tempfile::tempdir().unwrap();
    // `ann:secret`, as HTTP has it.
    let lets_in = |head: &str| head.to_ascii_lowercase().contains("authorization: basic yw5uonnly3jlda==");
    let stub = Stub::start(move |message, head| {
        if !lets_in(head) {
            return Some(("401 Unauthorized", String::new()));
        }
        let result = match message["params"]["inputResponses"].is_object() {
            _ if message["method"] == "tools/list" => return Some(("200 OK", list(message))),
            true => json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] }),
            false => json!({ "resultType": "input_required", "requestState": "sealed",
                "inputRequests": { "where": { "method": "roots/list" } } }),
        };
        Some(("200 OK", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
    });
    let with_credentials = stub.url.replace("http://", "http://ann:secret@");
    let call = ["call", &with_credentials, "wait", "--save", "call.json", "--root", "."];
    // A root is asked for again once the call is resumed: without it, there is nothing to answer with.
    let put_down = run(folder.path(), &call[..5]);
    put_down.says(4, &["the call is saved: mrtr resume call.json --url URL (the credentials in it are not saved)"]);
    let saved = fs::read_to_string(folder.path().join("call.json")).unwrap();
    assert!(!saved.contains("secret") && !put_down.err.contains("secret"), "{saved}{}", put_down.err);

    let refused = run(folder.path(), &["resume", "call.json", "--root", "."]);
    refused.says(1, &["refuses the credentials"]);
    let resumed = run(folder.path(), &["resume", "call.json", "--root", ".", "--url", &with_credentials]);
    resumed.gives("done\n");
    assert!(!resumed.err.contains("secret"), "{}", resumed.err);
}

/// A token may be in either place.
#[test]
fn neither_a_name_nor_a_password_alone_is_saved_or_shown() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    for held in ["sesame@", ":sesame@"] {
        let with_it = |url: &str| url.replace("http://", &format!("http://{held}"));
        let put_down =
            run(folder.path(), &["call", &with_it(&demo.url), "weather", "city=Oslo", "--save", "call.json"]);
        put_down.says(4, &["the credentials in it are not saved"]);
        let saved = fs::read_to_string(folder.path().join("call.json")).unwrap();
        fs::remove_file(folder.path().join("call.json")).unwrap();
        let nobody = run(folder.path(), &["call", &with_it("http://127.0.0.1:1/mcp"), "weather", "city=Oslo"]);
        nobody.says(1, &["http://127.0.0.1:1/mcp"]);
        for text in [&saved, &put_down.err, &nobody.err] {
            assert!(!text.contains("sesame"), "{held}: {text}");
        }
    }
}

#[test]
fn no_part_of_a_name_is_shown_with_the_url_that_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let with_name = demo.url.replace("http://", "http://sesame@");
    let refused = run(folder.path(), &["call", &with_name, "nothing"]);
    refused.says(2, &[&format!("there is no tool `nothing` at {}\n", demo.url)]);
}

/// The target that a file names, after this was changed in it.
fn changed(path: &Path, change: impl Fn(&mut Value)) {
    let mut saved: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut saved);
    fs::write(path, saved.to_string()).unwrap();
}

#[test]
fn a_call_of_one_command_line_does_not_go_on_at_another() {
    let folder = tempfile::tempdir().unwrap();
    let keys = crate::putting_down::made_keys(folder.path());
    let server = format!("{MRTR} serve --stdio --state-keys {keys}");
    let path = folder.path().join("call.json");
    let put_down = || {
        let call = ["call", "--stdio", &server, "weather", "city=Oslo", "--save", "call.json"];
        run(folder.path(), &call).says(4, &[]);
    };
    let resume =
        |more: &[&str]| run_with(folder.path(), &[&["resume", "call.json", "--answers", "-"], more].concat(), ADA);
    put_down();
    changed(&path, |saved| {
        saved["target"]["stdio"]["command"].as_array_mut().unwrap().extend(["--db".into(), "tasks.sqlite".into()]);
    });
    let refused = resume(&[]);
    refused.says(1, &["the call began at another command line than the file names: ", "--trust-server"]);
    resume(&["--trust-server"]).gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");

    // As an older mrtr saved it.
    put_down();
    changed(&path, |saved| {
        saved["target"]["stdio"] = saved["target"]["stdio"]["command"].clone();
        saved["work"]["call"]["server"] = MRTR.into();
    });
    let before = fs::read_to_string(&path).unwrap();
    resume(&[]).says(1, &["an older mrtr", "only its server's program", "--trust-server"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), before, "it is as it was");
    resume(&["--trust-server"]).gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
}

#[test]
fn a_command_means_the_same_wherever_it_is_resumed() {
    let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    crate::putting_down::made_keys(folder.path());
    let call = ["call", "--stdio", &format!("{MRTR} serve --stdio --state-keys keys"), "weather", "city=Oslo"];
    run(folder.path(), &[&call[..], &["--save", "call.json"]].concat()).says(4, &[]);
    let file = folder.path().join("call.json").display().to_string();
    let resumed = run_with(elsewhere.path(), &["resume", &file, "--answers", "-"], ADA);
    resumed.gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
}

#[test]
fn a_call_goes_to_another_url_only_if_the_person_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let keys = crate::putting_down::made_keys(folder.path());
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--state-keys", &keys]);
    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    let moved = Demo::start_with(folder.path(), &["--port", "0", "--state-keys", &keys]);
    let resume = ["resume", "call.json", "--answers", "-", "--url", &moved.url];
    let refused = run_with(folder.path(), &resume, ADA);
    refused.says(1, &[&format!("the call began at {}, and this is {}", demo.url, moved.url), "--trust-server"]);
    run_with(folder.path(), &[&resume[..], &["--trust-server"]].concat(), ADA)
        .gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
}

#[test]
fn a_task_that_is_known_by_its_id_alone_is_followed_here_and_one_of_another_server_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]);
    run(folder.path(), &["call", &demo.url, "echo", "--save", "call.json"]).says(4, &[]);
    let path = folder.path().join("call.json");
    let task_at = |server: Option<&str>| {
        changed(&path, |saved| {
            let work = &mut saved["work"];
            let mut task = work.get("call").map_or_else(|| work["task"].clone(), |call| call["task"].clone());
            task["server"] = server.into();
            *work = json!({ "task": task });
        });
    };
    let cancel = || run(folder.path(), &["resume", "call.json", "--cancel"]);
    task_at(Some("http://elsewhere.example/mcp"));
    cancel().says(1, &["the call began at http://elsewhere.example/mcp, and this is", "--trust-server"]);
    task_at(None);
    cancel().says(0, &["is cancelled"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_call_is_saved_somewhere_though_its_folder_cannot_be_written() {
    let elsewhere = tempfile::tempdir().unwrap();
    let demo = Demo::start(elsewhere.path());
    // No user can make a file here.
    let mut call = crate::program::command(Path::new("/proc"), &["call", &demo.url, "weather", "city=Oslo"]);
    let ran = call.env("TMPDIR", elsewhere.path()).stdin(std::process::Stdio::null()).output().unwrap();
    let file = elsewhere.path().join("mrtr-weather.call.json");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains(&format!("the call is saved: mrtr resume {}", file.display())), "{said}");
    let file = file.display().to_string();
    run_with(elsewhere.path(), &["resume", &file, "--answers", "-"], ADA)
        .gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
}
